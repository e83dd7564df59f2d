"""A template, the values of its inputs and the platform's variables to documents."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from locktender.integrations.kube.json_value import Json, JsonObject
from locktender.integrations.kube.texts import text_faults
from locktender.integrations.templates.blocks import selected
from locktender.integrations.templates.expression import ExpressionFault, Scope, Value, evaluate, parse, truthy
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.marks import Expression, Marks
from locktender.integrations.templates.scalars import Filler, Read
from locktender.integrations.templates.template import Declared, InputType, Template
from locktender.integrations.templates.written import written

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a template came to.

    Attributes:
        documents: plain JSON values, in order.
        missing: names that expressions asked for in vain; each left nothing behind.
    """

    documents: list[JsonObject] = field(repr=False)
    missing: tuple[str, ...]

    def yaml(self) -> str:
        """The documents as one YAML stream. Holds the values of the inputs."""
        return written(self.documents)


@dataclass(frozen=True, slots=True)
class Allocated:
    """The defaults of one instance, worked out once. They name it, so they are kept for as long as it lives."""

    defaults: Mapping[str, str]

    @property
    def app_name(self) -> str:
        """The name of the instance."""
        return self.defaults["app_name"]


@dataclass(frozen=True, slots=True)
class Field:
    """An input as a person is asked for it: texts are worked out, and it applies to the values given so far."""

    declared: Declared
    description: str
    default: str


def allocated(template: Template, variables: Mapping[str, str], seed: bytes) -> Allocated:
    """The defaults of an instance. The same `seed` gives the same ones.

    Raises:
        TemplateFault: a default cannot be worked out.
    """
    values = {
        key: _worked_out(written, Scope(variables, {"defaults": {}, "inputs": {}}, _Letters(seed, f"default/{key}")))
        for key, written in template.defaults.items()
    }
    return Allocated(values)


def fields(
    template: Template, instance: Allocated, variables: Mapping[str, str], given: Mapping[str, str]
) -> Iterator[Field]:
    """The inputs that apply, in order, as far as the values `given` decide that."""
    values = dict(given)
    for declared in template.inputs:
        scope = Scope(variables, {"defaults": instance.defaults, "inputs": values}, _Letters(b"", declared.key))
        default = _worked_out(declared.default, scope)
        if not default and declared.type is InputType.BOOLEAN:
            default = "false"
        values.setdefault(declared.key, default)
        if declared.condition is None or truthy(_value(_bare(declared.condition), scope, 0)):
            yield Field(declared, _worked_out(declared.description, scope), default)


def render(
    template: Template, instance: Allocated, variables: Mapping[str, str], inputs: Mapping[str, str], *, seed: bytes
) -> Rendered:
    """The documents of one instance. Inputs that are not given have their defaults; others than declared are ignored.

    The same arguments give the same documents, `random` included.

    Raises:
        TemplateFault: with the line of the template, for the first thing that cannot be rendered.
    """
    groups = {"defaults": instance.defaults, "inputs": _complete(template, instance, variables, inputs)}
    missing: set[str] = set()

    def scope(place: str) -> Scope:
        return Scope(variables, groups, _Letters(seed, place), missing)

    def holds(source: str, line: int) -> bool:
        return truthy(_value(source, scope(f"line/{line}"), line))

    lines = selected(template.lines, holds)
    marks = Marks()
    text = "\n".join(marks.take_out(line.text, line.number) for line in lines)
    known: dict[int, Value] = {}

    def worth(expression: Expression) -> Value:
        if expression.number not in known:
            # By line and not by number: a branch that is not taken does not move what comes after it.
            at = scope(f"{expression.line}/{expression.order}")
            known[expression.number] = _value(expression.source, at, expression.line)
        return known[expression.number]

    numbers = [line.number for line in lines]
    found = Filler(marks, worth).documents(text, partial(_line_of, numbers))
    return Rendered([_as_texts(each) for each in found], tuple(sorted(missing)))


def _complete(
    template: Template, instance: Allocated, variables: Mapping[str, str], inputs: Mapping[str, str]
) -> dict[str, str]:
    values: dict[str, str] = {}
    for declared in template.inputs:
        scope = Scope(variables, {"defaults": instance.defaults, "inputs": values}, _Letters(b"", declared.key))
        given = inputs.get(declared.key)
        values[declared.key] = _worked_out(declared.default, scope) if given is None else given
    return values


def _worked_out(written: str, scope: Scope) -> str:
    """A text of the first document with its expressions filled in."""
    marks = Marks()
    text = marks.take_out(written, 0)
    return marks.put_back(text, lambda expression: _value(expression.source, scope, 0)) if text != written else written


def _value(source: str, scope: Scope, line: int) -> Value:
    try:
        return evaluate(parse(source), scope)
    except ExpressionFault as fault:
        shown = source if len(source) <= 80 else f"{source[:77]}..."  # noqa: PLR2004 - a line for people
        raise TemplateFault("bad-expression", f"`{shown}` cannot be worked out: {fault}", line) from None


def _bare(condition: str) -> str:
    """A condition may be written with or without braces."""
    text = condition.strip()
    return text[3:-2].strip() if text.startswith("${{") and text.endswith("}}") else text


def _line_of(numbers: Sequence[int], line: int) -> int:
    return numbers[min(line, len(numbers) - 1)] if numbers else 0


def _as_texts(read: Read) -> JsonObject:
    """The document, with numbers and booleans turned back into what was written where only text can be."""
    if not isinstance(read.value, dict):
        problem = "a document must be a mapping with apiVersion, kind and metadata"
        raise TemplateFault("not-a-mapping", problem, read.line)
    for fault in list(text_faults(read.value)):
        holder: Json = read.value
        for step in fault.path[:-1]:
            holder = _part(holder, step)
        text = read.written.get((id(holder), fault.path[-1]))
        if text is not None:
            _set(holder, fault.path[-1], text)
    return read.value


def _part(holder: Json, step: str | int) -> Json:
    match holder, step:
        case dict(), str():
            return holder[step]
        case list(), int():
            return holder[step]
        case _:
            return None


def _set(holder: Json, step: str | int, text: str) -> None:
    match holder, step:
        case dict(), str():
            holder[step] = text
        case list(), int():
            holder[step] = text
        case _:
            pass


class _Letters:
    """Lower-case letters that look random and depend on nothing but the seed, the place and how often it asked."""

    def __init__(self, seed: bytes, place: str) -> None:
        self._seed = seed
        self._place = place
        self._asked = 0

    def __call__(self, count: int) -> str:
        self._asked += 1
        stream = hashlib.shake_256(self._seed + b"\0" + f"{self._place}\0{self._asked}".encode()).digest(count * 4)
        # Four bytes a letter: the remainder favours no letter by more than one in a hundred million.
        return "".join(
            _ALPHABET[int.from_bytes(stream[place : place + 4]) % len(_ALPHABET)] for place in range(0, count * 4, 4)
        )
