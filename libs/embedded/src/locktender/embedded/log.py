"""The log file of one child, bounded in size although the child writes to it by itself."""

import os
import shutil
from pathlib import Path


class ChildLog:
    """A file that a child appends to, kept below about twice `limit` bytes (the file and one older copy).

    The bound is enforced at the start and whenever `trim` is called; between two calls the file may grow.
    Lines written in the very moment of a trim can be lost.
    """

    def __init__(self, path: Path, limit: int = 4 * 1024 * 1024) -> None:
        self.path = path
        self._limit = limit
        self._since = 0

    def open(self) -> int:
        """A descriptor for the child's output. What was there before does not count as its own output."""
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.trim()
        self._since = os.fstat(handle).st_size
        return handle

    def trim(self) -> None:
        """Move the content to `<name>.1` when it is over the limit.

        The file is copied and truncated, because the child keeps its own descriptor in append mode.
        """
        if self.path.stat().st_size > self._limit:
            shutil.copyfile(self.path, self.path.with_name(self.path.name + ".1"))
            os.truncate(self.path, 0)
            self._since = 0

    def tail(self, lines: int = 12) -> str:
        """The last lines that the child wrote since it was started."""
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(min(self._since, size), size - 64 * 1024))
            text = file.read().decode("utf-8", "replace")
        return "\n".join(text.splitlines()[-lines:])
