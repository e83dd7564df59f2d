"""Healthy histories are clean; each planted untruth is found, under its invariant."""

import pytest

from locktender.contracts.deployments.flow import TaskStatus
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.outbox.relay import Relay
from locktender.storage.verify import Tolerance, Violation, violations
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase

_SHARDS = range(16)


async def _told(db: TestDatabase) -> None:
    relay = Relay(db.database)
    await relay.published(await relay.unpublished(list(_SHARDS), 1000))


async def _healthy(db: TestDatabase) -> dict[str, str]:
    """One task in each kind of history; their ids by what they are."""
    writes = DeploymentWrites(db.database)
    queued, cancelled = await rows.created(db), await rows.created(db)
    await writes.cancel(cancelled, "ada", rows.told(actor="api"))
    running = await rows.claimed(db)
    asked = await rows.applying(db)
    await writes.request_cancel(asked.row_id, "ada", rows.told(actor="api"))
    stopped = await rows.applying(db)
    await writes.request_cancel(stopped.row_id, "ada", rows.told(actor="api"))
    await writes.acknowledge_cancel(stopped, rows.told(), timeline=rows.TIMELINE)
    broken = (await rows.claimed(db)).lease
    await writes.fail(broken, rows.told(), timeline=rows.TIMELINE, failure=rows.FAILURE)
    done = await rows.completed(db)
    parked, resumed = await rows.blocked(db), await rows.blocked(db)
    await writes.submit_input(resumed, "ada", "api-1", rows.told(actor="api"))
    await writes.claim([resumed], rows.OWNER, rows.TTL)
    again = await rows.created(db, predecessor_id=broken.row_id)
    ids = {
        "queued": queued, "cancelled": cancelled, "running": running.lease.row_id, "asked": asked.row_id,
        "stopped": stopped.row_id, "failed": broken.row_id, "completed": done,
        "parked": parked, "resumed": resumed, "again": again,
    }  # fmt: skip
    return {name: str(task) for name, task in ids.items()}


async def test_a_healthy_history_is_clean(db: TestDatabase) -> None:
    await _healthy(db)
    assert await violations(db.database) == []
    await _told(db)
    assert await violations(db.database) == []


async def test_what_the_reaper_has_resolved_is_clean(db: TestDatabase) -> None:
    await _healthy(db)
    await _told(db)
    await db.advance(10_000)
    writes = DeploymentWrites(db.database)
    for reason, patience in {
        "cancel-ack-deadline": 90.0, "interrupted-with-cancel": None, "timeout": 1800.0, "interrupted": None,
        "never-started": 120.0,
    }.items():  # fmt: skip
        await writes.sweep(reason, 100, patience)
    assert await violations(db.database) == []


