"""A template: what its first document declares, and the lines of its resources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from locktender.contracts.deployments.inputs import InputType
from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object
from locktender.integrations.templates.blocks import Line
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.marks import Marks
from locktender.integrations.templates.scalars import Filler, Read

KIND = "Template"
APP_NAME = "app_name"
LARGEST = 1_048_576
"""Bytes of a template, at most."""

_MOST = 200
"""Defaults, and inputs, at most."""

_SECRET_TYPES = frozenset({"password", "secret"})


@dataclass(frozen=True, slots=True)
class Declared:
    """One value that is asked for, with its expressions as written.

    Attributes:
        default: "" where none is declared.
        condition: an expression over the other inputs, without braces.
        sensitive: declared to be secret; names that say so are known elsewhere.
    """

    key: str
    type: InputType = InputType.STRING
    description: str = ""
    default: str = ""
    required: bool = False
    options: tuple[str, ...] = ()
    condition: str | None = None
    sensitive: bool = False


@dataclass(frozen=True, slots=True)
class Template:
    """What can be told of a template without rendering it.

    Attributes:
        name: as written; the catalogue goes by the folder or file instead.
        defaults: `spec.defaults` in order, values as written.
        inputs: `spec.inputs` in order.
        about: title, description, author and the like, as written.
        lines: everything after the first document.
    """

    name: str
    defaults: Mapping[str, str]
    inputs: Sequence[Declared]
    about: JsonObject
    lines: tuple[Line, ...] = field(repr=False)


def read_template(text: str) -> Template:
    """Read the declarations of a template.

    Raises:
        TemplateFault: it is too large, or its first document is no `Template` with an `app_name`.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise TemplateFault("not-text", "the template holds half a character; save it as UTF-8") from None
    if size > LARGEST:
        raise TemplateFault("too-large", f"the template has more than {LARGEST} bytes")
    lines = [Line(number, line) for number, line in enumerate(_lines(text), start=1)]
    head, rest = _split(lines)
    marks = Marks()
    marked = "\n".join(marks.take_out(line.text, line.number) for line in head)
    first = head[0].number if head else 1
    # Nothing is worked out here: an expression stands for itself.
    filler = Filler(marks, lambda expression: f"${{{{ {expression.source} }}}}")
    documents = filler.documents(marked, lambda line: line + first)
    head_read = documents[0] if documents else Read({}, first, {})
    document = as_object(head_read.value)
    if document.get("kind") != KIND:
        raise TemplateFault("no-template", "the first document must be of `kind: Template`", first)
    spec = as_object(document.get("spec"))
    declarations = _Declarations(head_read)
    return Template(
        name=declarations.text(as_object(document.get("metadata")), "name"),
        defaults=declarations.defaults(as_object(spec.get("defaults"))),
        inputs=declarations.inputs(as_object(spec.get("inputs"))),
        about={key: value for key, value in spec.items() if key not in {"defaults", "inputs"}},
        lines=tuple(rest),
    )


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")


def _split(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The lines of the first document, and the ones after its end."""
    begun = False
    for place, line in enumerate(lines):
        separator = line.text.startswith("---") and not line.text[3:].split("#")[0].strip()
        if separator and begun:
            return list(lines[:place]), list(lines[place:])
        begun = begun or bool(line.text.split("#")[0].strip() and not separator)
    return list(lines), []


class _Declarations:
    """The texts of the first document, each as it was written: a version 1.10 is no 1.1."""

    def __init__(self, read: Read) -> None:
        self._written = read.written
        self._line = read.line

    def text(self, holder: JsonObject | list[Json], key: str | int) -> str:
        """What was written there, or nothing."""
        value = holder.get(str(key)) if isinstance(holder, dict) else holder[int(key)]
        if value is None or isinstance(value, dict | list):
            return ""
        return value if isinstance(value, str) else self._written.get((id(holder), key), "")

    def defaults(self, declared: JsonObject) -> dict[str, str]:
        """The values of `spec.defaults`, in order."""
        self._bounded(declared, "defaults")
        values = {key: self._default(entry) for key, entry in declared.items()}
        if not values.get(APP_NAME):
            raise TemplateFault("no-app-name", "`spec.defaults` needs an `app_name` with a value", self._line)
        return values

    def inputs(self, declared: JsonObject) -> list[Declared]:
        """`spec.inputs`, in order."""
        self._bounded(declared, "inputs")
        return [self._input(key, as_object(entry)) for key, entry in declared.items()]

    def _bounded(self, declared: JsonObject, what: str) -> None:
        if len(declared) > _MOST:
            raise TemplateFault(f"too-many-{what}", f"there are more than {_MOST} {what}", self._line)

    def _default(self, entry: Json) -> str:
        return self.text(as_object(entry), "value")

    def _input(self, key: str, entry: JsonObject) -> Declared:
        named = self.text(entry, "type").lower() or InputType.STRING
        kind = InputType.STRING if named in _SECRET_TYPES else _type(named)
        if kind is None:
            allowed = ", ".join(InputType)
            raise TemplateFault("unknown-type", f"input {key[:60]} has an unknown type; use {allowed}", self._line)
        listed = as_array(entry.get("options"))
        options = tuple(self.text(listed, place) for place in range(len(listed)))
        if kind is InputType.CHOICE and not options:
            raise TemplateFault("no-options", f"input {key[:60]} is a choice without options", self._line)
        return Declared(
            key=key,
            type=kind,
            description=self.text(entry, "description"),
            default=self.text(entry, "default"),
            required=self.text(entry, "required").lower() == "true",
            options=options,
            condition=_bare(self.text(entry, "if")) or None,
            sensitive=named in _SECRET_TYPES or self.text(entry, "sensitive").lower() == "true",
        )


def _type(named: str) -> InputType | None:
    return InputType(named) if named in set(InputType) else None


def _bare(condition: str) -> str:
    """A condition may be written with or without braces."""
    text = condition.strip()
    return text[3:-2].strip() if text.startswith("${{") and text.endswith("}}") else text
