"""A task goes only when it is over, past its retention and exactly what the job saw; and it goes with proof."""

from uuid import UUID

import pytest

from locktender.contracts.cleanup.flow import JobStatus
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.contracts.kernel.lease import Epoch, Lease
from locktender.storage.cleanup.writes import CleanupWrites
from locktender.storage.deployments.retention import Retention
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase

_DAY = 86_400.0


async def _claimed_job(db: TestDatabase) -> Lease:
    """The lease of the one job that is due."""
    job = await db.admin.fetchval("select id from locktender.cleanup_job where status = 'pending'")
    [claim] = await CleanupWrites(db.database).claim([job], rows.OWNER, 60)
    return claim.lease


async def _tombstones(db: TestDatabase) -> list[tuple[str, int]]:
    told = await db.admin.fetch("select aggregate, revision from locktender.outbox where tombstone order by seq")
    return [(row["aggregate"], row["revision"]) for row in told]


async def _left(db: TestDatabase, task: UUID) -> tuple[int, int]:
    """(rows, events) that are left of a task."""
    row = await db.admin.fetchrow(
        "select (select count(*) from locktender.deployment_task where id = $1) a,"
        " (select count(*) from locktender.deployment_event where task_id = $1) b",
        task,
    )
    assert row is not None
    return row["a"], row["b"]


async def test_only_tasks_that_ended_long_enough_ago_get_a_job_and_each_gets_one(db: TestDatabase) -> None:
    retention = Retention(db.database)
    old = [await rows.completed(db), await rows.completed(db)]
    await rows.created(db)
    await rows.claimed(db)
    await db.advance(_DAY + 1)
    await rows.completed(db)
    assert await retention.schedule(1, _DAY) == 1
    assert await retention.schedule(100, _DAY) == 1
    assert await retention.schedule(100, _DAY) == 0
    subjects = await db.admin.fetch("select subject_id, generation from locktender.cleanup_job")
    assert {(row["subject_id"], row["generation"]) for row in subjects} == {(task, 4) for task in old}
    commands = "select count(*) from locktender.outbox where subject = 'lt.cmd.cleanup.retention'"
    assert await db.admin.fetchval(commands) == 2


async def test_a_task_goes_with_its_events_and_leaves_a_tombstone(db: TestDatabase) -> None:
    gone, stays = await rows.completed(db), await rows.completed(db)
    await db.advance(_DAY + 1)
    await Retention(db.database).schedule(1, _DAY)
    lease = await _claimed_job(db)
    [removal] = await Retention(db.database).remove([lease])
    assert (removal.job_id, removal.outcome) == (lease.row_id, "removed")
    assert await _left(db, gone) == (0, 0)
    assert await _left(db, stays) == (1, 4)
    assert await _tombstones(db) == [(str(gone), 5)]
    job = await db.admin.fetchrow("select status, outcome from locktender.cleanup_job")
    assert job is not None
    assert tuple(job) == ("done", '{"outcome": "removed"}')


async def test_a_task_that_changed_since_is_not_removed(db: TestDatabase) -> None:
    task = await rows.completed(db)
    await db.advance(_DAY + 1)
    await Retention(db.database).schedule(1, _DAY)
    async with db.unguarded() as superuser:
        await superuser.execute("update locktender.deployment_task set revision = 9 where id = $1", task)
    [removal] = await Retention(db.database).remove([await _claimed_job(db)])
    assert removal.outcome == "not-proven"
    assert await _left(db, task) == (1, 4)
    assert await _tombstones(db) == []


@pytest.mark.parametrize("status", sorted(DEPLOYMENT_TASK.active))
async def test_a_task_that_is_not_over_is_never_removed(db: TestDatabase, status: TaskStatus) -> None:
    task = await rows.task(db, status=status, epoch=1)
    job = await rows.job(db, status=JobStatus.RUNNING, epoch=1, subject_id=task.row_id, generation=1)
    [removal] = await Retention(db.database).remove([job])
    assert removal.outcome == "not-proven"
    assert await _left(db, task.row_id) == (1, 0)


async def test_a_task_that_is_gone_already_ends_the_job(db: TestDatabase) -> None:
    job = await rows.job(db, status=JobStatus.RUNNING, epoch=1)
    [removal] = await Retention(db.database).remove([job])
    assert removal.outcome == "already-gone"
    assert await Retention(db.database).remove([job]) == []


@pytest.mark.parametrize("epoch", [4, 5, 6])
@pytest.mark.parametrize("status", JobStatus)
async def test_only_the_present_holder_of_a_job_removes(module_db: TestDatabase, status: JobStatus, epoch: int) -> None:
    task = await rows.completed(module_db)
    job = await rows.job(module_db, status=status, epoch=5, subject_id=task, generation=4)
    removals = await Retention(module_db.database).remove([Lease(job.row_id, rows.OWNER, Epoch(epoch))])
    holds = status is JobStatus.RUNNING and epoch == 5
    assert len(removals) == holds
    assert await _left(module_db, task) == ((0, 0) if holds else (1, 4))


async def test_many_jobs_end_in_one_statement_each_with_its_own_outcome(db: TestDatabase) -> None:
    task = await rows.completed(db)
    there = await rows.job(db, status=JobStatus.RUNNING, epoch=1, subject_id=task, generation=4)
    gone = await rows.job(db, status=JobStatus.RUNNING, epoch=1)
    lost = await rows.job(db, status=JobStatus.RUNNING, epoch=2)
    stale = Lease(lost.row_id, rows.OWNER, Epoch(1))
    removals = await Retention(db.database).remove([there, gone, stale])
    assert {removal.job_id: removal.outcome for removal in removals} == {
        there.row_id: "removed",
        gone.row_id: "already-gone",
    }


async def test_done_jobs_are_forgotten_after_their_retention(db: TestDatabase) -> None:
    await rows.job(db, status=JobStatus.DONE)
    await rows.job(db)
    writes = CleanupWrites(db.database)
    assert await writes.forget(100, _DAY) == 0
    await db.advance(_DAY + 1)
    assert await writes.forget(100, _DAY) == 1
    assert await db.admin.fetchval("select array_agg(status) from locktender.cleanup_job") == ["pending"]


async def test_a_job_that_failed_waits_for_its_delay(db: TestDatabase) -> None:
    job = await rows.job(db)
    writes = CleanupWrites(db.database)
    [claim] = await writes.claim([job.row_id], rows.OWNER, 60)
    assert await writes.retry(claim.lease, "the database was away", 30)
    assert not await writes.retry(claim.lease, "again", 30)
    assert await writes.claim([job.row_id], rows.OWNER, 60) == []
    await db.advance(31)
    [again] = await writes.claim([job.row_id], rows.OWNER, 60)
    assert (again.attempts, again.lease.epoch) == (2, 2)
