"""YAML text to the values of a `Builder`, by the grammar of kubectl's reader where it is the stricter one."""

import re
from collections.abc import Callable
from typing import Any, cast

import yaml

from locktender.integrations.kube import dialect
from locktender.integrations.kube.tree import Builder, Malformed

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_MAP, _SEQUENCE = f"{_TAG}map", f"{_TAG}seq"
# JSON escapes the slash, YAML 1.2 too, YAML 1.1 does not.
_SLASH = re.compile(r"(?<!\\)(?:\\\\)*\\/")

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


def read_yaml(text: str, first_line: int, builder: Builder) -> None:
    """The single YAML document `text` into `builder`, which has it to `take` unless there is none.

    The reader does not recurse, and goes no further than the first level that is too deep.

    Raises:
        Malformed: `text` is no YAML, holds a second document, or what readers disagree on in grammar.
    """
    loader = None
    try:
        loader = _LOADER(text)
        _Reader(text, first_line, builder).read(cast("Callable[[], Any]", loader.get_event))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem, code = _SYNTAX.get(error.problem or "", (error.problem or "it is not YAML", "malformed-yaml"))
        raise Malformed(problem, first_line + _line_within(text, mark.line if mark else 0), code) from None
    except (yaml.YAMLError, UnicodeEncodeError):
        raise Malformed("it holds a character that YAML does not allow", first_line) from None
    finally:
        if loader is not None:
            loader.dispose()


def _line_within(text: str, line: int) -> int:
    """A fault at the end of the text is told of its last line, not of the one after it."""
    return min(line, max(text.count("\n") - 1, 0))


class _Reader:
    """Hands the parts of one document on, from a loop that is the hottest of all reading."""

    def __init__(self, text: str, first_line: int, builder: Builder) -> None:
        self._text = text
        self._first_line = first_line
        self._builder = builder
        # Whether the text holds at all what is looked for in each scalar.
        self._question = "?" in text
        self._slash = "\\/" in text
        self._flow = 0

    def read(self, next_event: Callable[[], Any]) -> None:  # noqa: C901, PLR0912 - one branch per kind of event
        """Everything up to the end of the text."""
        documents, first, builder = 0, self._first_line, self._builder
        careful, suspect = self._question or self._slash, dialect.SUSPECT
        unescaped = "\\" not in self._text
        add_text, close = builder.text, builder.close
        # Exact types, the most frequent first: this loop turns a hundred times for a small object.
        while (kind := type(event := next_event())) is not yaml.StreamEndEvent:  # pyright: ignore[reportUnknownVariableType]  # of any class
            mark = event.start_mark
            line = first + mark.line if mark is not None else first
            if kind is yaml.ScalarEvent:
                if careful:
                    self._check(event, line)
                text: str = event.value
                simple = text and text[0] not in suspect and event.tag is None and text.isascii()
                if simple and event.anchor is None and (unescaped or event.implicit[0]):
                    add_text(text, line)
                elif event.tag is not None:
                    self._tagged(event, line)
                elif not event.implicit[0]:
                    builder.scalar(text, text, line, event.anchor)
                elif text == "<<" and builder.wants_key():
                    builder.merge_key(line)
                else:
                    builder.scalar(dialect.plain(text), text, line, event.anchor)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._flow -= self._flow > 0
                close()
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                is_map = kind is yaml.MappingStartEvent
                if event.tag is not None and event.tag != (_MAP if is_map else _SEQUENCE):
                    raise _bad_tag(line)
                self._flow += bool(event.flow_style)
                builder.open({} if is_map else [], line, event.anchor)
            elif kind is yaml.AliasEvent:
                builder.alias(event.anchor or "", line)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise Malformed("a document begins without a `---` line before it", line)

    def _tagged(self, event: yaml.ScalarEvent, line: int) -> None:
        """A tag that only says what is plain to see does no harm; readers disagree on any that converts."""
        text = event.value
        if event.tag == f"{_TAG}str":
            self._builder.scalar(text, text, line, event.anchor)
            return
        value = dialect.plain(text)
        names: dict[type, str] = {bool: "bool", int: "int", float: "float", type(None): "null"}
        if event.tag != f"{_TAG}{names.get(type(value))}" or ("." in text and isinstance(value, int)):
            raise _bad_tag(line)
        self._builder.scalar(value, text, line, event.anchor)

    def _check(self, event: yaml.ScalarEvent, line: int) -> None:
        """What this reader takes and kubectl's does not."""
        if self._question and self._flow and event.implicit[0] and "?" in event.value:
            problem = "an unquoted value between brackets holds a `?`, which kubectl refuses; put the value in quotes"
            raise Malformed(problem, line)
        if self._slash and event.style == '"':
            begin, end = event.start_mark, event.end_mark
            if begin is not None and end is not None and _SLASH.search(self._text, begin.index, end.index):
                problem = "a text in double quotes holds `\\/`, which is no escape in YAML; write `/`"
                raise Malformed(problem, line)


def _bad_tag(line: int) -> Malformed:
    return Malformed("YAML tags (`!...`) are not accepted here; remove the tag", line, "yaml-tag")
