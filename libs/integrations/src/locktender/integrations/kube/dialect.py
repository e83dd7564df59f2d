"""What a plain YAML scalar means, and which ones nobody should have to guess.

kubectl reads YAML 1.1 with extras, other tools read YAML 1.1 as written or YAML 1.2. A scalar that all of them read
alike is accepted with that meaning. One that they read differently is refused: the person who wrote it meant one of
the readings, and only quotes or another spelling say which.
"""

import math
import re
from dataclasses import dataclass

Scalar = bool | int | float | str | None

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT64 = range(-(2**63), 2**63)

_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FRACTION = re.compile(r"(?:[-+]?[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")

_WORDS = frozenset(("y", "Y", "n", "N", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"))
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?[ \t]*(?:Z|[-+]\d\d?(?::?\d\d)?)?)?")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_OTHER_BASE = re.compile(r"[-+]?0(?:o[0-7]+|b[01]+|x[0-9a-fA-F]+)")
_LOOSE_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_EQUALS = re.compile("=")
# A first character outside of this set never begins anything but text.
_SUSPECT = frozenset("0123456789+-.~=<nNyYtTfFoO")


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A plain scalar that tools read differently.

    `looks` says what it resembles and `fix` what to write; neither repeats the scalar, which may be a secret.
    """

    looks: str
    fix: str


_QUOTE = "put it in quotes if text is meant"


def plain(text: str) -> Scalar | Ambiguous:
    """The value of an unquoted, untagged scalar."""
    if text and text[0] not in _SUSPECT:
        return text
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    number = _number(text)
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
    return int(value) if value.is_integer() and int(value) in _INT64 else value


def _ambiguity(text: str) -> Ambiguous | None:
    if text in _WORDS:
        return Ambiguous(
            "is a boolean for some YAML readers and text for others", "write true or false, or put it in quotes"
        )
    if text[0].isalpha():
        return None
    # Some readers drop every underscore first, wherever it stands, and then look for a number.
    bare = text.replace("_", "")
    for pattern, candidate, looks, fix in (
        (_DATE, text, "is a date for some YAML readers and text for others", "put it in quotes"),
        (_SEXAGESIMAL, text, "is a base-60 number for some YAML readers and text for others", "put it in quotes"),
        (_OTHER_BASE, bare, "is a number only for some YAML readers", f"{_QUOTE}, else write the number in decimal"),
        (_LOOSE_NUMBER, bare, "is a number only for some YAML readers", f"{_QUOTE}, else write it in plain digits"),
        (_NOT_FINITE, text, "is not a finite number, and JSON has no such value", _QUOTE),
        (_EQUALS, text, "has a special meaning for some YAML readers", "put it in quotes"),
    ):
        if pattern.fullmatch(candidate):
            return Ambiguous(looks, fix)
    return None
