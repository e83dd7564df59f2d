"""Secret values by what they are, wherever they turn up again without a mark."""

from collections.abc import Iterable
from typing import Any, cast

from locktender.contracts.stacks.analysis import MASKED
from locktender.integrations.tofu.analysis.reading import is_array, is_object
from locktender.integrations.tofu.analysis.trees import Tree

_SHORTEST_WHOLE = 4
_SHORTEST_INSIDE = 8
_FEW_HEADS = 64
"""Up to so many beginnings it is quicker to search a text for each than to look up each place of it."""
_WORDS = frozenset({"true", "false", "null", "none"})
_CACHED = 200
"""Texts up to this length are remembered, as many of them return in every resource."""


class Withheld:
    """The secret values of one document, and texts without them.

    Guaranteed: a known value of four or more characters never remains as a whole text, and one of eight or more not
    inside of a text either.

    Not guaranteed: shorter values, and other spellings of a value. The engine marks what it works out from a secret,
    so these are known values themselves.
    """

    def __init__(self) -> None:
        self._whole: set[str] = set()
        self._by_head: dict[str, list[str]] = {}
        self._seen: dict[str, str] = {}

    def add(self, values: Iterable[str]) -> None:
        """Learn values. All must be known before the first text is asked for."""
        for value in values:
            if len(value) < _SHORTEST_WHOLE or value in self._whole or value.lower() in _WORDS:
                continue
            self._whole.add(value)
            if len(value) >= _SHORTEST_INSIDE:
                self._by_head.setdefault(value[:_SHORTEST_INSIDE], []).append(value)

    def learn(self, value: object, sensitive: Tree) -> None:
        """Learn what a pruned tree of marks says is sensitive of a value. Shapes that do not fit count as a whole."""
        if sensitive is None or value is None:
            return
        if is_object(value) and is_object(sensitive):
            for key, mark in sensitive.items():
                self.learn(value.get(key), mark)
        elif is_array(value) and is_array(sensitive) and len(value) == len(sensitive):
            for each, mark in zip(value, sensitive, strict=True):
                self.learn(each, mark)
        else:
            self.add(_leaves(value))

    @property
    def empty(self) -> bool:
        """Whether no value is known, so that every text may stay as it is."""
        return not self._whole

    def text(self, text: str) -> str:
        """The text with `(sensitive value)` in the places of known values."""
        if not self._whole:
            return text
        if len(text) < _SHORTEST_INSIDE:
            return MASKED if text in self._whole else text
        if (known := self._seen.get(text)) is not None:
            return known
        found = MASKED if text in self._whole else self._inside(text)
        if len(text) <= _CACHED:
            self._seen[text] = found
        return found

    def number(self, number: float) -> str | None:
        """What stands for a number that is a known value; None if it is not one."""
        return MASKED if self._whole and str(number) in self._whole else None

    def _inside(self, text: str) -> str:
        if len(text) < _SHORTEST_INSIDE or not self._by_head or not self._begins(text):
            return text
        parts: list[str] = []
        end = 0
        for place in range(len(text) - _SHORTEST_INSIDE + 1):
            values = self._by_head.get(text[place : place + _SHORTEST_INSIDE], ())
            reach = max((place + len(value) for value in values if text.startswith(value, place)), default=0)
            if not reach:
                continue
            if place >= end:
                parts += (text[end:place], MASKED)
            end = max(end, reach)
        return "".join([*parts, text[end:]])

    def _begins(self, text: str) -> bool:
        """Whether anything in the text begins as a known value does. Nearly always not, and then nothing is done."""
        if len(self._by_head) <= _FEW_HEADS:
            return any(head in text for head in self._by_head)
        last = len(text) - _SHORTEST_INSIDE + 1
        return any(text[place : place + _SHORTEST_INSIDE] in self._by_head for place in range(last))


def _leaves(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value):
        # Not the keys: `password` is no secret, and would be missing wherever it is the name of something.
        for each in value.values():
            yield from _leaves(each)
    elif is_array(value):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def masked(value: object, sensitive: Tree, withheld: Withheld) -> Any:
    """The value as JSON that may be stored: marked parts and known values are `(sensitive value)`."""
    if value is None or (sensitive is None and withheld.empty):
        return value
    if sensitive is None:
        return _without_known(value, withheld)
    if is_object(value) and is_object(sensitive):
        return {key: masked(each, sensitive.get(key), withheld) for key, each in value.items()}
    if is_array(value) and is_array(sensitive) and len(sensitive) == len(value):
        return [masked(*pair, withheld) for pair in zip(value, sensitive, strict=True)]
    return MASKED


def _without_known(value: object, withheld: Withheld) -> object:
    if isinstance(value, str):
        return withheld.text(value)
    if value is None or value is True or value is False:
        return value
    if is_object(value):
        text = withheld.text
        # Most members are texts: a call less for each of them is felt in a plan of thousands of resources.
        return {
            key: text(each) if isinstance(each, str) else _without_known(each, withheld) for key, each in value.items()
        }
    if is_array(value):
        return [_without_known(each, withheld) for each in value]
    number = cast("float", value)
    return withheld.number(number) or number
