"""Every write to deployment tasks. One method a transition; a lease is what a fenced one takes."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.lease import Epoch, Lease, Owner
from locktender.storage.deployments import transitions
from locktender.storage.deployments.create import CREATE, CREATE_COLUMNS, NewTask
from locktender.storage.deployments.plans import record_plan
from locktender.storage.kernel.batching import Batcher
from locktender.storage.kernel.coalescer import Coalescer
from locktender.storage.kernel.database import Database, OutcomeUnknown, Row
from locktender.storage.kernel.statement import Statement

ACTIVE_SUCCESSOR = "uq_deployment_task_active_successor"
"""The rule that a task is redeployed by one task at a time."""


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
    """A task whose lease the caller now holds. `source`, `timeline`, `identity` and `asked` are JSON texts.

    Attributes:
        identity: what a predecessor has named, for this run to use again.
        asked: what was asked for before this run, if it goes on with submitted inputs; None for a first run.
    """

    lease: Lease
    workspace: str
    project: str
    namespace: str | None
    runner: str
    source: str
    timeline: str
    custodian: str | None
    identity: str | None = None
    asked: str | None = None


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
        self._allocate = Coalescer(database, transitions.ALLOCATE)
        self._clean_up = Coalescer(database, transitions.CLEAN_UP)
        self._request_inputs = Coalescer(database, transitions.REQUEST_INPUTS)
        self._submit_input = Coalescer(database, transitions.SUBMIT_INPUT)
        self._place = Coalescer(database, transitions.PLACE)
        self._place_if_empty = Coalescer(database, transitions.PLACE_IF_EMPTY)
        self._begin_applying = Coalescer(database, transitions.BEGIN_APPLYING)
        self._complete = Coalescer(database, transitions.COMPLETE)
        self._fail = Coalescer(database, transitions.FAIL)
        self._acknowledge_cancel = Coalescer(database, transitions.ACKNOWLEDGE_CANCEL)
        self._cancel = Coalescer(database, transitions.CANCEL)
        self._request_cancel = Coalescer(database, transitions.REQUEST_CANCEL)

    async def create(self, task: NewTask) -> datetime | None:
        """Insert a queued task with its event and command; when it was made.

        None: its idempotency key is taken, or its predecessor is not there to be redeployed.

        Raises:
            Conflict: another uniqueness rule was hit; `ACTIVE_SUCCESSOR` says that the predecessor is being redeployed.
            OutcomeUnknown: the database went away; read by id before trying again.
        """
        row = await self._create.write(task.id, **task.columns())
        return None if row is None else row["created_at"]

    async def claim(self, ids: Iterable[UUID], owner: Owner, ttl: float) -> list[Claimed]:
        """Take the lease of each task among `ids` that is queued, or blocked with its inputs submitted.

        What is not in the answer was not there to take.

        Raises:
            OutcomeUnknown: the database went away; `claimed` tells what this call has taken.
        """
        wanted = list(dict.fromkeys(ids))
        taken = await self._taken(transitions.CLAIM.statement, wanted, owner, ttl, "a runner has taken the task")
        found = {claimed.lease.row_id for claimed in taken}
        # Nearly always nothing is left, and then this costs nothing.
        parked = [row_id for row_id in wanted if row_id not in found]
        if parked:
            words = "a runner has taken the inputs and goes on"
            try:
                taken += await self._taken(transitions.RESUME.statement, parked, owner, ttl, words)
            except OutcomeUnknown:
                raise
            except Unavailable:
                # What is taken must be carried out; the others get another hint.
                if not taken:
                    raise
        return taken

    async def _taken(
        self, statement: Statement, ids: list[UUID], owner: Owner, ttl: float, words: str
    ) -> list[Claimed]:
        told = Told(words, payload=json.dumps({"owner": owner})).columns()
        repeated = {name: [value] * len(ids) for name, value in told.items()}
        rows = await self._database.fetch(statement, id=ids, owner=owner, ttl=ttl, **repeated)
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

    async def allocate(self, lease: Lease, told: Told, *, identity: str, timeline: str) -> Moved:
        """Keep what the run has named (JSON text), before anything is applied under that name."""
        return await _fenced(self._allocate, lease, told, identity=identity, timeline=timeline)

    async def clean_up(self, lease: Lease, told: Told, *, timeline: str) -> Moved:
        """Note that the run removes what it has made."""
        return await _fenced(self._clean_up, lease, told, timeline=timeline)

    async def request_inputs(self, lease: Lease, told: Told, *, timeline: str, asked: str) -> Moved:
        """Running → blocked, for at least one input. WrongState when a cancel was asked for first."""
        return await _fenced(self._request_inputs, lease, told, timeline=timeline, asked=asked)

    async def submit_input(self, task_id: UUID, by: str, custodian: str, told: Told) -> Moved:
        """Note on a blocked task that its inputs wait with `custodian`, and call a runner.

        WrongState when it is not blocked, or inputs wait already.
        """
        row = await self._submit_input.write(id=task_id, resume_requested_by=by, custodian=custodian, **told.columns())
        return _moved(row)

    async def place(self, task_id: UUID, told: Told, *, canvas: str | None, only_if_empty: bool = False) -> Moved:
        """Keep where a canvas shows the task (JSON text; None: nowhere).

        WrongState when it is over, or not empty and should be.
        """
        write = self._place_if_empty if only_if_empty else self._place
        return _moved(await write.write(id=task_id, canvas=canvas, **told.columns()))

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
        return await self._swept(transitions.HINT, limit, patience)

    async def hint_resume(self, limit: int, patience: float) -> list[UUID]:
        """The same for blocked tasks whose inputs were submitted."""
        return await self._swept(transitions.HINT_RESUME, limit, patience)

    async def withdraw_input(self, limit: int, patience: float) -> list[UUID]:
        """Ask again for inputs that no runner took within `patience` seconds."""
        return await self._swept(transitions.WITHDRAW_INPUT, limit, patience)

    async def _swept(self, statement: Statement, limit: int, patience: float) -> list[UUID]:
        rows = await self._database.fetch(statement, limit=limit, patience=patience)
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
        identity=row["identity"],
        asked=row["asked"],
    )


def _renewed(lease: Lease, row: Row | None) -> Renewed:
    asked = row is not None and row["cancel_requested_at"] is not None
    return Renewed(lease.row_id, lease.epoch, held=row is not None, cancel_requested=asked)
