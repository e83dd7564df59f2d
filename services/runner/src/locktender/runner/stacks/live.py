"""The runs of stacks in this process, from the take-over to the report."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.lease import Lease
from locktender.runtime.abort import Abort, AbortReason
from locktender.runtime.runs.port import HttpRunPort
from locktender.runtime.stop import Stop


class PortAbort(Abort):
    """Hands every reason on to the port of a run, also those that come after the first."""

    def __init__(self, port: HttpRunPort) -> None:
        super().__init__()
        self._port = port

    def trip(self, reason: AbortReason) -> None:
        """Give the signal."""
        super().trip(reason)
        match reason:
            case AbortReason.CANCELLED:
                self._port.cancel()
            case AbortReason.SUPERSEDED:
                self._port.lose()
            case AbortReason.SHUTDOWN | AbortReason.OVERRUN:
                self._port.interrupt()


@dataclass(frozen=True, slots=True, eq=False)
class LiveStackRun:
    """One run. `since` is the monotonic time at which it was asked for."""

    lease: Lease
    mode: str
    signal: Abort
    since: float


class LiveStackRuns:
    """Finds runs by id, and ends them when the process ends."""

    def __init__(self, *, clock: Clock, stop: Stop) -> None:
        self._clock = clock
        self._stop = stop
        self._runs: set[LiveStackRun] = set()

    def __iter__(self) -> Iterator[LiveStackRun]:
        return iter(tuple(self._runs))

    @contextmanager
    def holding(self, run: LiveStackRun) -> Generator[None]:
        """Count a run while the context is open. While the process stops, it is told so at once."""
        self._runs.add(run)
        if self._stop.requested:
            run.signal.trip(AbortReason.SHUTDOWN)
        try:
            yield
        finally:
            self._runs.discard(run)

    def of(self, run_id: UUID) -> tuple[LiveStackRun, ...]:
        """The live epochs of one run."""
        return tuple(run for run in self if run.lease.row_id == run_id)

    async def end_at_stop(self) -> None:
        """Wait for the stop, and have every run stop its tool."""
        await self._stop.wait()
        for run in self:
            run.signal.trip(AbortReason.SHUTDOWN)

    def status(self) -> list[dict[str, object]]:
        """Every run, oldest first, for operators."""
        now = self._clock.monotonic()
        return [
            {
                "id": str(run.lease.row_id),
                "epoch": run.lease.epoch,
                "runner": "stacks",
                "phase": run.mode,
                "aborting": run.signal.reason,
                "seconds": round(now - run.since, 3),
            }
            for run in sorted(self, key=lambda run: run.since)
        ]
