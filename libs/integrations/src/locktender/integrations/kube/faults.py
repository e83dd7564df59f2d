"""Collecting what is wrong with an input, so that one answer names every fault."""

from collections.abc import Iterable

from locktender.contracts.kernel.errors import Finding, Pointer, Rejected


class TooManyFindings(Exception):
    """Reading stops here; what was found so far is the answer."""


class Findings:
    """The faults of one input of `lines` lines, all under one pointer, at most `limit` of them."""

    def __init__(self, pointer: str, limit: int, lines: int) -> None:
        self._pointer = Pointer(pointer)
        self._limit = limit
        self._lines = lines
        self._found: list[Finding] = []

    def add(self, code: str, message: str, *, line: int | None = None) -> None:
        """Record one fault. Raises `TooManyFindings` once the limit is reached."""
        # What is missing at the very end begins, for a reader, on the line after it.
        place = f"line {min(line, self._lines)}: " if line is not None else ""
        self._found.append(Finding(self._pointer, f"{place}{message}", code))
        if len(self._found) >= self._limit:
            raise TooManyFindings

    def __len__(self) -> int:
        return len(self._found)

    def rejected(self) -> Rejected:
        """The refusal that carries everything found."""
        return Rejected(self._found)


def shown(text: str, limit: int = 60) -> str:
    """`text` for a message: printable, on one line, and short."""
    clean = "".join(c if c.isprintable() else "?" for c in text[: limit + 1])
    return clean if len(text) <= limit else f"{clean[:limit]}..."


def path_of(steps: Iterable[str | int]) -> str:
    """Steps into an object for a message, such as `spec.containers[0].env[1].value`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{shown(step)}" for step in steps).removeprefix(".")
