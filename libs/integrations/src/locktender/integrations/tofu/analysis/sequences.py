"""Which elements of two sequences belong together."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Generic, TypeVar, cast

from locktender.integrations.tofu.analysis.reading import is_array, is_object
from locktender.integrations.tofu.analysis.trees import Masked, Unknown

_Element = TypeVar("_Element")

_MOST = 400
"""Elements, up to which the best match is searched for: its cost grows faster than their number."""


@dataclass(frozen=True, slots=True)
class Stretch(Generic[_Element]):
    """Elements that stayed, or what went (`before`) and came (`after`) in the same place."""

    stays: bool
    before: list[_Element]
    after: list[_Element]


def stretches(
    before: list[_Element], after: list[_Element], key: Callable[[_Element], Hashable]
) -> list[Stretch[_Element]]:
    """Both sequences in one, in order.

    Of two long sequences that differ in many places more may be said to have gone and come than necessary.
    """
    old, new = [key(each) for each in before], [key(each) for each in after]
    head = first_difference(old, new)
    tail = first_difference(old[head:][::-1], new[head:][::-1])
    found = [Stretch(stays=True, before=before[:head], after=after[:head])]
    for start, stop, other, until in _middle(old[head : len(old) - tail], new[head : len(new) - tail]):
        stays = old[head + start : head + stop] == new[head + other : head + until]
        found.append(Stretch(stays, before[head + start : head + stop], after[head + other : head + until]))
    found.append(Stretch(stays=True, before=before[len(before) - tail :], after=after[len(after) - tail :]))
    return [each for each in found if each.before or each.after]


def first_difference(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The first place in which two sequences differ: the length of the shorter one, if it is how the other begins."""
    shortest = min(len(one), len(other))
    return next((place for place in range(shortest) if one[place] != other[place]), shortest)


def _middle(old: list[Hashable], new: list[Hashable]) -> list[tuple[int, int, int, int]]:
    if max(len(old), len(new)) <= _MOST:
        return [each[1:] for each in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]
    if len(old) == len(new):
        return [(place, place + 1, place, place + 1) for place in range(len(old))]
    return [(0, len(old), 0, len(new))]


def fingerprint(value: object) -> Hashable:
    """Equal for equal values, and for nothing else."""
    if is_object(value):
        return ("object", *((key, fingerprint(value[key])) for key in sorted(value)))
    if is_array(value):
        return ("array", *map(fingerprint, value))
    if isinstance(value, Masked):
        return ("masked", fingerprint(value.inner))
    if isinstance(value, Unknown):
        # The object itself equals nothing but itself.
        return ("unknown", object())
    return (isinstance(value, bool), cast("Hashable", value))
