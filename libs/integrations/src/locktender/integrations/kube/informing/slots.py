"""A bound on how many watches a process has at once."""

from collections.abc import Generator
from contextlib import contextmanager


class Slots:
    """Counts what is in use. Nobody waits: whoever gets no slot does without."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.used = 0

    @contextmanager
    def slot(self, *, wanted: bool = True) -> Generator[bool]:
        """Whether there was a slot for who wants one; it is taken for as long as the block lasts."""
        taken = wanted and self.used < self._limit
        self.used += taken
        try:
            yield taken
        finally:
            self.used -= taken
