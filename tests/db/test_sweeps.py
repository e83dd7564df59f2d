"""The reaper's verdicts, by letting time pass: each falls when it is due, once, for the first reason that holds."""

from datetime import timedelta

import asyncpg

from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.kernel.subjects import cleanup_command, deployment_command
from locktender.storage.cleanup.writes import CleanupWrites
from locktender.storage.deployments import transitions
from locktender.storage.deployments.reads import DeploymentReads
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase

_PATIENCE = {"cancel-ack-deadline": 90.0, "timeout": 1800.0, "never-started": 120.0}


async def _pass(db: TestDatabase, limit: int = 100) -> dict[str, list[str]]:
    """One pass of the reaper: the tasks it ended, by reason."""
    writes = DeploymentWrites(db.database)
    ended = {reason: await writes.sweep(reason, limit, _PATIENCE.get(reason)) for reason in transitions.SWEEPS}
    return {reason: [str(task) for task in tasks] for reason, tasks in ended.items() if tasks}


async def test_a_queued_task_is_ended_when_no_runner_came_in_time(db: TestDatabase) -> None:
    task = await rows.created(db)
    await db.advance(110)
    assert await _pass(db) == {}
    await db.advance(11)
    assert await _pass(db) == {"never-started": [str(task)]}
    seen = await DeploymentReads(db.database).snapshot("acme", task)
    assert seen is not None
    assert seen.task.status == "failed"
    assert seen.task.failure == {"reason": "never-started", "message": "no runner took the task in time"}
    assert seen.events[-1]["actor"] == "reaper"


async def test_a_run_whose_lease_is_renewed_is_left_alone(db: TestDatabase) -> None:
    claim = await rows.claimed(db, ttl=60)
    writes = DeploymentWrites(db.database)
    for _ in range(4):
        await db.advance(50)
        [renewed] = await writes.renew([claim.lease], 60)
        assert renewed.held
        assert await _pass(db) == {}


async def test_a_lost_runner_is_told_so_and_can_no_longer_write(db: TestDatabase) -> None:
    claim = await rows.claimed(db, ttl=60)
    await db.advance(61)
    assert await _pass(db) == {"interrupted": [str(claim.lease.row_id)]}
    [renewed] = await DeploymentWrites(db.database).renew([claim.lease], 60)
    assert not renewed.held
    assert await _pass(db) == {}


async def test_a_late_renewal_before_the_verdict_keeps_the_run(db: TestDatabase) -> None:
    claim = await rows.claimed(db, ttl=60)
    await db.advance(61)
    [renewed] = await DeploymentWrites(db.database).renew([claim.lease], 60)
    assert renewed.held
    assert await _pass(db) == {}


async def test_a_run_that_renews_for_ever_is_ended_all_the_same(db: TestDatabase) -> None:
    claim = await rows.claimed(db, ttl=10_000)
    await db.advance(1801)
    assert await _pass(db) == {"timeout": [str(claim.lease.row_id)]}


async def test_a_cancel_that_nobody_confirms_is_enforced(db: TestDatabase) -> None:
    lease = await rows.applying(db, ttl=10_000)
    await DeploymentWrites(db.database).request_cancel(lease.row_id, "ada", rows.told(actor="api"))
    await db.advance(89)
    assert await _pass(db) == {}
    await db.advance(2)
    assert await _pass(db) == {"cancel-ack-deadline": [str(lease.row_id)]}
    seen = await DeploymentReads(db.database).snapshot("acme", lease.row_id)
    assert seen is not None
    assert (seen.task.status, seen.events[-1]["payload"]["reason"]) == ("cancelled", "cancel-ack-deadline")


async def test_a_run_lost_after_a_cancel_ends_cancelled_not_failed(db: TestDatabase) -> None:
    lease = await rows.applying(db, ttl=20)
    await DeploymentWrites(db.database).request_cancel(lease.row_id, "ada", rows.told(actor="api"))
    await db.advance(21)
    assert await _pass(db) == {"interrupted-with-cancel": [str(lease.row_id)]}


async def test_of_several_reasons_the_first_in_order_counts_and_only_it(db: TestDatabase) -> None:
    cancelled = await rows.applying(db, ttl=20)
    await DeploymentWrites(db.database).request_cancel(cancelled.row_id, "ada", rows.told(actor="api"))
    overrun = (await rows.claimed(db, ttl=20)).lease
    await db.advance(5000)
    assert await _pass(db) == {
        "cancel-ack-deadline": [str(cancelled.row_id)],
        "timeout": [str(overrun.row_id)],
    }
    assert await _pass(db) == {}


