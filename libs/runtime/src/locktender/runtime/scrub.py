"""Taking known secret values out of text and JSON, in every form in which they may turn up."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from locktender.runtime.spellings import spellings

MASK = "[withheld]"
_DEEPEST = 200


class Scrubber:
    """Replaces every known value by `[withheld]`.

    Guaranteed: no value of four or more characters remains, raw, escaped for JSON, as base64 (at any offset inside
    a longer encoded text) or URL-encoded. Overlapping values leave no part behind. Not guaranteed: values of fewer
    than four characters are left alone, because replacing them would ruin any text, and so are other encodings
    (hex, compression); `SensitiveKeys` keeps the first away from text, and nothing here encodes like the second.
    """

    def __init__(self, values: Iterable[str | bytes]) -> None:
        forms = {form for value in values for form in spellings(value)}
        self._forms = tuple(sorted(forms, key=len, reverse=True))
        # A lookahead finds overlapping values; longest first, so that each place yields its widest match.
        self._any = re.compile(f"(?=({'|'.join(map(re.escape, self._forms))}))") if self._forms else None
        self._by_first: dict[str, list[str]] = defaultdict(list)
        for form in self._forms:
            self._by_first[form[0]].append(form)

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

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where known values stand in `text`: in order, apart from one another."""
        merged: list[tuple[int, int]] = []
        # Plain searches first: they are far quicker than the pattern, and nearly always find nothing.
        if self._any is None or not any(form in text for form in self._forms):
            return merged
        for match in self._any.finditer(text):
            start, end = match.span(1)
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def settled(self, text: str) -> int:
        """How much of `text` can hold no value that is still incomplete at its end."""
        longest = len(self._forms[0]) if self._forms else 1
        for place in range(max(0, len(text) - longest + 1), len(text)):
            tail = text[place:]
            if any(len(form) > len(tail) and form.startswith(tail) for form in self._by_first.get(tail[0], ())):
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
        released = self._release(len(self._rest))
        self._masked = 0
        return released

    def _release(self, settled: int) -> str:
        parts: list[str] = []
        place = self._masked
        for start, end in self._scrubber.spans(self._rest):
            if start >= settled:
                break
            if start >= place:
                parts += (self._rest[place:start], MASK)
            place = max(place, end)
        parts.append(self._rest[place:settled])
        self._masked = max(0, place - settled)
        self._rest = self._rest[settled:]
        return "".join(parts)
