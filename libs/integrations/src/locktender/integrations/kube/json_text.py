"""JSON text to the values of a `Builder`, which sees every number as it was written and every key."""

import json
import re
from collections.abc import Iterator
from typing import cast

from locktender.integrations.kube import dialect
from locktender.integrations.kube.dialect import Scalar
from locktender.integrations.kube.tree import Builder, Malformed, Tree

_COMMENT = re.compile(r"\s*#")
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_STRING = json.JSONDecoder()
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}

# What JSON allows and the YAML reader of kubectl, which sees every document but the first, does not.
_JSON_ONLY = re.compile(r"(?<!\\)(?:\\\\)*\\(?:/|u[dD][89a-fA-F])")
_SIMPLE_KEY = re.compile(r"[ \t]*:")
_SIMPLE_KEY_LIMIT = 1024


def json_values(text: str) -> int:
    """How many JSON objects `text` is, to the letter and nothing else; 0 for what may still be YAML."""
    decoder = json.JSONDecoder(parse_int=float, parse_constant=_no_constant)
    position, values = 0, 0
    try:
        while (position := _after_space(text, position)) < len(text):
            if text[position] != "{":
                return 0
            _, position = cast("tuple[object, int]", decoder.raw_decode(text, position))
            values += 1
    except ValueError:
        return 0
    except RecursionError:
        return values + 1  # deep enough to be refused by whoever reads it
    return values


def comment_follows(text: str) -> bool:
    """Whether a JSON object begins `text` and a comment follows. kubectl takes some of these, by their length."""
    try:
        _, end = cast("tuple[object, int]", json.JSONDecoder().raw_decode(text, _after_space(text, 0)))
    except (ValueError, RecursionError):
        return False
    return _COMMENT.match(text, end) is not None


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _after_space(text: str, position: int) -> int:
    return cast("re.Match[str]", _SPACE.match(text, position)).end()


def read_json(text: str, first_line: int, builder: Builder, *, as_yaml: bool = False) -> Iterator[Tree]:
    """The JSON values of `text`, where `json_values` has approved of the grammar.

    With `as_yaml`, what a YAML reader would not take is refused too.

    Raises:
        Malformed: a fault that ends the document.
    """
    position, line, seen = 0, first_line, 0
    while (position := _after_space(text, position)) < len(text):
        line += text.count("\n", seen, position)
        seen = position
        character = text[position]
        if character in "{[":
            builder.open({} if character == "{" else [], line)
            position += 1
        elif character in "}]":
            builder.close()
            position += 1
            if (tree := builder.take()) is not None:
                yield tree
        elif character in ",:":
            position += 1
        else:
            key_due = as_yaml and builder.wants_key()
            position = _leaf(text, position, line, builder, as_yaml=as_yaml)
            if key_due and (position - seen > _SIMPLE_KEY_LIMIT or not _SIMPLE_KEY.match(text, position)):
                raise Malformed("a key in quotes is too long, or its colon stands on another line", line)


def _leaf(text: str, position: int, line: int, builder: Builder, *, as_yaml: bool) -> int:
    if text[position] == '"':
        value, end = _STRING.raw_decode(text, position)
        if as_yaml and _JSON_ONLY.search(text, position, end):
            problem = "a text holds `\\/` or a `\\ud...` pair, which YAML readers refuse; write the character itself"
            raise Malformed(problem, line)
        builder.scalar(str(value), str(value), line)
        return end
    for word, value in _WORDS.items():
        if text.startswith(word, position):
            builder.scalar(value, word, line)
            return position + len(word)
    match = _NUMBER.match(text, position)
    if match is None:
        raise Malformed("not JSON", line)
    written = match.group()
    number = dialect.integer(written) if match.group(1, 2) == (None, None) else dialect.fraction(written)
    builder.scalar(number, written, line)
    return match.end()
