"""Tasks brought to their end, and beyond it, as the services do it."""

from collections.abc import Sequence
from uuid import UUID

from locktender.contracts.kernel.lease import Lease
from locktender.storage.cleanup.writes import CleanupWrites
from locktender.storage.deployments.retention import Retention
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase


async def ended(db: TestDatabase, task_id: UUID, *, identity: str | None = None, timeline: str = rows.TIMELINE) -> UUID:
    """A queued task run to its failure, having named `identity` (JSON text) on its way."""
    writes = db.writes
    [claimed] = await writes.claim([task_id], rows.OWNER, rows.TTL)
    if identity is not None:
        await writes.allocate(claimed.lease, rows.told(), identity=identity, timeline=timeline)
    await writes.begin_applying(claimed.lease, rows.told(), timeline=timeline)
    await writes.fail(claimed.lease, rows.told(), timeline=timeline, failure=rows.FAILURE)
    return task_id


async def purge(db: TestDatabase, task_id: UUID) -> None:
    """What retention does to a task that is over."""
    removed = await Retention(db.database).remove(await purges(db, [task_id]))
    assert [each.outcome for each in removed] == ["removed"]


async def purges(db: TestDatabase, tasks: Sequence[UUID]) -> list[Lease]:
    """Claimed cleanup jobs for tasks that are over, in their order."""
    found: list[Lease] = []
    for task_id in tasks:
        revision = await db.admin.fetchval("select revision from locktender.deployment_task where id = $1", task_id)
        job = await rows.job(db, subject_id=task_id, generation=revision)
        [claimed] = await CleanupWrites(db.database).claim([job.row_id], rows.OWNER, rows.TTL)
        found.append(claimed.lease)
    return found
