"""YAML to plain JSON values, expressions filled in one scalar at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import yaml

from locktender.integrations.kube.dialect import Ambiguous, plain
from locktender.integrations.kube.json_value import Json, JsonObject
from locktender.integrations.templates.expression import Value, as_text
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.marks import Marks, Worth

_LOADER = cast("type[yaml.SafeLoader]", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
_MERGE = "tag:yaml.org,2002:merge"
# What is not one of these is a plain word; the readers differ in how they say so.
_QUOTED = frozenset({"'", '"', "|", ">"})
_DEEPEST, _MOST_NODES = 100, 200_000


@dataclass(frozen=True, slots=True)
class Read:
    """One document: its value, the line it begins on, and what was written for each scalar that is no text.

    `written` is by the `id` of the holding mapping or list and the key or index.
    """

    value: Json
    line: int
    written: dict[tuple[int, str | int], str]


class Filler:
    """Reads documents with marks in them. A value stays within its scalar, whatever it holds.

    A scalar without quotes that is nothing but one expression takes the kind that its worth has when written there: a
    number or boolean, nothing, or text. Everywhere else the worth is text, and so is a word that readers disagree on.
    """

    def __init__(self, marks: Marks, worth: Worth) -> None:
        self._marks = marks
        self._worth = worth
        self._nodes = 0
        self._written: dict[tuple[int, str | int], str] = {}

    def documents(self, text: str, line_of: Callable[[int], int]) -> list[Read]:
        """Every document of `text` that holds something. `line_of` takes a line of it, from 0, to one of the template.

        Raises:
            TemplateFault: it is no YAML, or goes beyond the bounds.
        """
        found: list[Read] = []
        try:
            for node in yaml.compose_all(text, Loader=_LOADER):
                self._written = {}
                value = self._value(node, 0, line_of)
                if value is not None:
                    found.append(Read(value, line_of(node.start_mark.line), self._written))
        except yaml.MarkedYAMLError as error:
            line = 0 if error.problem_mark is None else line_of(error.problem_mark.line)
            raise TemplateFault("malformed-yaml", f"the YAML cannot be read: {error.problem}", line) from None
        except yaml.YAMLError:
            raise TemplateFault("malformed-yaml", "the YAML cannot be read") from None
        except RecursionError:
            raise TemplateFault("too-deep", "the YAML nests too deeply") from None
        return found

    def _value(self, node: Any, depth: int, line_of: Callable[[int], int]) -> Json:
        self._nodes += 1
        if self._nodes > _MOST_NODES or depth > _DEEPEST:
            raise TemplateFault("too-large", "the document is too large or too deep", line_of(node.start_mark.line))
        match node:
            case yaml.ScalarNode():
                return self._scalar(node)
            case yaml.SequenceNode():
                items: list[Json] = []
                for child in node.value:
                    items.append(self._value(child, depth + 1, line_of))
                    self._note(items, len(items) - 1, child)
                return items
            case _:
                return self._mapping(node, depth, line_of)

    def _mapping(self, node: Any, depth: int, line_of: Callable[[int], int]) -> JsonObject:
        value: JsonObject = {}
        merged: list[JsonObject] = []
        for key_node, child in node.value:
            line = line_of(key_node.start_mark.line)
            if key_node.tag == _MERGE:
                merged += self._merged(self._value(child, depth + 1, line_of), line)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise TemplateFault("complex-key", "a key must be a word or a quoted text", line)
            key = self._marks.put_back(str(key_node.value), self._worth)
            if key in value:
                raise TemplateFault("duplicate-key", "the key is written twice in one mapping", line)
            value[key] = self._value(child, depth + 1, line_of)
            self._note(value, key, child)
        for source in merged:
            for key, item in source.items():
                value.setdefault(key, item)
        return value

    @staticmethod
    def _merged(source: Json, line: int) -> list[JsonObject]:
        sources = source if isinstance(source, list) else [source]
        mappings = [each for each in sources if isinstance(each, dict)]
        if len(mappings) != len(sources):
            raise TemplateFault("bad-merge", "`<<` takes a mapping or a list of mappings", line)
        return mappings

    def _note(self, holder: JsonObject | list[Json], key: str | int, node: Any) -> None:
        if isinstance(node, yaml.ScalarNode):
            self._written[id(holder), key] = self._marks.put_back(str(node.value), self._worth)

    def _scalar(self, node: Any) -> Json:
        text = str(node.value)
        if node.style in _QUOTED:
            return self._marks.put_back(text, self._worth)
        expression = self._marks.alone(text)
        if expression is not None:
            return _kept(self._worth(expression))
        return _plain(self._marks.put_back(text, self._worth))


def _kept(value: Value) -> Json:
    """What an expression that stands alone leaves behind."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    text = as_text(value)
    # Whoever enters the word null means the word.
    found = _plain(text)
    return text if found is None and text else found


def _plain(text: str) -> Json:
    value = plain(text)
    return text if isinstance(value, Ambiguous) else value
