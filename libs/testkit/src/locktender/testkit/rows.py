"""Factories of rows. A test states what matters to it; the rest is plausible and satisfies every constraint."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from locktender.contracts.cleanup.flow import CLEANUP_JOB, JobKind, JobStatus
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskPhase, TaskStatus
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Epoch, Lease, Owner
from locktender.storage.deployments.create import NewTask
from locktender.storage.deployments.writes import Claimed, Told
from locktender.testkit.database import TestDatabase

OWNER = Owner("runner-1/0123456789ab")
SOURCE = '{"kind": "noop"}'
TIMELINE = '{"revision": 0, "steps": [], "cards": []}'
FAILURE = '{"reason": "runner-error", "message": "it failed"}'
ASKED = '{"inputs": [{"key": "hostname", "required": true}], "code": "missing", "message": "a value is needed"}'
TTL = 60.0


def new_task(**stated: Any) -> NewTask:
    """A task to be created."""
    plausible: dict[str, object] = {
        "id": new_id(), "workspace": "acme", "project": "shop", "namespace": None, "server": None,
        "display_name": "shop", "created_by": "ada", "created_from": "cli", "runner": "noop",
        "source": SOURCE, "timeline": TIMELINE, "custodian": None, "idempotency_key": None,
        "request_digest": b"digest", "message": "created", "payload": "{}", "trace": "{}",
    }  # fmt: skip
    return NewTask(**(plausible | stated))  # pyright: ignore[reportArgumentType]  # the caller's own claim


def told(message: str = "it moved", **stated: str) -> Told:
    """What a transition tells."""
    return Told(message, **stated)


async def created(db: TestDatabase, **stated: Any) -> UUID:
    """A queued task, made as the API makes it."""
    task = new_task(**stated)
    assert await db.writes.create(task)
    return task.id


async def claimed(db: TestDatabase, *, owner: Owner = OWNER, ttl: float = TTL, **stated: Any) -> Claimed:
    """A running task, made and claimed by legal transitions."""
    task = await created(db, **stated)
    [claim] = await db.writes.claim([task], owner, ttl)
    return claim


async def applying(db: TestDatabase, *, owner: Owner = OWNER, ttl: float = TTL, **stated: Any) -> Lease:
    """An applying task, reached by legal transitions."""
    lease = (await claimed(db, owner=owner, ttl=ttl, **stated)).lease
    await db.writes.begin_applying(lease, told(), timeline=TIMELINE)
    return lease


async def completed(db: TestDatabase, **stated: Any) -> UUID:
    """A completed task, reached by legal transitions."""
    lease = await applying(db, **stated)
    await db.writes.complete(lease, told(), timeline=TIMELINE)
    return lease.row_id


async def blocked(db: TestDatabase, **stated: Any) -> UUID:
    """A task that waits for inputs, reached by legal transitions."""
    lease = (await claimed(db, **stated)).lease
    await db.writes.request_inputs(lease, told(), timeline=TIMELINE, asked=ASKED)
    return lease.row_id


async def failed(db: TestDatabase, **stated: Any) -> UUID:
    """A failed task, reached by legal transitions."""
    lease = (await claimed(db, **stated)).lease
    await db.writes.fail(lease, told(), timeline=TIMELINE, failure=FAILURE)
    return lease.row_id


async def task(
    db: TestDatabase, *, status: TaskStatus = TaskStatus.QUEUED, epoch: int = 0, ttl: float = TTL, **columns: object
) -> Lease:
    """A task planted in any state at any epoch, with neither events nor outbox rows.

    Returns the lease that its epoch gives, whether or not anybody holds it.
    """
    now = await db.now()
    live, over = status in DEPLOYMENT_TASK.leased, status in DEPLOYMENT_TASK.terminal
    plausible: dict[str, object] = {
        "id": new_id(), "workspace": "acme", "project": "shop", "display_name": "shop", "created_by": "ada",
        "created_from": "cli", "runner": "noop", "source": SOURCE, "timeline": TIMELINE, "request_digest": b"digest",
        "status": status, "phase": TaskPhase.QUEUED, "lease_epoch": epoch, "hinted_at": now,
        "lease_owner": OWNER if live else None,
        "lease_claimed_at": now if epoch else None,
        "lease_expires_at": now + timedelta(seconds=ttl) if live else None,
        "completed_at": now if over else None,
        "failure": FAILURE if status is TaskStatus.FAILED else None,
        "asked": ASKED if status is TaskStatus.BLOCKED else None,
    }  # fmt: skip
    return await _planted(db, "deployment_task", plausible | columns, epoch)


async def job(
    db: TestDatabase, *, status: JobStatus = JobStatus.PENDING, epoch: int = 0, ttl: float = TTL, **columns: object
) -> Lease:
    """A cleanup job planted in any state at any epoch; its subject need not exist."""
    now = await db.now()
    live, over = status in CLEANUP_JOB.leased, status in CLEANUP_JOB.terminal
    plausible: dict[str, object] = {
        "id": new_id(), "kind": JobKind.RETENTION, "workspace": "acme", "subject_id": new_id(), "generation": 1,
        "status": status, "lease_epoch": epoch,
        "lease_owner": OWNER if live else None,
        "lease_claimed_at": now if epoch else None,
        "lease_expires_at": now + timedelta(seconds=ttl) if live else None,
        "completed_at": now if over else None,
    }  # fmt: skip
    return await _planted(db, "cleanup_job", plausible | columns, epoch)


async def _planted(db: TestDatabase, table: str, columns: dict[str, object], epoch: int) -> Lease:
    names = ", ".join(columns)
    places = ", ".join(f"${place}" for place in range(1, len(columns) + 1))
    async with db.unguarded() as connection:
        row = await connection.fetchval(
            f"insert into locktender.{table} ({names}) values ({places}) returning id",  # noqa: S608 - names of ours
            *columns.values(),
        )
    return Lease(row, OWNER, Epoch(epoch))
