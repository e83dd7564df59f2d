"""One stream of parse events for YAML and for JSON, so that one builder checks both.

Neither source recurses, and both are lazy: whoever reads the events can stop at the first level that is too deep.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import yaml

from locktender.integrations.kube import dialect
from locktender.integrations.kube.dialect import Ambiguous, Scalar

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Open:
    """A mapping or a list begins."""

    kind: Literal["map", "list"]
    line: int
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """The innermost mapping or list ends."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar. `text` is what was written, `merge` says that it is the `<<` key."""

    value: Scalar | Ambiguous
    text: str
    line: int
    anchor: str | None = None
    merge: bool = False


@dataclass(frozen=True, slots=True)
class Alias:
    """A use of an earlier anchor."""

    anchor: str
    line: int


Event = Open | Close | Leaf | Alias


class Malformed(Exception):
    """The text is not what its syntax asks for. `problem` never repeats scalars of the text."""

    def __init__(self, problem: str, line: int, code: str = "malformed-yaml") -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.code = code


_SYNTAX = {
    "exceeded maximum nesting depth": ("the document nests far too deep", "too-deep"),
    "found character that cannot start any token": (
        "a value begins with a tab, @, ` or %; put the value in quotes, and indent with spaces",
        "malformed-yaml",
    ),
    "found invalid Unicode character escape code": (
        "an escape in the text is no whole character, such as half of a surrogate pair",
        "lone-surrogate",
    ),
}
"""Words for syntax errors whose own words help nobody."""


def yaml_events(text: str, first_line: int) -> Iterator[Event]:
    """The events of a single YAML document. Raises `Malformed`."""
    documents = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise Malformed("a document begins without a `---` line before it", _line(event, first_line))
            translated = _translated(event, first_line)
            if translated is not None:
                yield translated
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem, code = _SYNTAX.get(error.problem or "", (error.problem or "it is not YAML", "malformed-yaml"))
        raise Malformed(problem, first_line + (mark.line if mark else 0), code) from None
    except (yaml.YAMLError, UnicodeEncodeError):
        raise Malformed("it holds a character that YAML does not allow", first_line) from None


def _translated(event: yaml.Event, first_line: int) -> Event | None:
    line = _line(event, first_line)
    match event:
        case yaml.MappingStartEvent():
            _known_tag(event, "map", line)
            return Open("map", line, event.anchor)
        case yaml.SequenceStartEvent():
            _known_tag(event, "seq", line)
            return Open("list", line, event.anchor)
        case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
            return Close()
        case yaml.ScalarEvent():
            return _leaf(event, line)
        case yaml.AliasEvent():
            return Alias(event.anchor or "", line)
        case _:
            return None


def _line(event: yaml.Event, first_line: int) -> int:
    return first_line + (event.start_mark.line if event.start_mark else 0)


def _known_tag(event: yaml.CollectionStartEvent, kind: str, line: int) -> None:
    if event.tag not in {None, f"{_TAG}{kind}"}:
        raise _bad_tag(line)


def _bad_tag(line: int) -> Malformed:
    return Malformed("YAML tags (`!...`) are not accepted here; remove the tag", line, "yaml-tag")


def _leaf(event: yaml.ScalarEvent, line: int) -> Leaf:
    text: str = event.value
    if event.tag is None:
        unquoted = bool(event.implicit[0])
        value = dialect.plain(text) if unquoted else text
        return Leaf(value, text, line, event.anchor, merge=unquoted and text == "<<")
    if event.tag == f"{_TAG}str":
        return Leaf(text, text, line, event.anchor)
    value = dialect.plain(text)
    # A tag that only says what is plain to see does no harm; any other is a conversion that readers disagree on.
    names: dict[type, str] = {bool: "bool", int: "int", float: "float", type(None): "null"}
    if event.tag != f"{_TAG}{names.get(type(value))}":
        raise _bad_tag(line)
    return Leaf(value, text, line, event.anchor)


_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_STRING = json.JSONDecoder()
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}


def is_json(text: str) -> bool:
    """Whether `text` is one or more JSON objects, to the letter. What is not may still be YAML."""
    decoder = json.JSONDecoder(parse_int=float, parse_constant=_no_constant)
    position = 0
    try:
        while (position := _after_space(text, position)) < len(text):
            if text[position] != "{":
                return False
            _, position = cast("tuple[object, int]", decoder.raw_decode(text, position))
    except ValueError:
        return False
    except RecursionError:
        return True  # deep enough to be refused by whoever reads the events
    return position > 0


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _after_space(text: str, position: int) -> int:
    return cast("re.Match[str]", _SPACE.match(text, position)).end()


def json_events(text: str, first_line: int) -> Iterator[Event]:
    """The events of JSON values that follow one another, where `is_json` has approved of the grammar."""
    position, line, seen = 0, first_line, 0
    while (position := _after_space(text, position)) < len(text):
        line += text.count("\n", seen, position)
        seen = position
        character = text[position]
        if character in "{[":
            yield Open("map" if character == "{" else "list", line)
            position += 1
        elif character in "}]":
            yield Close()
            position += 1
        elif character in ",:":
            position += 1
        else:
            leaf, position = _json_leaf(text, position, line)
            yield leaf


def _json_leaf(text: str, position: int, line: int) -> tuple[Leaf, int]:
    if text[position] == '"':
        value, end = _STRING.raw_decode(text, position)
        return Leaf(str(value), str(value), line), end
    for word, value in _WORDS.items():
        if text.startswith(word, position):
            return Leaf(value, word, line), position + len(word)
    match = _NUMBER.match(text, position)
    if match is None:
        raise Malformed("not JSON", line)
    written = match.group()
    number = dialect.integer(written) if match.group(1, 2) == (None, None) else dialect.fraction(written)
    return Leaf(number, written, line), match.end()
