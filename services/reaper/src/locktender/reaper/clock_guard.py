"""Doubt about the database's clock: after a jump, deadlines have passed that nobody had a chance to keep."""

from datetime import datetime

import structlog

_log = structlog.stdlib.get_logger(__name__)


class ClockGuard:
    """Compares the database's clock with the monotonic one of this process, sweep by sweep.

    When the two drift apart between two sweeps by more than a lease lives, every lease may look expired although its
    holder is well. Then nothing is judged for `hold` seconds, in which holders renew; after that the new time is
    taken for true.
    """

    def __init__(self, *, tolerance: float, hold: float) -> None:
        self._tolerance = tolerance
        self._hold = hold
        self._last: tuple[datetime, float] | None = None
        self._until = float("-inf")

    def trusts(self, database_now: datetime, monotonic: float) -> bool:
        """Whether deadlines may be judged now. Call it before each sweep."""
        last, self._last = self._last, (database_now, monotonic)
        if last is not None:
            jump = (database_now - last[0]).total_seconds() - (monotonic - last[1])
            if abs(jump) > self._tolerance:
                self._until = monotonic + self._hold
                _log.error("the database clock has jumped, no deadline is judged for now", seconds=round(jump, 3))
        return monotonic >= self._until
