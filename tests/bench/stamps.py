"""Moments that another process noted: one `word number` line each, whole lines only, readable while it writes."""

import os
import time
from pathlib import Path

STAMPS = "LOCKTENDER_BENCH_STAMPS"
"""The file that a measured process writes."""


class Stamps:
    """The writing side; silent where no file is named."""

    def __init__(self) -> None:
        path = os.environ.get(STAMPS)
        self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def now(self, word: str) -> None:
        """Note this moment."""
        self.note(word, time.monotonic_ns())

    def note(self, word: str, number: int) -> None:
        """Note a number."""
        if self._file is not None:
            os.write(self._file, f"{word} {number}\n".encode())


def read(path: Path) -> list[tuple[str, int]]:
    """What was noted so far."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(word, int(number)) for word, number in (line.split() for line in lines)]
