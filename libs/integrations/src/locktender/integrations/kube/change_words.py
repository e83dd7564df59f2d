"""One change of a field in words: values as compact JSON, withheld or cut where they must be."""

import json
from collections import Counter
from collections.abc import Collection
from difflib import SequenceMatcher
from typing import TypeAlias, cast

from locktender.contracts.deployments.plan import FieldChange
from locktender.integrations.kube.json_value import Json
from locktender.integrations.kube.masking import SHOWN, Lines, Masked, Withheld

LONGEST_TEXT = 200
"""Characters of one value."""

MISSING = Withheld(b"")
"""Stands for a field that is not there."""

_LONGEST_PATH = 400
_COMPARED_LINES = 2_000
_ALIGNED_LINES = 200
"""Lines that are matched in their order. The time for it grows with the cube of their number."""

_Block: TypeAlias = tuple[str | Withheld, ...]


def change_of(path: str, before: Masked, after: Masked) -> FieldChange:
    """The change of the field at `path`, not cut yet."""
    hidden = [each is not MISSING and isinstance(each, Withheld) for each in (before, after)]
    if any(hidden):
        return FieldChange(path=path, masked=True)
    if isinstance(before, Lines) and isinstance(after, Lines):
        before, after = _differing(before, after)
    return FieldChange(path=path, before=_text(before), after=_text(after))


def safe(change: FieldChange, secrets: Collection[str]) -> FieldChange:
    """`change`, cut to what is shown; masked if a secret is in it, also in the part that would be cut off."""
    texts = [text for text in (change.path, change.before, change.after) if text is not None]
    if any(form in text for secret in secrets for form in _spelt(secret) for text in texts):
        hidden = any(form in change.path for secret in secrets for form in _spelt(secret))
        return FieldChange(path=SHOWN if hidden else change.path[:_LONGEST_PATH], masked=True)
    return change.model_copy(
        update={"path": change.path[:_LONGEST_PATH], "before": _cut(change.before), "after": _cut(change.after)}
    )


def _spelt(secret: str) -> tuple[str, str]:
    return secret, json.dumps(secret, ensure_ascii=False)[1:-1]


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _differing(before: Lines, after: Lines) -> tuple[Masked, Masked]:
    """The lines that differ, as lists; their numbers when there are too many lines to compare."""
    if max(len(before.lines), len(after.lines)) > _COMPARED_LINES:
        return f"{len(before.lines)} lines", f"{len(after.lines)} lines"
    old, new = _without_ends(before.lines, after.lines)
    if max(len(old), len(new)) > _ALIGNED_LINES:
        gone, come = _left_over(old, new), _left_over(new, old)
        return (cast("Masked", [*gone]), cast("Masked", [*come])) if gone or come else ("the lines", "in another order")
    blocks = [block for block in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if block[0] != "equal"]
    return (
        cast("Masked", [line for _, first, last, _, _ in blocks for line in old[first:last]]),
        cast("Masked", [line for _, _, _, first, last in blocks for line in new[first:last]]),
    )


def _without_ends(old: _Block, new: _Block) -> tuple[_Block, _Block]:
    """Both without the lines that they begin and end with alike."""
    shorter = min(len(old), len(new))
    head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    tail = next((place for place in range(shorter - head) if old[-1 - place] != new[-1 - place]), shorter - head)
    return old[head : len(old) - tail], new[head : len(new) - tail]


def _left_over(lines: _Block, others: _Block) -> _Block:
    """The lines that `others` has not, or not as often."""
    there = Counter(others)
    left: list[str | Withheld] = []
    for line in lines:
        there[line] -= 1
        if there[line] < 0:
            left.append(line)
    return tuple(left)


def _text(value: Masked) -> str | None:
    if value is MISSING:
        return None
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Masked) -> Json:
    match value:
        case Withheld():
            return SHOWN
        case Lines(lines=lines):
            return [_plain(line) for line in lines]
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value
