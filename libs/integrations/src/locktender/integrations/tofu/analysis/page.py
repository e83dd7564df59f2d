"""The page that a diff is written on: lines with a mark in front, bounded in number and in length."""

import re
from dataclasses import dataclass, field

MOST_LINES = 2_000
LONGEST = 400
"""Characters of one text on one line, at most."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(slots=True)
class Page:
    """Lines of a diff. `elided` counts those beyond the limit."""

    limit: int = MOST_LINES
    lines: list[str] = field(default_factory=list[str])
    elided: int = 0

    def write(self, depth: int, mark: str, text: str) -> None:
        """One line. Depth 0 is the resource itself, and its mark may be wider than one character."""
        if len(self.lines) >= self.limit:
            self.elided += 1
        elif depth == 0:
            self.lines.append(f"{mark} {text}")
        else:
            self.lines.append(f"{'    ' * depth}{mark} {text}")

    def finished(self) -> tuple[str, ...]:
        """The lines, with a last one about what is missing."""
        return (*self.lines, f"# {counted(self.elided, 'more line')}") if self.elided else tuple(self.lines)


def counted(number: int, word: str) -> str:
    """`1 line`, `2,000 lines`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def keyed(key: str) -> str:
    """A key as it stands in the configuration."""
    return key if _WORD.fullmatch(key) else quoted(key)


def quoted(text: str) -> str:
    """A text in quotes, with nothing in it that a terminal or a browser would not simply show."""
    plain = text.isprintable() and '"' not in text and "\\" not in text
    return f'"{text}"' if plain else f'"{_escaped(text)}"'


def printable(text: str) -> str:
    """A line without control characters and without marks that turn the direction of a text around."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else _code(char) for char in text)


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(char) or (char if char.isprintable() else _code(char)) for char in text)


def _code(char: str) -> str:
    number = ord(char)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004 - where \u ends


def shortened(text: str, start: int = 0) -> str:
    """A quoted text; of a long one the part from `start` on, and how much is missing before and behind it."""
    if len(text) <= LONGEST:
        return quoted(text)
    start = max(0, min(start, len(text) - LONGEST))
    rest = len(text) - start - LONGEST
    before = f"({counted(start, 'character')} before) " if start else ""
    behind = f" ({counted(rest, 'more character')})" if rest else ""
    return f"{before}{quoted(text[start : start + LONGEST])}{behind}"
