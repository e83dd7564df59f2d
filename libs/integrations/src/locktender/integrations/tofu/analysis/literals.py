"""Values as the configuration language writes them, one mark in front of every line."""

import json
from typing import cast

from pydantic_core import from_json

from locktender.integrations.tofu.analysis.page import LONGEST, Page, counted, keyed, printable, shortened
from locktender.integrations.tofu.analysis.reading import is_array, is_object
from locktender.integrations.tofu.analysis.trees import Masked, Unknown
from locktender.integrations.tofu.analysis.withholding import Withheld

_MOST_TEXT_LINES = 200
_LARGEST_ENCODED = 100_000


def scalar(value: object, withheld: Withheld, start: int = 0) -> str:
    """A value that is no container on one line, and an empty container."""
    if isinstance(value, str):
        return shortened(withheld.text(value), start)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if is_object(value) or is_array(value):
        return "{}" if is_object(value) else "[]"
    if isinstance(value, Masked | Unknown):
        return repr(value)
    number = cast("float", value)
    return withheld.number(number) or json.dumps(number)


def encoded(value: object) -> object:
    """The object or the array that a string is the JSON of; None if it is not one."""
    if not isinstance(value, str) or value[:1] not in {"{", "["} or len(value) > _LARGEST_ENCODED:
        return None
    try:
        found: object = from_json(value)
    except ValueError:
        return None
    return found or None


def is_block(value: object) -> bool:
    """Whether the value takes several lines."""
    if is_object(value) or is_array(value):
        return bool(value)
    return isinstance(value, str) and ("\n" in value.rstrip("\n") or encoded(value) is not None)


def write_value(
    page: Page, depth: int, mark: str, prefix: str, value: object, withheld: Withheld, end: str = ""
) -> None:
    """A whole value; `prefix` is what stands before it, `end` what follows on its last line."""
    if isinstance(value, str) and "\n" not in value and value[:1] not in {"{", "["}:
        page.write(depth, mark, f"{prefix}{shortened(withheld.text(value))}{end}")
    elif not is_block(value):
        page.write(depth, mark, f"{prefix}{scalar(value, withheld)}{end}")
    elif isinstance(value, str) and (inner := encoded(withheld.text(value))) is not None:
        page.write(depth, mark, f"{prefix}jsonencode(")
        write_value(page, depth + 1, mark, "", inner, withheld)
        page.write(depth, " ", f"){end}")
    elif isinstance(value, str):
        page.write(depth, mark, f"{prefix}<<-EOT{end}")
        write_text(page, depth, withheld.text(value))
        page.write(depth, " ", "EOT")
    elif is_object(value):
        page.write(depth, mark, f"{prefix}{{")
        write_members(page, depth + 1, mark, value, withheld)
        page.write(depth, " ", f"}}{end}")
    elif is_array(value):
        page.write(depth, mark, f"{prefix}[")
        for each in value:
            write_value(page, depth + 1, mark, "", each, withheld, ",")
        page.write(depth, " ", f"]{end}")


def write_members(page: Page, depth: int, mark: str, value: dict[str, object], withheld: Withheld) -> None:
    """The members of an object in the order of their keys, with the equals signs below each other."""
    names = {key: keyed(key) for key in sorted(value)}
    width = max(map(len, names.values()), default=0)
    for key, name in names.items():
        write_value(page, depth, mark, f"{name:<{width}} = ", value[key], withheld)


def write_text(page: Page, depth: int, text: str) -> None:
    """The lines of a text that has several."""
    lines = text.removesuffix("\n").split("\n")
    for line in lines[:_MOST_TEXT_LINES]:
        page.write(depth + 1, " ", text_line(line))
    if len(lines) > _MOST_TEXT_LINES:
        page.write(depth + 1, " ", f"# ({counted(len(lines) - _MOST_TEXT_LINES, 'more line')})")


def text_line(line: str) -> str:
    """One of these lines."""
    if len(line) <= LONGEST:
        return printable(line)
    return f"{printable(line[:LONGEST])} ({counted(len(line) - LONGEST, 'more character')})"
