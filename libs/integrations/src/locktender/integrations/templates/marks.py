"""`${{ … }}` in text: taken out before YAML is read, and put back as values, so that no value is ever read as YAML."""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from locktender.integrations.templates.expression import Value, as_text
from locktender.integrations.templates.faults import TemplateFault

# Braces within quotes do not end an expression; a quote that is never closed is left to its parser. Nothing in it can
# match in two ways, so that no line takes more than its length.
_EXPRESSION = re.compile(r"""\$\{\{((?:'[^'\n]*'|"[^"\n]*"|(?!\}\}).)*+)\}\}""")
_OPEN, _CLOSE = "\ue000", "\ue001"
_TOKEN_BYTES = 4
_MARK = re.compile(f"{_OPEN}([0-9a-f]{{{2 * _TOKEN_BYTES}}})([0-9]+){_CLOSE}")
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
    """The expressions of one text, each with a mark that YAML reads as an ordinary word.

    Marks hold a token of this text's own: an escape in the text can make up the form of a mark, and never a mark.
    """

    def __init__(self) -> None:
        self._expressions: list[Expression] = []
        self._token = secrets.token_hex(_TOKEN_BYTES)

    def take_out(self, line: str, number: int) -> str:
        """The line with a mark in the place of each expression.

        Raises:
            TemplateFault: the line already holds what marks are made of, or there are too many expressions.
        """
        if _OPEN in line or _CLOSE in line:
            raise TemplateFault("private-character", "the line holds a private-use character; remove it", number)
        parts: list[str] = []
        place = 0
        while (start := line.find("${{", place)) >= 0 and line.find("}}", start) >= 0:
            match = _EXPRESSION.match(line, start)
            if match is None:
                raise TemplateFault("unclosed-expression", "an expression is closed by braces in quotes only", number)
            parts += line[place:start], self._marked(match[1].strip(), number)
            place = match.end()
        return "".join(parts) + line[place:] if parts else line

    def alone(self, text: str) -> Expression | None:
        """The expression whose mark is the whole of `text`."""
        match = _MARK.fullmatch(text) if text.startswith(_OPEN) else None
        return None if match is None or match[1] != self._token else self._expressions[int(match[2])]

    def put_back(self, text: str, worth: Worth) -> str:
        """`text` with the worth of each expression in the place of its mark."""
        if _OPEN not in text:
            return text

        def worth_of(match: re.Match[str]) -> str:
            return as_text(worth(self._expressions[int(match[2])])) if match[1] == self._token else match[0]

        return _MARK.sub(worth_of, text)

    def _marked(self, source: str, line: int) -> str:
        if len(self._expressions) >= _MOST:
            raise TemplateFault("too-many-expressions", f"there are more than {_MOST} expressions", line)
        last = self._expressions[-1] if self._expressions else None
        order = last.order + 1 if last is not None and last.line == line else 0
        self._expressions.append(Expression(len(self._expressions), source, line, order))
        return f"{_OPEN}{self._token}{len(self._expressions) - 1}{_CLOSE}"
