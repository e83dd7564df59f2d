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

MOST_DOCUMENTS = 1_000
"""Documents of a template, at most."""
MOST_CHARACTERS = 8 * 1_024 * 1_024
"""Characters of everything that a template renders to, at most. Anchors and long inputs repeat themselves quickly."""

_LOADER = cast("type[yaml.SafeLoader]", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
# What is not one of these is a plain word; the readers differ in how they say so.
_QUOTED = frozenset({"'", '"', "|", ">"})
_DEEPEST, _MOST_NODES = 100, 200_000
# Texts everywhere in Kubernetes, whatever an input that stands there looks like.
_TEXT_KEYS = frozenset({"name", "namespace", "image", "host", "key", "secretName", "serviceName", "apiVersion", "kind"})
_CORE = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset({f"{_CORE}str", "!"})
_PLAIN_TAGS = frozenset(f"{_CORE}{kind}" for kind in ("int", "float", "bool", "null", "map", "seq"))

LineOf = Callable[[int], int]


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

    Values are built while the parser goes along: a text that is mostly brackets costs no more than its bounds allow.
    """

    def __init__(self, marks: Marks, worth: Worth) -> None:
        self._marks = marks
        self._worth = worth
        self._nodes = 0
        self._characters = 0
        self._written: dict[tuple[int, str | int], str] = {}
        self._anchors: dict[str, tuple[Json, str]] = {}
        self._line_of: LineOf = int
        self._loader: Any = None

    def documents(self, text: str, line_of: LineOf) -> list[Read]:
        """Every document of `text` that holds something. `line_of` takes a line of it, from 0, to one of the template.

        Raises:
            TemplateFault: it is no YAML, or goes beyond the bounds.
        """
        self._line_of = line_of
        self._loader = _LOADER(text)
        try:
            return self._stream()
        except yaml.MarkedYAMLError as error:
            line = 0 if error.problem_mark is None else line_of(error.problem_mark.line)
            raise TemplateFault("malformed-yaml", f"the YAML cannot be read: {error.problem}", line) from None
        except yaml.YAMLError:
            raise TemplateFault("malformed-yaml", "the YAML cannot be read") from None
        finally:
            self._loader.dispose()

    def _stream(self) -> list[Read]:
        found: list[Read] = []
        while True:
            event = self._loader.get_event()
            if isinstance(event, yaml.StreamEndEvent):
                return found
            if not isinstance(event, yaml.DocumentStartEvent):
                continue
            self._written, self._anchors = {}, {}
            first = self._loader.get_event()
            value, _ = self._value(first, 0)
            if value is None:
                continue
            if len(found) >= MOST_DOCUMENTS:
                raise self._fault("too-many-documents", f"there are more than {MOST_DOCUMENTS} documents", first)
            found.append(Read(value, self._line(first), self._written))

    def _line(self, event: Any) -> int:
        return self._line_of(event.start_mark.line)

    def _fault(self, code: str, problem: str, event: Any) -> TemplateFault:
        return TemplateFault(code, problem, self._line(event))

    def _spend(self, characters: int, event: Any) -> None:
        self._nodes += 1
        self._characters += characters
        if self._nodes > _MOST_NODES or self._characters > MOST_CHARACTERS:
            raise self._fault("too-large", "the documents are larger than a template may render to", event)

    def _checked(self, text: str, event: Any) -> None:
        if "\0" in text:
            raise self._fault(
                "unusable-character", "a text holds the character 0, which a cluster does not keep", event
            )
        self._spend(len(text), event)

    def _value(self, event: Any, depth: int) -> tuple[Json, str]:
        """The value that begins with `event`, and what was written for it if it is no text."""
        if depth > _DEEPEST:
            raise self._fault(
                "too-deep", f"there are more than {_DEEPEST} mappings and lists inside one another", event
            )
        if isinstance(event, yaml.AliasEvent):
            return self._again(event)
        if event.tag is not None and event.tag not in _TEXT_TAGS | _PLAIN_TAGS:
            raise self._fault("unknown-tag", "values with a tag of their own cannot be rendered; remove the tag", event)
        found: tuple[Json, str]
        if isinstance(event, yaml.ScalarEvent):
            found = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._spend(0, event)
            found = self._list(depth), ""
        else:
            self._spend(0, event)
            found = self._mapping(depth), ""
        if event.anchor is not None:
            self._anchors[event.anchor] = found
        return found

    def _list(self, depth: int) -> list[Json]:
        items: list[Json] = []
        while not isinstance(event := self._loader.get_event(), yaml.SequenceEndEvent):
            value, written = self._value(event, depth + 1)
            items.append(value)
            if written:
                self._written[id(items), len(items) - 1] = written
        return items

    def _mapping(self, depth: int) -> JsonObject:
        value: JsonObject = {}
        merged: list[JsonObject] = []
        while not isinstance(event := self._loader.get_event(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._fault("complex-key", "a key must be a word or a quoted text", event)
            text = str(event.value)
            item, written = self._value(self._loader.get_event(), depth + 1)
            if text == "<<" and event.style not in _QUOTED and event.tag is None:
                merged += self._merged(item, event)
                continue
            key = self._marks.put_back(text, self._worth)
            self._checked(key, event)
            if key in value:
                raise self._duplicate(key, depth, event)
            if written and key in _TEXT_KEYS and item is not None:
                item, written = written, ""
            value[key] = item
            if written:
                self._written[id(value), key] = written
        for source in merged:
            for key in [key for key in source if key not in value]:
                self._spend(len(key), event)
                value[key] = source[key]
                if (id(source), key) in self._written:
                    self._written[id(value), key] = self._written[id(source), key]
        return value

    def _duplicate(self, key: str, depth: int, event: Any) -> TemplateFault:
        if depth == 0 and key in {"apiVersion", "kind"}:
            return self._fault("duplicate-key", "a second object begins here; put a line with `---` before it", event)
        return self._fault("duplicate-key", "the key is written twice in one mapping", event)

    def _merged(self, source: Json, event: Any) -> list[JsonObject]:
        sources = source if isinstance(source, list) else [source]
        mappings = [each for each in sources if isinstance(each, dict)]
        if len(mappings) != len(sources):
            raise self._fault("bad-merge", "`<<` takes a mapping or a list of mappings", event)
        return mappings

    def _again(self, event: Any) -> tuple[Json, str]:
        """What an alias stands for: a copy, since the places may still come to differ."""
        if event.anchor not in self._anchors:
            raise self._fault("unknown-alias", "the alias has no anchor before it", event)
        value, written = self._anchors[event.anchor]
        return self._copied(value, event), written

    def _copied(self, value: Json, event: Any) -> Json:
        if isinstance(value, dict):
            copy: Json = {}
            for key, item in value.items():
                self._spend(len(key), event)
                copy[key] = self._copied(item, event)
            self._carry(value, copy, list(value))
            return copy
        if isinstance(value, list):
            items: list[Json] = [self._copied(item, event) for item in value]
            self._carry(value, items, list(range(len(items))))
            return items
        self._spend(len(value) if isinstance(value, str) else 0, event)
        return value

    def _carry(self, old: Json, new: Json, keys: list[str] | list[int]) -> None:
        for key in keys:
            if (id(old), key) in self._written:
                self._written[id(new), key] = self._written[id(old), key]

    def _scalar(self, event: Any) -> tuple[Json, str]:
        text = str(event.value)
        value: Json
        if event.style in _QUOTED or event.tag in _TEXT_TAGS:
            value = self._marks.put_back(text, self._worth)
        elif (expression := self._marks.alone(text)) is not None:
            worth = self._worth(expression)
            value, text = _kept(worth), as_text(worth)
        else:
            text = self._marks.put_back(text, self._worth)
            value = _plain(text)
        self._checked(text if value is None else str(value), event)
        return value, "" if isinstance(value, str) else text


def _kept(value: Value) -> Json:
    """What an expression that stands alone leaves behind."""
    if isinstance(value, bool) or value is None:
        return value
    text = as_text(value)
    # Whoever enters the word null means the word.
    found = _plain(text)
    return text if found is None and text else found


def _plain(text: str) -> Json:
    value = plain(text)
    return text if isinstance(value, Ambiguous) else value
