"""What a package asks a person for, and whether an answer will do. No message ever repeats a value."""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from locktender.contracts.deployments.inputs import InputField, InputType, Scalar
from locktender.contracts.kernel.errors import Finding, Pointer
from locktender.contracts.kernel.sensitive import is_sensitive_name
from locktender.integrations.templates.expression import Scope
from locktender.integrations.templates.package import Package, PackageForm, declared_inputs, template_of
from locktender.integrations.templates.template import Declared
from locktender.integrations.templates.worth import Inputs, Letters, complete, settled, standing_in, worked_out

LONGEST = 65_536
"""Bytes of one value, at most."""

SHORTEST_SECRET = 4
"""Characters of a sensitive value, at least. A shorter one cannot be found again in texts without finding all sorts."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
# Neither a cluster nor a database keeps these; a lone surrogate is no character at all.
_UNUSABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Checked:
    """Values that were given, held against what is asked.

    Attributes:
        values: the accepted ones as texts, of inputs that apply.
        missing: required inputs that apply and have no value, neither given nor declared.
        findings: what is wrong with values that were given.
        sensitive: names, declared or given, whose values must not be kept.
    """

    values: dict[str, str] = field(repr=False)
    missing: tuple[str, ...]
    findings: tuple[Finding, ...]
    sensitive: frozenset[str]


def is_sensitive(declared: Declared) -> bool:
    """Whether the values of this input are secret, as declared or by its name."""
    return declared.sensitive or is_sensitive_name(declared.key)


def form(package: Package, given: Mapping[str, str], variables: Mapping[str, str]) -> tuple[InputField, ...]:
    """Every declared input, its texts worked out over the values `given` so far.

    `default` is what an unanswered input will have. It is absent when it is secret, and when it has random letters that
    only an instance draws; such an input is not `required`, since leaving it out is an answer.

    Raises:
        TemplateFault: a text or a condition of the package cannot be worked out.
    """
    asked, other = _Form(package, given, variables, "x"), _Form(package, given, variables, "y")
    return tuple(
        asked.field(declared, settled=asked.inputs.defaults[declared.key] == other.inputs.defaults[declared.key])
        for declared in asked.declared
    )


def checked(
    package: Package,
    given: Mapping[str, Scalar],
    variables: Mapping[str, str],
    *,
    pointer: str,
    declared_sensitive: Collection[str] = (),
) -> Checked:
    """Which of the values `given` can be used. Names that are not declared are ignored.

    `pointer` is where the values stand in the request; `declared_sensitive` are names that the caller calls secret.

    Raises:
        TemplateFault: a text or a condition of the package cannot be worked out.
    """
    declared = declared_inputs(package)
    sensitive = {each.key for each in declared if is_sensitive(each)}
    sensitive |= {key for key in given if is_sensitive_name(key)} | set(declared_sensitive)
    texts = {each.key: _text(each, given[each.key]) for each in declared if each.key in given}
    # A blank answer to a question with a default that is not shown means that default.
    texts = {
        key: text
        for key, text in texts.items()
        if text.strip() or not any(each.key == key and each.default and key in sensitive for each in declared)
    }
    state = _Form(package, texts, variables, "x")
    findings: list[Finding] = []
    values: dict[str, str] = {}
    missing: list[str] = []
    for each in declared:
        key = each.key
        if key not in state.inputs.applies:
            continue
        if key not in texts:
            if each.required and not state.inputs.defaults[key].strip():
                missing.append(key)
            continue
        wrong = _wrong(each, texts[key], state.options(each), sensitive=key in sensitive)
        if wrong is None:
            values[key] = texts[key]
        else:
            findings.append(Finding(Pointer(f"{pointer}/{_escaped(key)}"), wrong[1], wrong[0]))
    return Checked(values, tuple(missing), tuple(findings), frozenset(sensitive))


class _Form:
    """The inputs of a package over some values, before there is an instance: letters stand in for random ones."""

    def __init__(self, package: Package, given: Mapping[str, str], variables: Mapping[str, str], letter: str) -> None:
        self.declared = declared_inputs(package)
        letters: Letters = standing_in(letter)
        template = template_of(package) if package.form is PackageForm.TEMPLATE else None
        defaults = {} if template is None else settled(template.defaults, variables, letters, {})
        self._expressions = template is not None
        self._scope = Scope(variables, {"defaults": defaults, "inputs": {}}, letters(""))
        if template is None:
            values = {each.key: each.default for each in self.declared}
            self.inputs = Inputs({**values, **given}, frozenset(values), values)
        else:
            self.inputs = complete(self.declared, given, self._scope, letters)

    def field(self, declared: Declared, *, settled: bool) -> InputField:
        """The input as a person is asked for it."""
        default = self.inputs.defaults[declared.key]
        sensitive = is_sensitive(declared)
        shown = bool(default) and settled and not sensitive
        return InputField(
            key=declared.key,
            type=declared.type,
            description=self._text(declared.description),
            default=default if shown else None,
            required=declared.required and (shown or not default),
            sensitive=sensitive,
            options=self.options(declared),
            condition=declared.condition,
        )

    def options(self, declared: Declared) -> tuple[str, ...]:
        """What may be chosen."""
        return tuple(self._text(option) for option in declared.options)

    def _text(self, written: str) -> str:
        if not self._expressions:
            return written
        scope = self._scope
        groups = {**scope.groups, "inputs": self.inputs.values}
        return worked_out(written, Scope(scope.variables, groups, scope.random, scope.missing, scope.meter))


def _text(declared: Declared, value: Scalar) -> str:
    """A value as expressions see it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 1e15:  # noqa: PLR2004 - beyond it, digits are lost
        return str(int(value))
    text = value if isinstance(value, str) else str(value)
    return text.strip() if declared.type in _TRIMMED else text


_TRIMMED = frozenset({InputType.NUMBER, InputType.BOOLEAN})


def _wrong(declared: Declared, text: str, options: Collection[str], *, sensitive: bool) -> tuple[str, str] | None:
    """The code and the words for the first thing that is wrong with a value, without the value."""
    for code, holds, words in _rules(declared, text, options, sensitive=sensitive):
        if holds:
            return code, f"{declared.key[:60]} {words}"
    return None


def _rules(
    declared: Declared, text: str, options: Collection[str], *, sensitive: bool
) -> Iterator[tuple[str, bool, str]]:
    blank = not text.strip()
    yield "too-long", len(text.encode("utf-8", "surrogatepass")) > LONGEST, f"may have up to {LONGEST} bytes"
    yield "unusable-character", bool(_UNUSABLE.search(text)), "has a control character; only tabs and line ends may be"
    yield "blank", blank and declared.required, "is required and must not be blank"
    if blank:
        return
    match declared.type:
        case InputType.NUMBER:
            yield "not-a-number", not _NUMBER.fullmatch(text), "must be a number, such as 3 or 0.5"
        case InputType.BOOLEAN:
            yield "not-a-boolean", text not in {"true", "false"}, "must be true or false"
        case InputType.CHOICE:
            yield "not-an-option", text not in options, f"must be one of {', '.join(options)[:200]}"
        case InputType.STRING:
            pass
    yield "too-short", sensitive and len(text) < SHORTEST_SECRET, f"needs {SHORTEST_SECRET} characters or more"


def _escaped(key: str) -> str:
    """A key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
