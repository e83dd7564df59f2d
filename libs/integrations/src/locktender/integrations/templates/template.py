"""A template: what its first document declares, and the lines of its resources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object
from locktender.integrations.templates.blocks import Line
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.marks import Marks
from locktender.integrations.templates.scalars import Filler

KIND = "Template"
APP_NAME = "app_name"
LARGEST = 1_048_576
"""Bytes of a template, at most."""

_MOST_INPUTS = 200


class InputType(StrEnum):
    """What may be entered."""

    STRING = "string"
    NUMBER = "number"
    CHOICE = "choice"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Declared:
    """One entry of `spec.inputs`, with its expressions as written."""

    key: str
    type: InputType
    description: str
    default: str
    required: bool
    options: tuple[str, ...]
    condition: str | None


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
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST:
        raise TemplateFault("too-large", f"the template has more than {LARGEST} bytes")
    lines = [Line(number, line) for number, line in enumerate(_lines(text), start=1)]
    head, rest = _split(lines)
    marks = Marks()
    marked = "\n".join(marks.take_out(line.text, line.number) for line in head)
    first = head[0].number if head else 1
    # Nothing is worked out here: an expression stands for itself.
    filler = Filler(marks, lambda expression: f"${{{{ {expression.source} }}}}")
    documents = filler.documents(marked, lambda line: line + first)
    document = as_object(documents[0].value) if documents else {}
    if document.get("kind") != KIND:
        raise TemplateFault("no-template", "the first document must be of `kind: Template`", first)
    spec = as_object(document.get("spec"))
    defaults = _defaults(as_object(spec.get("defaults")), first)
    return Template(
        name=_text(as_object(document.get("metadata")).get("name")),
        defaults=defaults,
        inputs=_inputs(as_object(spec.get("inputs")), first),
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


def _defaults(declared: JsonObject, line: int) -> dict[str, str]:
    values = {key: _text(as_object(entry).get("value")) for key, entry in declared.items()}
    if not values.get(APP_NAME):
        raise TemplateFault("no-app-name", "`spec.defaults` needs an `app_name` with a value", line)
    return values


def _inputs(declared: JsonObject, line: int) -> list[Declared]:
    if len(declared) > _MOST_INPUTS:
        raise TemplateFault("too-many-inputs", f"there are more than {_MOST_INPUTS} inputs", line)
    return [_input(key, as_object(entry), line) for key, entry in declared.items()]


def _input(key: str, entry: JsonObject, line: int) -> Declared:
    named = _text(entry.get("type")) or InputType.STRING
    try:
        kind = InputType(named)
    except ValueError:
        allowed = ", ".join(InputType)
        raise TemplateFault("unknown-type", f"input {key[:60]} has an unknown type; use {allowed}", line) from None
    options = tuple(_text(option) for option in as_array(entry.get("options")))
    if kind is InputType.CHOICE and not options:
        raise TemplateFault("no-options", f"input {key[:60]} is a choice without options", line)
    return Declared(
        key=key,
        type=kind,
        description=_text(entry.get("description")),
        default=_text(entry.get("default")),
        required=entry.get("required") in (True, "true"),
        options=options,
        condition=_text(entry.get("if")) or None,
    )


def _text(value: Json) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return str(value)
        case _:
            return ""
