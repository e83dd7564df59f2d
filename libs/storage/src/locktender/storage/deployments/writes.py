"""Every write to deployment tasks. One method a transition; a lease is what a fenced one takes."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.kernel.lease import Epoch, Lease, Owner
from locktender.storage.deployments import transitions
from locktender.storage.deployments.create import CREATE, CREATE_COLUMNS, NewTask
from locktender.storage.deployments.plans import record_plan
from locktender.storage.kernel.batching import Batcher
from locktender.storage.kernel.coalescer import Coalescer
from locktender.storage.kernel.database import Database, Row


@dataclass(frozen=True, slots=True)
class Told:
    """What a transition tells: one line for people, and a JSON text. Neither holds a secret."""

    message: str
    payload: str = "{}"
    actor: str = "runner"
    trace: str = "{}"

    def columns(self) -> dict[str, object]:
        """The arguments of the event part of a guarded write."""
        return {"message": self.message, "payload": self.payload, "actor": self.actor, "trace": self.trace}


@dataclass(frozen=True, slots=True)
class Moved:
    """A row as a transition left it."""

    id: UUID
    status: str
    epoch: Epoch
    revision: int
    cancel_requested: bool


@dataclass(frozen=True, slots=True)
class Claimed:
    """A task whose lease the caller now holds. `source` and `timeline` are JSON texts."""

    lease: Lease
    workspace: str
    project: str
    namespace: str | None
    runner: str
    source: str
    timeline: str
    custodian: str | None


@dataclass(frozen=True, slots=True)
class Renewed:
    """The answer to one renewal: still held or not, and whether somebody asked for a cancel."""

    row_id: UUID
    epoch: int
    held: bool
    cancel_requested: bool


class DeploymentWrites:
    """The writes of the deployments context over one database.

    Raises of every single transition: NotFound, WrongState, LeaseLost, OutcomeUnknown (see `Coalescer.write`).
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._create = Batcher(database, CREATE, CREATE_COLUMNS)
        self._record = Coalescer(database, transitions.RECORD)
        self._begin_applying = Coalescer(database, transitions.BEGIN_APPLYING)
        self._complete = Coalescer(database, transitions.COMPLETE)
        self._fail = Coalescer(database, transitions.FAIL)
        self._acknowledge_cancel = Coalescer(database, transitions.ACKNOWLEDGE_CANCEL)
        self._cancel = Coalescer(database, transitions.CANCEL)
        self._request_cancel = Coalescer(database, transitions.REQUEST_CANCEL)

    async def create(self, task: NewTask) -> datetime | None:
        """Insert a queued task with its event and command; when it was made. None: its idempotency key is taken.

        Raises:
            Conflict: another uniqueness rule was hit.
            OutcomeUnknown: the database went away; read by id before trying again.
        """
        row = await self._create.write(task.id, **task.columns())
        return None if row is None else row["created_at"]

    async def claim(self, ids: Iterable[UUID], owner: Owner, ttl: float) -> list[Claimed]:
        """Take the lease of each queued task among `ids`. What is not in the answer was not there to take.

        Raises:
            OutcomeUnknown: the database went away; `claimed` tells what this call has taken.
        """
        wanted = list(dict.fromkeys(ids))
        told = Told("a runner has taken the task", payload=json.dumps({"owner": owner})).columns()
        rows = await self._database.fetch(
            transitions.CLAIM.statement,
            id=wanted,
            owner=owner,
            ttl=ttl,
            **{name: [value] * len(wanted) for name, value in told.items()},
        )
        return [_claimed(row, owner) for row in rows]

    async def claimed(self, ids: Iterable[UUID], owner: Owner, since: float) -> list[Claimed]:
        """Which of these tasks `owner` has claimed in the last `since` seconds, and does not yet apply."""
        rows = await self._database.fetch(transitions.CLAIMED, id=list(dict.fromkeys(ids)), owner=owner, since=since)
        return [_claimed(row, owner) for row in rows]

    async def renew(self, leases: Sequence[Lease], ttl: float) -> list[Renewed]:
        """Move the deadline of every lease in one statement. Each lease is answered, in order."""
        rows = await self._database.fetch(
            transitions.RENEW.statement,
            id=[lease.row_id for lease in leases],
            epoch=[lease.epoch for lease in leases],
            ttl=ttl,
        )
        held = {(row["id"], row["lease_epoch"]): row for row in rows}
        return [_renewed(lease, held.get((lease.row_id, lease.epoch))) for lease in leases]

    async def record(self, lease: Lease, told: Told, *, phase: str, timeline: str) -> Moved:
        """Note progress on a live run."""
        return await _fenced(self._record, lease, told, phase=phase, timeline=timeline)

    async def record_plan(self, lease: Lease, plan: str) -> Moved:
        """Keep what a live run is going to do (JSON text, no secret in it). Safe to repeat."""
        return _moved(await record_plan(self._database, lease, plan))

    async def begin_applying(self, lease: Lease, told: Told, *, timeline: str) -> Moved:
        """Running → applying."""
        return await _fenced(self._begin_applying, lease, told, timeline=timeline)

    async def complete(self, lease: Lease, told: Told, *, timeline: str) -> Moved:
        """Applying → completed. WrongState when a cancel was asked for first: a cancel is never overwritten."""
        return await _fenced(self._complete, lease, told, timeline=timeline)

    async def fail(self, lease: Lease, told: Told, *, timeline: str, failure: str) -> Moved:
        """Running or applying → failed. WrongState when a cancel was asked for first."""
        return await _fenced(self._fail, lease, told, timeline=timeline, failure=failure)

    async def acknowledge_cancel(self, lease: Lease, told: Told, *, timeline: str) -> Moved:
        """Running or applying → cancelled."""
        return await _fenced(self._acknowledge_cancel, lease, told, timeline=timeline)

    async def cancel(self, task_id: UUID, by: str, told: Told) -> Moved:
        """Queued or blocked → cancelled."""
        return _moved(await self._cancel.write(id=task_id, cancel_requested_by=by, **told.columns()))

    async def request_cancel(self, task_id: UUID, by: str, told: Told) -> Moved:
        """Note on a live task that it should stop. WrongState when that was noted before."""
        return _moved(await self._request_cancel.write(id=task_id, cancel_requested_by=by, **told.columns()))

    async def sweep(self, reason: str, limit: int, patience: float | None = None) -> list[UUID]:
        """Run one of the reaper's verdicts over at most `limit` rows; `patience` in seconds where it has one."""
        values = {} if patience is None else {"patience": patience}
        rows = await self._database.fetch(transitions.SWEEPS[reason], limit=limit, **values)
        return [row["id"] for row in rows]

    async def hint(self, limit: int, patience: float) -> list[UUID]:
        """Send the command again for queued tasks whose last hint is older than `patience` seconds."""
        rows = await self._database.fetch(transitions.HINT, limit=limit, patience=patience)
        return [row["id"] for row in rows]


async def _fenced(coalescer: Coalescer[TaskStatus], lease: Lease, told: Told, **values: object) -> Moved:
    return _moved(await coalescer.write(id=lease.row_id, epoch=lease.epoch, **values, **told.columns()))


def _moved(row: Row) -> Moved:
    asked = row.get("cancel_requested_at") is not None
    return Moved(row["id"], row["status"], Epoch(row["lease_epoch"]), row["revision"], asked)


def _claimed(row: Row, owner: Owner) -> Claimed:
    return Claimed(
        lease=Lease(row["id"], owner, Epoch(row["lease_epoch"])),
        workspace=row["workspace"],
        project=row["project"],
        namespace=row["namespace"],
        runner=row["runner"],
        source=row["source"],
        timeline=row["timeline"],
        custodian=row["custodian"],
    )


def _renewed(lease: Lease, row: Row | None) -> Renewed:
    asked = row is not None and row["cancel_requested_at"] is not None
    return Renewed(lease.row_id, lease.epoch, held=row is not None, cancel_requested=asked)
