"""What a template still needs from a person before it can be rendered. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from locktender.contracts.deployments.inputs import Asked, AskedCode, InputField
from locktender.contracts.kernel.errors import Finding
from locktender.integrations.templates.inputs import Checked, checked, form
from locktender.integrations.templates.package import Package, declared_inputs
from locktender.runner.executors.stored_template import StoredTemplate

_POINTER = "/inputs"
_NAMED = 10


@dataclass(frozen=True, slots=True)
class Answers:
    """The values that a template is rendered with.

    Attributes:
        values: of inputs that apply; the others have their defaults.
        secret: the ones among them that must not be kept, and secret ones that were given in vain.
    """

    values: Mapping[str, str] = field(repr=False)
    secret: tuple[str, ...] = field(repr=False)


class Inquiry:
    """The inputs of one package, over what is stored of them and what was handed over in memory."""

    def __init__(self, package: Package, stored: StoredTemplate, given: Mapping[str, str]) -> None:
        self._package = package
        self._stored = stored
        self._given = {**stored.inputs, **given}
        self._checked: Checked = checked(
            package, self._given, stored.variables, pointer=_POINTER, declared_sensitive=stored.sensitive
        )

    def answers(self) -> Answers:
        """What can be used of it."""
        sensitive = self._checked.sensitive
        return Answers(self._checked.values, tuple(text for key, text in self._given.items() if key in sensitive))

    def asked(self, *, answered: bool) -> Asked | None:
        """What has to be asked, always the whole form; None when nothing has to.

        Args:
            answered: a person has filled in the form already. A secret that is not required and was left out then
                stays out, instead of being asked for again without end.

        Raises:
            TemplateFault: a text of the form cannot be worked out.
        """
        findings = self._checked.findings
        missing = list(self._checked.missing)
        if not answered:
            declared = [each.key for each in declared_inputs(self._package)]
            withheld = [key for key in declared if key in self._stored.sensitive and key not in self._given]
            missing += [key for key in withheld if key not in missing]
        if not findings and not missing:
            return None
        fields = self._fields()
        if findings:
            first = findings[0]
            more = f"; and {len(findings) - 1} more" if len(findings) > 1 else ""
            message = f"a value cannot be used: {first.message}{more}"
            return Asked(inputs=fields, code=AskedCode.REJECTED, message=message, key=_key(first))
        rest = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        message = f"needs values for: {', '.join(missing[:_NAMED])}{rest}"
        return Asked(inputs=fields, code=AskedCode.MISSING, message=message)

    def _fields(self) -> tuple[InputField, ...]:
        # Only what is stored takes part: a default that repeats a secret value would end up in the row.
        fields = form(self._package, self._stored.inputs, self._stored.variables)
        hidden = {"sensitive": True, "default": None}
        secret = self._checked.sensitive
        return tuple(each.model_copy(update=hidden) if each.key in secret else each for each in fields)


def _key(finding: Finding) -> str:
    """The input that a finding is about."""
    return finding.pointer.removeprefix(f"{_POINTER}/").replace("~1", "/").replace("~0", "~")
