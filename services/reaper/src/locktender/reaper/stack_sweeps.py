"""The sweeps over stacks: what time does to their work, and what compares the things that must agree."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from uuid import UUID

import structlog

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.reaper.sweeps import Sweep
from locktender.storage.kernel.database import Database
from locktender.storage.stacks.reconcile import reconcilers
from locktender.storage.stacks.sweeping import Mended, RowSweep
from locktender.storage.stacks.sweeps import forget_runners, hint_runs, row_sweeps

_log = structlog.stdlib.get_logger(__name__)


def stack_sweeps(
    database: Database, deadlines: StackDeadlines, clock: Clock, *, limit: int, hints: int, reconcile: float
) -> tuple[Sweep, ...]:
    """All of them. Those that look for defects read every stack, so they run every `reconcile` seconds only."""
    verdicts = [Sweep(each.name, partial(_run, database, each), limit, verdict=True) for each in row_sweeps(deadlines)]
    repairs = [
        Sweep(each.name, Paced(partial(_run, database, each), clock, reconcile), limit, defect=True)
        for each in reconcilers()
    ]
    return (
        *verdicts,
        Sweep("hint-runs", lambda rows: hint_runs(database, rows, deadlines.hint), hints),
        Sweep("forget-runners", lambda rows: forget_runners(database, rows, deadlines.assignment), limit),
        *repairs,
    )


class Paced:
    """A sweep that is not worth running in every pass. A first one, and what a full batch leaves, come at once."""

    def __init__(self, run: Callable[[int], Awaitable[Sequence[object]]], clock: Clock, seconds: float) -> None:
        self._run = run
        self._clock = clock
        self._seconds = seconds
        self._next = float("-inf")

    async def __call__(self, limit: int) -> Sequence[object]:
        """Run it, or do nothing where it is too early."""
        if self._clock.monotonic() < self._next:
            return ()
        found = await self._run(limit)
        if len(found) < limit:
            self._next = self._clock.monotonic() + self._seconds
        return found


async def _run(database: Database, sweep: RowSweep, limit: int) -> Sequence[Mended]:
    def failed(row: UUID, error: Exception) -> None:
        # What we raise on purpose says what was wrong; of anything else the trace is needed.
        _log.error(
            "a row could not be swept", sweep=sweep.name, row=str(row), reason=str(error) or type(error).__name__,
            exc_info=None if isinstance(error, LocktenderError) else error,
        )  # fmt: skip

    return await sweep.run(database, limit, failed=failed)
