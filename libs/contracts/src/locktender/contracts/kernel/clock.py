"""The two clocks. Rows ask the database; processes ask a `Clock`."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The clock of a process, injected so that tests need not wait.

    It never decides who owns a row: leases and deadlines are compared by the database's clock alone.
    """

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back. Only differences mean anything."""
        ...

    def now(self) -> datetime:
        """Wall time in UTC, for stamps that people read. Never for a decision."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of this clock."""
        ...
