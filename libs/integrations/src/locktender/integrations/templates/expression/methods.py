"""The methods of texts and lists that template authors use. Each is bounded by the longest text allowed."""

from collections.abc import Callable, Mapping

from locktender.integrations.templates.expression.values import (
    LONGEST,
    ExpressionFault,
    Value,
    as_number,
    as_text,
    bounded,
    same,
)

Arguments = list[Value]
_MOST_ITEMS = 10_000


def part_of(value: Value, key: Value) -> Value:
    """`value[key]`, or `value.length`; None for what is not there."""
    if not isinstance(value, str | list):
        if value is None:
            raise ExpressionFault(f"it asks a missing value for `{as_text(key)[:40]}`")
        return None
    if key == "length":
        return float(len(value))
    place = as_number(key)
    if place.is_integer() and 0 <= place < len(value):
        return value[int(place)]
    return None


def method(value: Value, name: str, arguments: Arguments) -> Value:
    """`value.name(arguments)`.

    Raises:
        ExpressionFault: there is no such method, or nothing to call it on.
    """
    if value is None:
        raise ExpressionFault(f"it calls `{name[:40]}` on a missing value")
    if name == "toString":
        return as_text(value)
    if isinstance(value, list):
        of_list = _LISTS.get(name)
        if of_list is not None:
            return of_list(value, arguments)
    else:
        of_text = _TEXTS.get(name)
        if of_text is not None and isinstance(value, str):
            return of_text(value, arguments)
    raise ExpressionFault(f"there is no method `{name[:40]}` here; there are {', '.join(sorted(_TEXTS))}")


def _text(arguments: Arguments, place: int = 0) -> str:
    return as_text(arguments[place]) if place < len(arguments) else ""


def _place(arguments: Arguments, place: int, default: int, length: int, *, negative: bool) -> int:
    if place >= len(arguments) or arguments[place] is None:
        return default
    wanted = as_number(arguments[place])
    number = 0 if wanted != wanted else int(max(min(wanted, float(LONGEST)), -float(LONGEST)))  # noqa: PLR0124 - NaN
    if number < 0:
        number = number + length if negative else 0
    return max(0, min(number, length))


def _slice(text: str, arguments: Arguments) -> str:
    start = _place(arguments, 0, 0, len(text), negative=True)
    return text[start : _place(arguments, 1, len(text), len(text), negative=True)]


def _substring(text: str, arguments: Arguments) -> str:
    ends = (
        _place(arguments, 0, 0, len(text), negative=False),
        _place(arguments, 1, len(text), len(text), negative=False),
    )
    return text[min(ends) : max(ends)]


def _padded(text: str, arguments: Arguments) -> str:
    wanted = _place(arguments, 0, 0, LONGEST, negative=False)
    filling = _text(arguments, 1) if len(arguments) > 1 else " "
    missing = max(wanted - len(text), 0)
    return (filling * (missing // len(filling) + 1))[:missing] if filling else ""


def _repeat(text: str, arguments: Arguments) -> str:
    count = _place(arguments, 0, 0, LONGEST, negative=False)
    if len(text) * count > LONGEST:
        raise ExpressionFault(f"it makes a text of more than {LONGEST} characters")
    return text * count


def _split(text: str, arguments: Arguments) -> Value:
    if not arguments:
        return [text]
    mark = _text(arguments)
    if (text.count(mark) if mark else len(text)) > _MOST_ITEMS:
        raise ExpressionFault(f"it makes a list of more than {_MOST_ITEMS} items")
    return list[Value](text.split(mark)) if mark else list[Value](text)


def _replaced(text: str, arguments: Arguments, *, once: bool = False) -> str:
    old, new = _text(arguments), _text(arguments, 1)
    count = min(text.count(old), 1) if once else text.count(old)
    if count * len(new) > LONGEST:
        raise ExpressionFault(f"it makes a text of more than {LONGEST} characters")
    return bounded(text.replace(old, new, count))


def _joined(items: list[Value], arguments: Arguments) -> str:
    between = _text(arguments) if arguments else ","
    if len(items) * len(between) > LONGEST:
        raise ExpressionFault(f"it makes a text of more than {LONGEST} characters")
    return bounded(between.join(as_text(item) for item in items))


_TEXTS: Mapping[str, Callable[[str, Arguments], Value]] = {
    "toLowerCase": lambda text, _: text.lower(),
    "toUpperCase": lambda text, _: text.upper(),
    "trim": lambda text, _: text.strip(),
    "startsWith": lambda text, given: text.startswith(_text(given)),
    "endsWith": lambda text, given: text.endswith(_text(given)),
    "includes": lambda text, given: _text(given) in text,
    "indexOf": lambda text, given: float(text.find(_text(given))),
    "charAt": lambda text, given: text[(at := _place(given, 0, 0, len(text), negative=False)) : at + 1],
    "concat": lambda text, given: bounded(text + "".join(as_text(each) for each in given)),
    "slice": _slice,
    "substring": _substring,
    "padStart": lambda text, given: bounded(_padded(text, given) + text),
    "padEnd": lambda text, given: bounded(text + _padded(text, given)),
    "repeat": _repeat,
    "split": _split,
    "replace": lambda text, given: _replaced(text, given, once=True),
    "replaceAll": _replaced,
}
_LISTS: Mapping[str, Callable[[list[Value], Arguments], Value]] = {
    "includes": lambda items, given: any(same(item, given[0]) for item in items) if given else False,
    "join": _joined,
}
