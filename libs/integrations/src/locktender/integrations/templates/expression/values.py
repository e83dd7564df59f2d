"""What an expression can be, with the conversions of JavaScript, in which template authors think."""

import math
import re
from typing import TypeAlias

from locktender.contracts.kernel.errors import LocktenderError

Value: TypeAlias = "str | float | bool | list[Value] | None"
"""Numbers are floats, as there. None stands for `null` and `undefined` alike."""

LONGEST = 256 * 1024
"""Characters of the longest text that an expression may make."""

MOST_WORK = 16 * 1024 * 1024
"""Characters that all expressions of one rendering may pass around together: what bounds their time."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


class ExpressionFault(LocktenderError):
    """An expression that cannot be read or worked out. The message names no value."""


class Meter:
    """Counts the work of expressions, across all of a rendering."""

    def __init__(self, limit: int = MOST_WORK) -> None:
        self._left = limit

    def spend(self, value: Value) -> Value:
        """`value`, once it is paid for.

        Raises:
            ExpressionFault: there was too much work already.
        """
        self._left -= 1 + (len(value) if isinstance(value, str | list) else 0)
        if self._left < 0:
            raise ExpressionFault("the expressions of this template take too much work")
        return value


def truthy(value: Value) -> bool:
    """Whether `if` takes the branch: not for "", 0, NaN, false and nothing at all."""
    if isinstance(value, list):
        return True
    return bool(value) and not (isinstance(value, float) and math.isnan(value))


def as_text(value: Value) -> str:
    """The text that a value leaves in a document; nothing for nothing."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case list():
            return ",".join(as_text(item) for item in value)
        case _:
            return number_text(value)


def number_text(value: float) -> str:
    """A number as it is written: whole ones without a point."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)  # noqa: PLR2004 - as there


def as_number(value: Value) -> float:
    """The number in a value; NaN when there is none."""
    match value:
        case None:
            return math.nan
        case bool():
            return 1.0 if value else 0.0
        case str():
            text = value.strip()
            if not text:
                return 0.0
            return float(text) if _NUMBER.fullmatch(text) else math.nan
        case list():
            return math.nan
        case _:
            return value


def same(left: Value, right: Value) -> bool:
    """`===`: equal and of one kind. Lists are never equal, not even to themselves."""
    if isinstance(left, list) or isinstance(right, list):
        return False
    return _kind(left) == _kind(right) and left == right


def alike(left: Value, right: Value) -> bool:
    """`==`: equal once numbers, texts and booleans are brought to one kind."""
    if left is None or right is None:
        return left is right
    if _kind(left) == _kind(right):
        return same(left, right)
    return as_number(left) == as_number(right)


def added(left: Value, right: Value) -> Value:
    """`+`: texts are joined, numbers are added."""
    if isinstance(left, str | list) or isinstance(right, str | list):
        return bounded(_joined(left) + _joined(right))
    return as_number(left) + as_number(right)


def bounded(text: str) -> str:
    """`text`, unless it is longer than anything a template needs."""
    if len(text) > LONGEST:
        raise ExpressionFault(f"it makes a text of more than {LONGEST} characters")
    return text


def _joined(value: Value) -> str:
    # A missing value that is joined to a text is a mistake that nobody should find in a URL as "undefined".
    return as_text(value)


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "nothing"
    return "text" if isinstance(value, str) else "number"
