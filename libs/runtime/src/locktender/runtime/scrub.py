"""Taking known secret values out of text and JSON, in every form in which they may turn up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from locktender.runtime.spellings import SHORTEST, spellings

MASK = "[withheld]"
_DEEPEST = 200
_TELLING = 8
"""Characters of the beginning of a value that give it away, although the rest was cut off."""
_HEAD = SHORTEST
_FEW_HEADS = 64
"""Up to so many beginnings it is quicker to search the text for each than to look each place of it up."""
_CUT = ("...", "\u2026")
_DOTS = 3


class Scrubber:
    """Replaces every known value by `[withheld]`.

    Guaranteed: no value of four or more characters remains: raw, escaped for JSON (once or twice), as base64 (once or
    twice, at any offset inside a longer encoded text), URL-encoded (once or twice) or, from eight bytes on, in
    hexadecimal digits; neither does a line of eight or more characters of a longer value. Overlapping values leave no
    part behind. Where a text ends, or goes on with an ellipsis, in the middle of a value, its beginning is taken out as
    well if it has eight or more characters.

    Not guaranteed: values of fewer than four characters are left alone, because replacing them would ruin any text,
    and so are other encodings (hexadecimal digits with anything in between, compression) and values that lack their
    beginning; `SensitiveKeys` keeps the first away from text, and nothing here encodes like the others.
    """

    def __init__(self, values: Iterable[str | bytes], *, spelt: Iterable[str] = ()) -> None:
        """`spelt` are forms of further values, as `spellings` gave them: working these out is what takes the time."""
        forms = {form for value in values for form in spellings(value)}.union(spelt)
        self._forms = tuple(sorted(forms, key=len, reverse=True))
        self._by_first: dict[str, list[str]] = defaultdict(list)
        self._by_head: dict[str, list[str]] = defaultdict(list)
        for form in self._forms:
            self._by_first[form[0]].append(form)
            self._by_head[form[:_HEAD]].append(form)

    def text(self, text: str) -> str:
        """`text` without any known value."""
        spans = self.spans(text)
        if not spans:
            return text
        parts: list[str] = []
        place = 0
        for start, end in spans:
            parts += (text[place:start], MASK)
            place = end
        parts.append(text[place:])
        return "".join(parts)

    def structure(self, value: object) -> object:
        """A JSON value with every string, key and number scrubbed; what is nested too deep is withheld whole."""
        return self._structure(value, 0)

    def spans(self, text: str, *, ended: bool = True) -> list[tuple[int, int]]:
        """Where known values stand in `text`: in order, apart from one another. `ended`: nothing follows the text."""
        if not self._touches(text):
            return []
        merged: list[tuple[int, int]] = []
        for start in range(len(text) - _HEAD + 1):
            forms = self._by_head.get(text[start : start + _HEAD])
            end = max((_reach(form, text, start, ended=ended) for form in forms), default=start) if forms else start
            if end == start:
                continue
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def _touches(self, text: str) -> bool:
        """Whether anything in `text` begins as a value does: nearly always not, and then nothing else is done."""
        if len(self._by_head) <= _FEW_HEADS:
            return any(head in text for head in self._by_head)
        return not self._by_head.keys().isdisjoint(
            text[place : place + _HEAD] for place in range(len(text) - _HEAD + 1)
        )

    def settled(self, text: str) -> int:
        """How much of `text` can hold no value that is still incomplete at its end."""
        longest = len(self._forms[0]) if self._forms else 1
        for place in range(max(0, len(text) - longest - _DOTS + 1), len(text)):
            tail = text[place:]
            if any(_may_become(form, tail) for form in self._by_first.get(tail[0], ())):
                return place
        return len(text)

    def _structure(self, value: object, depth: int) -> object:
        if depth > _DEEPEST:
            return MASK
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            pairs = cast("Mapping[object, object]", value).items()
            return {self.text(str(key)): self._structure(inner, depth + 1) for key, inner in pairs}
        if isinstance(value, list | tuple):
            return [self._structure(inner, depth + 1) for inner in cast("Sequence[object]", value)]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return MASK if self.spans(str(value)) else value
        return value


def _reach(form: str, text: str, start: int, *, ended: bool) -> int:
    """Where `form` ends, or is cut off, if it begins in `text` at `start`; else `start`."""
    if text.startswith(form, start):
        return start + len(form)
    if not text.startswith(form[:_TELLING], start) or len(form) <= _TELLING:
        return start
    longest = min(len(form), len(text) - start)
    end = start + next((place for place in range(longest) if form[place] != text[start + place]), longest)
    if ended and end == len(text):
        return end
    # Dots of the value itself may be those of the ellipsis.
    ends = range(end, max(start + _TELLING, end - _DOTS + 1) - 1, -1)
    return next((each for each in ends if text.startswith(_CUT, each)), start)


def _may_become(form: str, tail: str) -> bool:
    """Whether what follows may make `tail` a value, or one that is cut off by an ellipsis."""
    dots = min(len(tail) - len(tail.rstrip(".")), _DOTS - 1)
    begun = [len(tail), *(length for length in range(len(tail) - dots, len(tail)) if length >= _TELLING)]
    return any(length < len(form) and form.startswith(tail[:length]) for length in begun)


class ScrubStream:
    """Scrubs text that arrives in pieces; a value split over pieces is found as well.

    Together the results equal the scrubbed whole. It holds back no more than what may be the beginning of a value.
    """

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._rest = ""
        self._masked = 0
        """Characters at the front of the rest that belong to a mask already written."""

    def feed(self, piece: str) -> str:
        """What can be said for sure after `piece`."""
        self._rest += piece
        return self._release(self._scrubber.settled(self._rest))

    def close(self) -> str:
        """What was held back. The stream is as new afterwards."""
        released = self._release(len(self._rest), ended=True)
        self._masked = 0
        return released

    def _release(self, settled: int, *, ended: bool = False) -> str:
        parts: list[str] = []
        place = self._masked
        for start, end in self._scrubber.spans(self._rest, ended=ended):
            if start >= settled:
                break
            if start >= place:
                parts += (self._rest[place:start], MASK)
            place = max(place, end)
        parts.append(self._rest[place:settled])
        self._masked = max(0, place - settled)
        self._rest = self._rest[settled:]
        return "".join(parts)
