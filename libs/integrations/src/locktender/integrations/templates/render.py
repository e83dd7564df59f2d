"""A template, the values of its inputs and the platform's variables to documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from locktender.integrations.kube.json_value import Json, JsonObject
from locktender.integrations.kube.texts import text_faults
from locktender.integrations.templates.blocks import selected
from locktender.integrations.templates.expression import Meter, Scope, Value, truthy
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.marks import Expression, Marks
from locktender.integrations.templates.scalars import Filler, Read
from locktender.integrations.templates.template import Template
from locktender.integrations.templates.worth import complete, drawn, settled, value_of
from locktender.integrations.templates.written import written


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


def allocated(
    template: Template, variables: Mapping[str, str], seed: bytes, recorded: Mapping[str, str] | None = None
) -> Allocated:
    """The defaults of an instance. The same `seed` gives the same ones; what is `recorded` of it already stays.

    Raises:
        TemplateFault: a default cannot be worked out.
    """
    return Allocated(settled(template.defaults, variables, drawn(seed), recorded or {}))


def render(
    template: Template, instance: Allocated, variables: Mapping[str, str], inputs: Mapping[str, str], *, seed: bytes
) -> Rendered:
    """The documents of one instance. Inputs that are not given have their defaults; others than declared are ignored.

    The same arguments give the same documents, `random` included.

    Raises:
        TemplateFault: with the line of the template, for the first thing that cannot be rendered.
    """
    missing, meter = set[str](), Meter()
    letters = drawn(seed)
    known = Scope(variables, {"defaults": instance.defaults}, letters(""), missing, meter)
    # A name that a default asks for in vain is told like any other.
    values = complete(template.inputs, inputs, known, letters).values
    groups = {"defaults": instance.defaults, "inputs": values}

    def holds(source: str, line: int) -> bool:
        return truthy(value_of(source, Scope(variables, groups, letters(f"line/{line}"), missing, meter), line))

    lines = selected(template.lines, holds)
    marks = Marks()
    text = "\n".join(marks.take_out(line.text, line.number) for line in lines)
    worths: dict[int, Value] = {}

    def worth(expression: Expression) -> Value:
        if expression.number not in worths:
            # By line and not by number: a branch that is not taken does not move what comes after it.
            random = letters(f"{expression.line}/{expression.order}")
            scope = Scope(variables, groups, random, missing, meter)
            worths[expression.number] = value_of(expression.source, scope, expression.line)
        return worths[expression.number]

    numbers = [line.number for line in lines]
    found = Filler(marks, worth).documents(text, partial(_line_of, numbers))
    return Rendered([_as_texts(each) for each in found], tuple(sorted(missing)))


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
