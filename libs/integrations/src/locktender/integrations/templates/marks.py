"""`${{ … }}` in text: taken out before YAML is read, and put back as values, so that no value is ever read as YAML."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from locktender.integrations.templates.expression import Value, as_text
from locktender.integrations.templates.faults import TemplateFault

# Braces within quotes do not end an expression; a quote that is never closed is left to its parser.
_EXPRESSION = re.compile(r"""\$\{\{[ \t]*((?:'[^'\n]*'|"[^"\n]*"|(?!\}\}).)*?)[ \t]*\}\}""")
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_MOST = 20_000

Worth = Callable[["Expression"], Value]
"""What an expression is worth."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One `${{ … }}` of a template.

    Attributes:
        number: its place among all of them.
        source: what is between the braces.
        line: where it stands.
        order: its place among those of its line.
    """

    number: int
    source: str
    line: int
    order: int


class Marks:
    """The expressions of one text, each with a mark that YAML reads as an ordinary word."""

    def __init__(self) -> None:
        self._expressions: list[Expression] = []

    def take_out(self, line: str, number: int) -> str:
        """The line with a mark in the place of each expression.

        Raises:
            TemplateFault: the line already holds what marks are made of, or there are too many expressions.
        """
        if _OPEN in line or _CLOSE in line:
            raise TemplateFault("private-character", "the line holds a private-use character; remove it", number)
        return _EXPRESSION.sub(lambda match: self._marked(match[1], number), line) if "${{" in line else line

    def in_text(self, text: str) -> bool:
        """Whether a mark stands in `text`."""
        return _OPEN in text

    def alone(self, text: str) -> Expression | None:
        """The expression whose mark is the whole of `text`."""
        match = _MARK.fullmatch(text)
        return None if match is None else self._expressions[int(match[1])]

    def put_back(self, text: str, worth: Worth) -> str:
        """`text` with the worth of each expression in the place of its mark."""
        return _MARK.sub(lambda match: as_text(worth(self._expressions[int(match[1])])), text)

    def _marked(self, source: str, line: int) -> str:
        if len(self._expressions) >= _MOST:
            raise TemplateFault("too-many-expressions", f"there are more than {_MOST} expressions", line)
        last = self._expressions[-1] if self._expressions else None
        order = last.order + 1 if last is not None and last.line == line else 0
        self._expressions.append(Expression(len(self._expressions), source, line, order))
        return f"{_OPEN}{len(self._expressions) - 1}{_CLOSE}"
