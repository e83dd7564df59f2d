"""One pass after the other over everything that waits."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.contracts.kernel.faults import FaultPoints
from locktender.reaper.clock_guard import ClockGuard
from locktender.reaper.sweeps import Sweep
from locktender.storage.stacks.sweeping import Mended

_log = structlog.stdlib.get_logger(__name__)

_ROUNDS = 50
"""Statements of one sweep in one pass, at most; what is left comes in the next pass, which then follows at once."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass did.

    Attributes:
        moved: rows by sweep, only where there were any.
        failed: sweeps that raised, with the reason. They run again in the next pass.
        more: whether a sweep ended before its work did.
        held: the database's clock is in doubt, so nothing was judged from then on.
    """

    moved: dict[str, int] = field(default_factory=dict[str, int])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    more: bool = False
    held: bool = False


class Reaper:
    """Runs passes, never two at a time. The error of one sweep never stops the others.

    Args:
        moved: called after every statement that moved rows, so that the outbox is looked at.
        healthy_seconds: how old the last complete pass may be.
    """

    def __init__(
        self,
        sweeps: Sequence[Sweep],
        guard: ClockGuard,
        database_now: Callable[[], Awaitable[datetime]],
        clock: Clock,
        faults: FaultPoints,
        *,
        moved: Callable[[], None],
        healthy_seconds: float,
    ) -> None:
        self._sweeps = sweeps
        self._guard = guard
        self._database_now = database_now
        self._clock = clock
        self._faults = faults
        self._moved = moved
        self._healthy_seconds = healthy_seconds
        self._turn = asyncio.Lock()
        self._completed_at: float | None = None
        self.totals: dict[str, int] = {}
        """Rows by sweep since the start of this process."""

    async def sweep(self) -> Pass:
        """One pass.

        Raises:
            Unavailable: the database does not tell the time.
        """
        async with self._turn:
            moved: dict[str, int] = {}
            failed: dict[str, str] = {}
            more = False
            for sweep in self._sweeps:
                # Asked again for each: a clock that jumps in the middle of a pass must not judge the rest of it.
                if not self._guard.trusts(await self._database_now(), self._clock.monotonic()):
                    return Pass(moved, failed, more, held=True)
                try:
                    count, unfinished = await self._exhaust(sweep)
                except LocktenderError as error:
                    failed[sweep.name] = str(error)
                    _log.warning("sweep failed", sweep=sweep.name, reason=str(error))
                except Exception as error:  # noqa: BLE001 - one sweep must not stop the others
                    failed[sweep.name] = type(error).__name__
                    _log.exception("sweep failed unexpectedly", sweep=sweep.name)
                else:
                    moved |= {sweep.name: count} if count else {}
                    more = more or unfinished
            if not failed:
                self._completed_at = self._clock.monotonic()
            return Pass(moved, failed, more)

    async def round(self) -> bool:
        """One pass of the loop. True: there is more to do at once."""
        return (await self.sweep()).more

    def idle_seconds(self) -> float | None:
        """How long ago the last complete pass ended; None before the first."""
        return None if self._completed_at is None else self._clock.monotonic() - self._completed_at

    async def check(self) -> None:
        """A health check.

        Raises:
            Unavailable: no pass was complete for too long.
        """
        idle = self.idle_seconds()
        if idle is None or idle > self._healthy_seconds:
            raise Unavailable("no complete pass of the reaper for too long; the log says which sweeps fail")

    async def _exhaust(self, sweep: Sweep) -> tuple[int, bool]:
        """Run one sweep until it finds less than it might take: how many rows, and whether there are more."""
        total = 0
        for _ in range(_ROUNDS):
            await self._faults.reach("reaper.before-sweep")
            found = await sweep.run(sweep.limit)
            await self._faults.reach("reaper.after-sweep")
            count = found if isinstance(found, int) else len(found)
            if count:
                self._note(sweep, found, count)
                total += count
            if count < sweep.limit:
                return total, False
        return total, True

    def _note(self, sweep: Sweep, found: Sequence[object] | int, count: int) -> None:
        self._moved()
        self.totals[sweep.name] = self.totals.get(sweep.name, 0) + count
        if isinstance(found, int) or not (sweep.verdict or sweep.defect):
            _log.info("swept", sweep=sweep.name, rows=count)
            return
        for row in found:
            if sweep.defect:
                _log.error("a defect was repaired", defect=sweep.name, **_named(row))
            else:
                _log.warning("verdict", reason=sweep.name, **_named(row))


def _named(row: object) -> dict[str, object]:
    """What the log says of a row."""
    if isinstance(row, Mended):
        return {"row": str(row.id), "stack": str(row.stack_id), **row.facts}
    return {"task": str(row)}