async def test_a_sweep_takes_the_oldest_first_and_no_more_than_it_may(db: TestDatabase) -> None:
    tasks: list[str] = []
    for _ in range(5):
        tasks.append(str(await rows.created(db)))
        await db.advance(1)
    await db.advance(1000)
    assert sorted((await _pass(db, limit=3))["never-started"]) == sorted(tasks[:3])
    assert sorted((await _pass(db, limit=3))["never-started"]) == sorted(tasks[3:])


async def test_a_sweep_passes_over_what_somebody_works_on(db: TestDatabase) -> None:
    busy, idle = await rows.created(db), await rows.created(db)
    await db.advance(1000)
    other = await asyncpg.connect(db.dsn)
    try:
        async with other.transaction():
            await other.execute("select from locktender.deployment_task where id = $1 for update", busy)
            assert await _pass(db) == {"never-started": [str(idle)]}
    finally:
        await other.close()
    assert await _pass(db) == {"never-started": [str(busy)]}


async def _commands(db: TestDatabase) -> list[tuple[str, str]]:
    """Subject and named row of each command, oldest first."""
    told = await db.admin.fetch(
        "select subject, data->>'id' id from locktender.outbox where subject like 'lt.cmd.%' order by seq"
    )
    return [(row["subject"], row["id"]) for row in told]


async def test_a_hint_goes_out_again_for_exactly_the_tasks_that_wait(db: TestDatabase) -> None:
    waiting = await rows.created(db, runner="direct")
    await rows.claimed(db)
    await rows.completed(db)
    await rows.task(db, status=TaskStatus.BLOCKED, epoch=1)
    known = await _commands(db)
    writes = DeploymentWrites(db.database)
    assert await writes.hint(100, 10) == []
    await db.advance(11)
    assert await writes.hint(100, 10) == [waiting]
    assert (await _commands(db))[len(known) :] == [(deployment_command("direct"), str(waiting))]
    assert await writes.hint(100, 10) == []
    assert await db.admin.fetchval("select revision from locktender.deployment_task where id = $1", waiting) == 1


async def test_inputs_that_wait_for_a_runner_are_hinted_again_and_then_withdrawn(db: TestDatabase) -> None:
    await rows.blocked(db)
    waiting = await rows.blocked(db, runner="template")
    writes = DeploymentWrites(db.database)
    await writes.submit_input(waiting, "ada", "api-1", rows.told(actor="api"))
    known = await _commands(db)
    assert known[-1] == (deployment_command("template"), str(waiting))
    assert await writes.hint_resume(100, 10) == []
    await db.advance(11)
    assert await writes.hint_resume(100, 10) == [waiting]
    assert (await _commands(db))[len(known) :] == [(deployment_command("template"), str(waiting))]
    assert await writes.withdraw_input(100, 20) == []
    await db.advance(10)
    assert await writes.withdraw_input(100, 20) == [waiting]
    row = await db.admin.fetchrow("select * from locktender.deployment_task where id = $1", waiting)
    assert (row["status"], row["resume_requested_at"], row["custodian"]) == ("blocked", None, None)
    assert row["asked"] is not None
    # Whoever is asked once more may answer once more.
    await writes.submit_input(waiting, "ada", "api-1", rows.told(actor="api"))
    [resumed] = await writes.claim([waiting], rows.OWNER, rows.TTL)
    assert (resumed.lease.epoch, resumed.asked is not None) == (2, True)


async def test_a_cleanup_hint_goes_out_for_exactly_the_jobs_that_are_due(db: TestDatabase) -> None:
    due = (await rows.job(db)).row_id
    later = await db.now() + timedelta(hours=1)
    await rows.job(db, next_attempt_at=later)
    await rows.job(db, status=rows.JobStatus.DONE)
    await db.advance(11)
    writes = CleanupWrites(db.database)
    assert await writes.hint(100, 10) == [due]
    assert await _commands(db) == [(cleanup_command("retention"), str(due))]
    assert await writes.hint(100, 10) == []


async def test_a_freed_cleanup_job_is_announced_once(db: TestDatabase) -> None:
    lost = (await rows.job(db, status=rows.JobStatus.RUNNING, epoch=1, ttl=10)).row_id
    await rows.job(db)
    await db.advance(11)
    assert await CleanupWrites(db.database).expire(100) == [lost]
    assert await _commands(db) == [(cleanup_command("retention"), str(lost))]
