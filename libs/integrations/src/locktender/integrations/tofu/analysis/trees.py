"""The trees that the engine writes beside its values: what is sensitive, and what is known only after the apply."""

from typing import Any

from locktender.contracts.stacks.analysis import MASKED
from locktender.integrations.tofu.analysis.reading import Json, is_array, is_object

Tree = Any
"""`True` for a whole value, an object or an array for parts of one, None where there is nothing to say."""

UNKNOWN_TEXT = "(known after apply)"


class Masked:
    """A value that is compared and never shown."""

    __slots__ = ("inner",)

    def __init__(self, inner: object) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        return MASKED


class Unknown:
    """A value that nobody knows yet."""

    __slots__ = ()

    def __repr__(self) -> str:
        return UNKNOWN_TEXT


UNKNOWN = Unknown()


def pruned(tree: Tree) -> Tree:
    """The tree without the parts that say nothing; None if none is left."""
    if tree is True:
        return True
    # Nearly every tree says nothing at all, and there are several for each resource.
    if not tree:
        return None
    if is_object(tree):
        kept = {key: below for key, each in tree.items() if each and (below := pruned(each)) is not None}
        return kept or None
    if is_array(tree):
        parts = [pruned(each) if each else None for each in tree]
        return parts if parts.count(None) < len(parts) else None
    return None


def united(one: Tree, other: Tree) -> Tree:
    """What either of two pruned trees says. Where their shapes differ it is the whole value."""
    if one is None or other is None:
        return other if one is None else one
    if is_object(one) and is_object(other):
        return {key: united(one.get(key), other.get(key)) for key in {**one, **other}}
    if is_array(one) and is_array(other) and len(one) == len(other):
        return [united(*pair) for pair in zip(one, other, strict=True)]
    return True


def sensitivity(resource_type: str, tree: Tree) -> Tree:
    """What is sensitive of a resource, pruned.

    The `output` of a terraform_data is its `input` again, but the engine marks only the latter.
    """
    found = pruned(tree)
    if resource_type != "terraform_data" or not is_object(found):
        return found
    if "input" not in found:
        return found
    return {**found, "output": united(found["input"], found.get("output"))}


def overlaid(value: object, sensitive: Tree, unknown: Tree) -> object:
    """The value with `Masked` and `UNKNOWN` in the places that two pruned trees name.

    A mark that does not fit the shape of the value holds for all of it. What is null is never masked.
    """
    if sensitive is None and unknown is None:
        return value
    if unknown is True:
        return UNKNOWN
    if value is None:
        return None if unknown is None else overlaid({} if is_object(unknown) else [], sensitive, unknown)
    if is_object(value):
        return _object(value, sensitive, unknown)
    if is_array(value):
        return _array(value, sensitive, unknown)
    return value if sensitive is None else Masked(value)


def _object(value: Json, sensitive: Tree, unknown: Tree) -> object:
    if not (sensitive is None or is_object(sensitive)):
        return Masked(value)
    marks: Json = sensitive or {}
    open_ones = unknown if is_object(unknown) else {}
    named = {**marks, **open_ones}.keys()
    changed = {key: overlaid(value.get(key), marks.get(key), open_ones.get(key)) for key in named}
    # A mark for what is not there makes no member.
    return {**value, **{key: each for key, each in changed.items() if key in value or key in open_ones}}


def _array(value: list[Any], sensitive: Tree, unknown: Tree) -> object:
    open_ones = unknown if is_array(unknown) else []
    length = max(len(value), len(open_ones))
    if sensitive is None:
        marks: list[Any] = [None] * length
    elif is_array(sensitive) and len(sensitive) == length:
        marks = sensitive
    else:
        return Masked(value)
    known = [*value, *([None] * (length - len(value)))]
    still = [*open_ones, *([None] * (length - len(open_ones)))]
    return [overlaid(*each) for each in zip(known, marks, still, strict=True)]


def same(one: object, other: object) -> bool:
    """Whether two overlaid values are equal. Unlike in Python, `true` is not 1, and what is unknown equals nothing."""
    if isinstance(one, str):
        return isinstance(other, str) and one == other
    if isinstance(one, Masked) and isinstance(other, Masked):
        return same(one.inner, other.inner)
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, bool) is not isinstance(other, bool) or isinstance(one, Unknown):
        return False
    return one == other
