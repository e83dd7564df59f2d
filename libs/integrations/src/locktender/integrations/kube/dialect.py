"""What a plain YAML scalar means, and which ones nobody should have to guess.

kubectl reads YAML 1.1 with extras, other tools read YAML 1.1 as written or YAML 1.2. A scalar that all of them read
alike is accepted with that meaning. One that they read differently is refused: the person who wrote it meant one of
the readings, and only quotes or another spelling say which.
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal

Scalar = bool | int | float | str | None

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT64 = range(-(2**63), 2**63)

_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FRACTION = re.compile(r"(?:[-+]?[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")

_TRUE_WORDS = frozenset(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"))
_FALSE_WORDS = frozenset(("n", "N", "no", "No", "NO", "off", "Off", "OFF"))
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?[ \t]*(?:Z|[-+]\d\d?(?::?\d\d)?)?)?")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_OTHER_BASE = re.compile(r"[-+]?0(?:[oO][0-7]+|[bB][-+]?[01]+|[xX][0-9a-fA-F]+)")
_LOOSE_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_EQUALS = re.compile("=")
SUSPECT = frozenset("<0123456789+-.~=nNyYtTfFoO")
"""First characters of what may be more than text; any other never begins anything else."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A plain scalar that tools read differently.

    `looks` says what it resembles and `fix` what to write; neither repeats the scalar, which may be a secret. `word` is
    set for the few words that are booleans to some readers.
    """

    looks: str
    fix: str
    word: str | None = None

    def said(self, *, public: bool) -> str:
        """What is wrong and what to write; the word itself only where it cannot be a secret."""
        if self.word is None or not public:
            return f"{self.looks}; {self.fix}"
        meant = "true" if self.word in _TRUE_WORDS else "false"
        return f'{self.looks}; write "{self.word}" in quotes for text, or {meant}'


_QUOTE = "put it in quotes if text is meant"


def plain(text: str) -> Scalar | Ambiguous:
    """The value of an unquoted, untagged scalar."""
    if text and text[0] not in SUSPECT:
        return text
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    # What begins with a letter is never a number, to nobody.
    number = None if text[0].isalpha() else _number(text)
    if number is not None:
        return number
    return _ambiguity(text) or text


def _number(text: str) -> int | float | Ambiguous | None:
    if _DECIMAL.fullmatch(text):
        return integer(text, 10)
    if _OCTAL.fullmatch(text):
        return integer(text, 8)
    if _HEX.fullmatch(text):
        return integer(text, 16)
    if _FRACTION.fullmatch(text):
        return fraction(text)
    return None


def integer(text: str, base: int = 10) -> int | Ambiguous:
    """An integer, unless it does not fit the 64 bits that a cluster keeps."""
    # More digits than any 64-bit number has: do not even convert, that is quadratic.
    value = int(text, base) if len(text) <= 64 else _INT64.stop  # noqa: PLR2004 - 64 binary digits at most
    if value in _INT64:
        return value
    return Ambiguous("is an integer beyond 64 bits", f"{_QUOTE}, or use a smaller number")


def fraction(text: str) -> int | float | Ambiguous:
    """A float; one without a fractional part becomes the integer that kubectl sends for it."""
    value = float(text)
    if not math.isfinite(value):
        return Ambiguous("is a number too large for JSON", f"{_QUOTE}, or use a smaller number")
    if not value.is_integer():
        return value
    # The shortest digits that mean this float, and zeros: above 2**53 that is another integer than the float's own.
    whole = int(Decimal(repr(value)))
    return whole if whole in _INT64 else value


_RULES: tuple[tuple[re.Pattern[str], bool, Ambiguous], ...] = (
    (
        _DATE,
        False,
        Ambiguous("is a date for some YAML readers and text for others", 'put it in quotes, such as "2020-12-31"'),
    ),
    (
        _SEXAGESIMAL,
        False,
        Ambiguous("is a base-60 number for some YAML readers and text for others", 'put it in quotes, such as "12:30"'),
    ),
    (
        _OTHER_BASE,
        True,
        Ambiguous("is a number only for some YAML readers", f'{_QUOTE}, such as "0o17", else write it in decimal'),
    ),
    (
        _LOOSE_NUMBER,
        True,
        Ambiguous("is a number only for some YAML readers", f'{_QUOTE}, such as "1e3", else write it in plain digits'),
    ),
    (
        _NOT_FINITE,
        False,
        Ambiguous("is not a finite number, and JSON has no such value", f'{_QUOTE}, such as ".inf"'),
    ),
    (_EQUALS, False, Ambiguous("has a special meaning for some YAML readers", 'put it in quotes: "="')),
)
"""What is no plain number, in the order of trying. Where the flag is set, underscores count for nothing: some readers
drop every one of them first, wherever it stands, and then look for a number."""


def _ambiguity(text: str) -> Ambiguous | None:
    if text in _TRUE_WORDS or text in _FALSE_WORDS:
        looks = "is a boolean for some YAML readers and text for others"
        return Ambiguous(looks, "put it in quotes for text, or write true or false", text)
    if text[0].isalpha():
        return None
    bare = text.replace("_", "")
    for pattern, without_underscores, ambiguous in _RULES:
        if pattern.fullmatch(bare if without_underscores else text):
            return ambiguous
    return None
