"""Expression text to tokens."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from locktender.integrations.templates.expression.values import ExpressionFault

LONGEST_SOURCE = 4_096
"""Characters of the longest expression that is read."""


class TokenKind(StrEnum):
    """What a token is."""

    NUMBER = "number"
    TEXT = "text"
    NAME = "name"
    MARK = "mark"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `text` is decoded for texts."""

    kind: TokenKind
    text: str


_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
    |(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
    |(?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.|\$(?!\{))*`)
    |(?P<mark>===|!==|==|!=|<=|>=|&&|\|\||\?\?|[-+*/%!<>?:.,()\[\]])""",
    re.VERBOSE,
)
# As the platform reads it, `inputs.api-key` is one name and `inputs.a - inputs.b` is a difference.
_MEMBER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_SHORT = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def tokens(source: str) -> Iterator[Token]:
    """Every token of `source`, and the end.

    Raises:
        ExpressionFault: something is not part of the language.
    """
    if len(source) > LONGEST_SOURCE:
        raise ExpressionFault(f"it has more than {LONGEST_SOURCE} characters")
    place, after_point = 0, False
    while place < len(source):
        member = _MEMBER.match(source, place) if after_point else None
        if member is not None:
            place, after_point = member.end(), False
            yield Token(TokenKind.NAME, member.group())
            continue
        match = _TOKEN.match(source, place)
        if match is None:
            raise ExpressionFault(f"character {place + 1} cannot be read")
        place = match.end()
        kind = match.lastgroup
        if kind == "space":
            continue
        text = match.group()
        after_point = text == "."
        yield Token(TokenKind(str(kind)), _decoded(text[1:-1]) if kind == "text" else text)
    yield Token(TokenKind.END, "")


def _decoded(text: str) -> str:
    if "\\" not in text:
        return text
    decoded = _ESCAPE.sub(_unescaped, text)
    try:
        # Characters beyond the first plane are written as two halves.
        return decoded.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ExpressionFault("it has half a character") from None


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _SHORT.get(match[3], match[3])
