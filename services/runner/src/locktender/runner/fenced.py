"""Writing one leased row although the database may go away in the middle of it."""

import json
import random
from collections.abc import Awaitable, Callable

from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LeaseLost, NotFound, Unavailable, WrongState
from locktender.contracts.kernel.lease import Lease
from locktender.runner.executors.run import Superseded
from locktender.runtime.abort import Abort, AbortReason
from locktender.storage.deployments.reads import DeploymentReads, SnapshotRow
from locktender.storage.deployments.writes import Moved
from locktender.storage.kernel.database import OutcomeUnknown

PATIENCE = 30.0
"""Seconds for which one write is tried. The lease decides as well: without it nothing is tried at all."""

_PAUSE = Backoff(first=0.1, ceiling=2.0)
_TRIES = 100

Send = Callable[[], Awaitable[Moved]]
Landed = Callable[[SnapshotRow], bool]
"""Whether the row shows that the write took place. It is only asked about a row at our own epoch."""


def reached(status: TaskStatus) -> Landed:
    """The row stands in `status`. At an unbroken epoch nobody but the run itself can have brought it there."""
    return lambda row: row.task.status == status


def recorded(revision: int) -> Landed:
    """The row holds this revision of the run's timeline, or a later one."""
    return lambda row: int(json.loads(row.timeline).get("revision", 0)) >= revision


class FencedRow:
    """One row under one lease.

    Guaranteed: a write whose connection broke is not repeated blindly: the row is read first, and a write that turns
    out to have landed counts as done. A lease that is lost trips the abort with `SUPERSEDED`.
    """

    def __init__(
        self,
        lease: Lease,
        workspace: str,
        reads: DeploymentReads,
        *,
        signal: Abort,
        clock: Clock,
        wrote: Callable[[], None],
        patience: float = PATIENCE,
    ) -> None:
        self.lease = lease
        self._workspace = workspace
        self._reads = reads
        self._signal = signal
        self._clock = clock
        self._wrote = wrote
        self._patience = patience

    async def write(self, send: Send, landed: Landed) -> None:
        """Send until it is known what became of it.

        Raises:
            Superseded: the lease is lost; nothing of this write took place, or it no longer matters.
            WrongState: the row's own condition forbids the write.
            Unavailable: the database stayed away; the write may have taken place.
        """
        end, doubtful = self._clock.monotonic() + self._patience, False
        for attempt in range(1, _TRIES):
            self._check_lease()
            try:
                return await self._attempt(send, landed, doubtful=doubtful)
            except OutcomeUnknown:
                doubtful = True
            except Unavailable:
                pass
            except (LeaseLost, NotFound) as error:
                self._signal.trip(AbortReason.SUPERSEDED)
                raise Superseded("the run no longer owns its task") from error
            pause = _PAUSE.delay(attempt, random.random())  # noqa: S311 - spreads load
            if self._clock.monotonic() + pause >= end:
                break
            await self._clock.sleep(pause)
        raise Unavailable("the database does not answer, so the run cannot be recorded")

    async def _attempt(self, send: Send, landed: Landed, *, doubtful: bool) -> None:
        """One try; after a doubtful one it begins with a look at the row."""
        if doubtful and landed(await self._read()):
            return self._wrote()
        try:
            moved = await send()
        except WrongState:
            # Perhaps the doubtful write landed only after the look, and that is what refuses this one.
            if doubtful and landed(await self._read()):
                return self._wrote()
            raise
        self._wrote()
        if moved.cancel_requested:
            self._signal.trip(AbortReason.CANCELLED)
        return None

    def _check_lease(self) -> None:
        if self._signal.reason is AbortReason.SUPERSEDED:
            raise Superseded("the run no longer owns its task")

    async def _read(self) -> SnapshotRow:
        row = await self._reads.snapshot(self._workspace, self.lease.row_id)
        if row is None:
            raise NotFound("deployment task", self.lease.row_id)
        if row.task.lease_epoch != self.lease.epoch:
            raise LeaseLost(self.lease.row_id, self.lease.epoch, row.task.lease_epoch)
        return row
