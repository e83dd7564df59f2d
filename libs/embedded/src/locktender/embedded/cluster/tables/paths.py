"""The part of JSONPath that printer columns use: fields, indexes, `[*]`, and filters by equality."""

import json
import re
from typing import Any

from locktender.embedded.cluster.shapes import is_list, is_obj

_STEP = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\\])+)|\[(?:(?P<index>\d+)|'(?P<quoted>[^']+)'|(?P<all>\*)|\?\(@(?P<path>[^=\s]+)\s*==\s*(?P<value>[^)]+)\))\]"""
)


def values_at(value: Any, path: str) -> list[Any]:
    """Every value that a path leads to; none for a path that is not understood."""
    text = path if path.startswith((".", "[")) else f".{path}"
    found, place = [value], 0
    while place < len(text):
        step = _STEP.match(text, place)
        if step is None:
            return []
        found = [inner for item in found for inner in _follow(item, step)]
        place = step.end()
    return found


def _follow(value: Any, step: re.Match[str]) -> list[Any]:
    name = step["field"] or step["quoted"]
    if name:
        name = name.replace("\\.", ".")
        return [value[name]] if is_obj(value) and name in value else []
    if not is_list(value):
        return list(value.values()) if step["all"] and is_obj(value) else []
    if step["index"]:
        place = int(step["index"])
        return value[place : place + 1]
    if step["all"]:
        return value
    wanted = _literal(step["value"])
    return [item for item in value if wanted in values_at(item, step["path"])]


def _literal(text: str) -> Any:
    text = text.strip()
    if text.startswith("'"):
        return text.strip("'")
    try:
        return json.loads(text)
    except ValueError:
        return text
