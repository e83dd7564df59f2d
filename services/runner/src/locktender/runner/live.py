"""The runs of this process, from the claim to the outcome."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.lease import Lease
from locktender.runner.executors.registry import Registered
from locktender.runner.handle import LeasedHandle
from locktender.runtime.abort import Abort, AbortReason
from locktender.runtime.renewals import FENCE_AT
from locktender.runtime.stop import Stop
from locktender.storage.deployments.writes import Claimed


@dataclass(frozen=True, slots=True, eq=False)
class LiveRun:
    """One claimed run. `since` is the monotonic time at which its claim was sent."""

    claimed: Claimed
    kind: Registered | None
    signal: Abort
    handle: LeasedHandle
    since: float

    @property
    def lease(self) -> Lease:
        """The right to write the task."""
        return self.claimed.lease


class LiveRuns:
    """Finds runs by task, and ends those that are overdue or that the process can no longer finish."""

    def __init__(self, *, clock: Clock, stop: Stop, run_seconds: float, ttl: float) -> None:
        self._clock = clock
        self._stop = stop
        self._run_seconds = run_seconds
        self._unkept_seconds = ttl * FENCE_AT
        self._by_task: dict[UUID, list[LiveRun]] = {}

    def __iter__(self) -> Iterator[LiveRun]:
        return iter([run for runs in self._by_task.values() for run in runs])

    def add(self, run: LiveRun) -> None:
        """Count a run from now on. While the process stops, it is told so at once."""
        self._by_task.setdefault(run.lease.row_id, []).append(run)
        if self._stop.requested:
            run.signal.trip(AbortReason.SHUTDOWN)

    def remove(self, run: LiveRun) -> None:
        """Forget a run."""
        runs = self._by_task[run.lease.row_id]
        runs.remove(run)
        if not runs:
            del self._by_task[run.lease.row_id]

    def of(self, task_id: UUID) -> tuple[LiveRun, ...]:
        """The runs of one task; more than one while an earlier epoch still winds down."""
        return tuple(self._by_task.get(task_id, ()))

    async def end_overdue(self) -> bool:
        """Abort what has run for too long, by this process's own clock. Says whether there was any."""
        now = self._clock.monotonic()
        overdue = [run for run in self if not run.signal.tripped and now - run.since >= self._run_seconds]
        unkept = [run for run in self if not _kept(run) and now - run.since >= self._unkept_seconds]
        for run in overdue:
            run.signal.trip(AbortReason.OVERRUN)
        for run in unkept:
            # Nobody renews it, so it may be somebody else's by now.
            run.signal.trip(AbortReason.SUPERSEDED)
        return bool(overdue or unkept)

    async def end_at_stop(self) -> None:
        """Wait for the end of the process and abort every run."""
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
                "runner": run.claimed.runner,
                "phase": run.handle.phase,
                "aborting": run.signal.reason,
                "seconds": round(now - run.since, 3),
            }
            for run in sorted(self, key=lambda run: run.since)
        ]


def _kept(run: LiveRun) -> bool:
    return run.kind is None or run.kind.kept