# Each plants one untruth about task $1: by what a superuser could do, or a bug in us.
_PLANTED = {
    "outbox row without a reason": (
        "queued", "I01", "nothing says why",
        "update locktender.outbox set created_at = now() - interval '2 min', published_at = null where aggregate = $1",
    ),
    "event never told": (
        "completed", "I01", "no outbox row", "delete from locktender.outbox where aggregate = $1 and revision = 2"
    ),
    "told but not recorded": (
        "running", "I01", "not recorded",
        "update locktender.outbox set revision = 9 where aggregate = $1 and revision = 2",
    ),
    "told out of order": (
        "completed", "I01", "precedes",
        "update locktender.outbox set published_at = now() + interval '1 s' where aggregate = $1 and revision = 2",
    ),
    "skipped in the telling": (
        "completed", "I01", "precedes",
        "update locktender.outbox set published_at = null where aggregate = $1 and revision = 2",
    ),
    "event missing": (
        "completed", "I01", "missing from the record",
        "delete from locktender.deployment_event where task_id = $1::text::uuid and revision = 2",
    ),
    "first event missing": (
        "queued", "I01", "differ", "delete from locktender.deployment_event where task_id = $1::text::uuid"
    ),
    "row moved without an event": (
        "queued", "I01", "differ",
        "update locktender.deployment_task set status = 'cancelled', completed_at = now() where id = $1::text::uuid",
    ),
    "event without a move": (
        "queued", "I01", "ahead of the row",
        ("insert into locktender.deployment_event"
        " select task_id, 2, 'progressed', status, epoch, actor, message, payload"
        " from locktender.deployment_event where task_id = $1::text::uuid"),
    ),
    "epoch given twice": (
        "completed", "I02", "given twice",
        "update locktender.deployment_event set kind = 'started' where task_id = $1::text::uuid and revision = 3",
    ),
    "write under nobody's epoch": (
        "completed", "I02", "nobody took",
        "update locktender.deployment_event set epoch = 2 where task_id = $1::text::uuid and revision = 3",
    ),
    "write under a passed epoch": (
        "completed", "I03", "had passed",
        "update locktender.deployment_event set epoch = 0 where task_id = $1::text::uuid and revision = 4",
    ),
    "row below its events": (
        "running", "I03", "stands below",
        "update locktender.deployment_task set lease_epoch = 0 where id = $1::text::uuid",
    ),
    "plan of an epoch that nobody held": (
        "running", "I03", "nobody held",
        "insert into locktender.deployment_plan (task_id, epoch, plan) values ($1::text::uuid, 7, '{}')",
    ),
    "event after the end": (
        "completed", "I04", "after the end",
        "update locktender.deployment_event set status = 'failed' where task_id = $1::text::uuid and revision = 3",
    ),
    "cancel overwritten": (
        "completed", "I04", "did not end cancelled",
        "update locktender.deployment_task set cancel_requested_at = now() where id = $1::text::uuid",
    ),
    "dead holder": (
        "running", "I06", "lease has passed",
        "update locktender.deployment_task set lease_expires_at = now() - interval '5 min' where id = $1::text::uuid",
    ),
    "endless run": (
        "running", "I06", "longer than it may be",
        "update locktender.deployment_task set lease_claimed_at = now() - interval '1 day' where id = $1::text::uuid",
    ),
    "cancel never confirmed": (
        "asked", "I06", "never confirmed",
        "update locktender.deployment_task set cancel_requested_at = now() - interval '1 h' where id = $1::text::uuid",
    ),
    "nobody takes it": (
        "queued", "I06", "no runner",
        "update locktender.deployment_task set created_at = now() - interval '1 h' where id = $1::text::uuid",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _PLANTED)
async def test_a_planted_untruth_is_found(module_db: TestDatabase, name: str) -> None:
    which, invariant, words, sql = _PLANTED[name]
    subject = (await _healthy(module_db))[which]
    await _told(module_db)
    known = {each.subject for each in await violations(module_db.database)}
    async with module_db.unguarded() as superuser:
        await superuser.execute(sql, subject)
    found = [each for each in await violations(module_db.database) if each.subject not in known]
    assert [each for each in found if each.invariant == invariant and words in each.message], found
    assert {each.subject for each in found} == {subject}


async def test_a_job_whose_holder_is_gone_is_found(db: TestDatabase) -> None:
    lease = await rows.job(db, status=rows.JobStatus.RUNNING, epoch=1)
    await db.advance(600)
    found = await violations(db.database)
    assert [(each.invariant, each.subject) for each in found] == [("I06", str(lease.row_id))]


async def test_a_named_reason_excuses_a_waiting_row(db: TestDatabase) -> None:
    await rows.created(db)
    await db.admin.execute("update locktender.outbox set last_error = 'no responders', attempts = 1")
    await db.advance(100)
    assert await violations(db.database) == []


async def test_a_redrive_is_no_violation(db: TestDatabase) -> None:
    await rows.completed(db)
    await _told(db)
    relay = Relay(db.database)
    before = await relay.now()
    await db.advance(100)
    assert await relay.redrive(window=3600, before=before, limit=2) == 2
    assert await violations(db.database) == []
    await _told(db)
    assert await violations(db.database) == []


async def test_findings_are_bounded(db: TestDatabase) -> None:
    for _ in range(5):
        await rows.task(db, status=TaskStatus.RUNNING, epoch=1, ttl=-600)
    found = await violations(db.database, Tolerance(limit=3))
    assert len([each for each in found if each.invariant == "I06"]) == 3
    assert all(isinstance(each, Violation) for each in found)


async def test_inputs_that_nobody_took_are_found_once_the_reaper_is_late(db: TestDatabase) -> None:
    parked = await rows.blocked(db)
    await DeploymentWrites(db.database).submit_input(parked, "ada", "api-1", rows.told(actor="api"))
    await _told(db)
    await db.advance(179)
    assert await violations(db.database) == []
    await db.advance(2)
    [found] = await violations(db.database)
    assert (found.invariant, found.subject) == ("I06", str(parked))
    await DeploymentWrites(db.database).withdraw_input(100, 120.0)
    await _told(db)
    assert await violations(db.database) == []
