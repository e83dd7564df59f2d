import json
from collections.abc import AsyncGenerator
from uuid import UUID

import pytest

from locktender.contracts.kernel.errors import LeaseLost, Unavailable, WrongState
from locktender.contracts.kernel.faults import NO_FAULTS
from locktender.contracts.kernel.subjects import EVENTS_STREAM
from locktender.outbox.app import serve as serve_outbox
from locktender.outbox.settings import OutboxSettings
from locktender.reaper.app import serve
from locktender.reaper.clock_guard import ClockGuard
from locktender.reaper.reaper import Reaper
from locktender.reaper.settings import ReaperSettings
from locktender.reaper.sweeps import Sweep, sweeps
from locktender.runtime.bus import Bus
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.outbox.relay import Relay
from locktender.testkit import rows
from locktender.testkit.clock import FakeClock
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.service_rig import running, stored


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as started:
        yield started


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus()
    yield connected
    await connected.close()


def reaper(db: TestDatabase, *more: Sweep, batch: int = 200) -> Reaper:
    settings = ReaperSettings(database_url=db.dsn, nats_url="nats://unused", reaper_batch=batch)
    chosen = sweeps(db.database, settings.deadlines, limit=batch, forget=settings.reaper_forget_seconds)
    return Reaper(
        (*more, *chosen),
        ClockGuard(tolerance=1e9, hold=0),
        Relay(db.database).now,
        FakeClock(),
        NO_FAULTS,
        moved=lambda: None,
        healthy_seconds=30,
    )


async def status_of(db: TestDatabase, task: UUID) -> str:
    return await db.admin.fetchval("select status from locktender.deployment_task where id = $1", task)


async def verdict_on(db: TestDatabase, task: UUID) -> tuple[str, str]:
    """The status of a task and the reason that its last event gives, which must be the engine's."""
    row = await db.admin.fetchrow(
        "select t.status, t.failure, e.kind, e.actor, e.payload from locktender.deployment_task t "
        "join locktender.deployment_event e on e.task_id = t.id and e.revision = t.revision where t.id = $1",
        task,
    )
    assert row is not None
    payload = json.loads(row["payload"])
    assert (row["kind"], row["actor"], payload["verdict"]) == ("engine-resolved", "reaper", row["status"])
    if row["status"] == "failed":
        assert json.loads(row["failure"])["reason"] == payload["reason"]
    return row["status"], payload["reason"]


async def cancel_requested(db: TestDatabase, task: UUID) -> None:
    await DeploymentWrites(db.database).request_cancel(task, "ada", rows.told("cancel asked for", actor="api"))


async def test_a_cancel_without_an_answer_ends_the_task_although_its_lease_lives(db: TestDatabase) -> None:
    lease = (await rows.claimed(db, ttl=10_000)).lease
    await cancel_requested(db, lease.row_id)
    await db.advance(89)
    await reaper(db).sweep()
    assert await status_of(db, lease.row_id) == "running"
    await db.advance(2)
    await reaper(db).sweep()
    assert await verdict_on(db, lease.row_id) == ("cancelled", "cancel-ack-deadline")


async def test_a_lost_runner_with_a_pending_cancel_leaves_a_cancelled_task(db: TestDatabase) -> None:
    lease = await rows.applying(db, ttl=5.0)
    await cancel_requested(db, lease.row_id)
    await db.advance(6)
    await reaper(db).sweep()
    assert await verdict_on(db, lease.row_id) == ("cancelled", "interrupted-with-cancel")


async def test_a_run_that_takes_too_long_ends_although_its_lease_is_renewed(db: TestDatabase) -> None:
    lease = (await rows.claimed(db, ttl=10_000)).lease
    await db.advance(1799)
    await reaper(db).sweep()
    assert await status_of(db, lease.row_id) == "running"
    await db.advance(2)
    await reaper(db).sweep()
    assert await verdict_on(db, lease.row_id) == ("failed", "timeout")


async def test_a_lost_runner_leaves_a_failed_task_that_says_so(db: TestDatabase) -> None:
    lease = await rows.applying(db, ttl=60.0)
    await db.advance(59)
    await reaper(db).sweep()
    assert await status_of(db, lease.row_id) == "applying"
    await db.advance(2)
    await reaper(db).sweep()
    assert await verdict_on(db, lease.row_id) == ("failed", "interrupted")


async def test_a_task_that_no_runner_took_ends_after_the_start_deadline(db: TestDatabase) -> None:
    task = await rows.created(db)
    await db.advance(119)
    await reaper(db).sweep()
    assert await status_of(db, task) == "queued"
    await db.advance(2)
    await reaper(db).sweep()
    assert await verdict_on(db, task) == ("failed", "never-started")


@pytest.mark.parametrize(
    ("cancel_age", "verdict"),
    [
        (100, ("cancelled", "cancel-ack-deadline")),
        (10, ("cancelled", "interrupted-with-cancel")),
        (None, ("failed", "timeout")),
    ],
)
async def test_when_several_verdicts_apply_a_cancel_comes_first_and_an_overrun_before_an_interruption(
    db: TestDatabase, cancel_age: int | None, verdict: tuple[str, str]
) -> None:
    lease = (await rows.claimed(db, ttl=60.0)).lease
    await db.advance(2000 - (cancel_age or 0))
    if cancel_age is not None:
        await cancel_requested(db, lease.row_id)
        await db.advance(cancel_age)
    await reaper(db).sweep()
    assert await verdict_on(db, lease.row_id) == verdict


async def test_after_a_verdict_the_runner_may_no_longer_write(db: TestDatabase) -> None:
    lease = await rows.applying(db, ttl=5.0)
    await db.advance(6)
    await reaper(db).sweep()
    with pytest.raises((LeaseLost, WrongState)):
        await DeploymentWrites(db.database).complete(lease, rows.told(), timeline=rows.TIMELINE)
    assert await status_of(db, lease.row_id) == "failed"


async def test_what_is_over_or_waits_for_inputs_is_left_alone(db: TestDatabase) -> None:
    done = await rows.completed(db)
    before = await db.admin.fetchval("select revision from locktender.deployment_task where id = $1", done)
    await db.advance(10_000)
    assert (await reaper(db).sweep()).moved == {}
    assert await db.admin.fetchval("select revision from locktender.deployment_task where id = $1", done) == before


async def test_one_pass_ends_more_tasks_than_fit_into_a_statement(db: TestDatabase) -> None:
    for _ in range(25):
        await rows.created(db)
    await db.advance(121)
    done = await reaper(db, batch=10).sweep()
    assert done.moved["never-started"] == 25
    assert not done.more


async def test_a_sweep_that_fails_does_not_keep_the_others_from_their_work(db: TestDatabase) -> None:
    async def broken(_limit: int) -> int:
        raise Unavailable("this one is broken")

    async def worse(_limit: int) -> int:
        raise ValueError("a detail that must not travel")

    task = await rows.created(db)
    await db.advance(121)
    engine = reaper(db, Sweep("broken", broken, 1), Sweep("worse", worse, 1))
    done = await engine.sweep()
    assert done.failed == {"broken": "this one is broken", "worse": "ValueError"}
    assert await verdict_on(db, task) == ("failed", "never-started")
    with pytest.raises(Unavailable):
        await engine.check()


async def test_a_verdict_is_told_to_the_world_with_its_reason(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    lease = (await rows.claimed(db, ttl=5.0)).lease
    await db.advance(6)
    async with (
        running("outbox", serve_outbox, OutboxSettings(database_url=db.dsn, nats_url=rig.nats_url)),
        running("reaper", serve, ReaperSettings(database_url=db.dsn, nats_url=rig.nats_url)),
    ):
        subject = f"lt.evt.acme.deployments.{lease.row_id}.engine-resolved"
        await eventually(lambda: tells(bus, subject))
        [event] = [message for message in await stored(bus, EVENTS_STREAM) if message.subject == subject]
    facts = json.loads(event.body)
    assert (facts["status"], facts["reason"], facts["epoch"]) == ("failed", "interrupted", 2)


async def tells(bus: Bus, subject: str) -> bool:
    return any(message.subject == subject for message in await stored(bus, EVENTS_STREAM))


async def test_several_reapers_at_once_give_every_verdict_once(db: TestDatabase, rig: NatsRig) -> None:
    tasks = [(await rows.claimed(db, ttl=5.0)).lease.row_id for _ in range(30)]
    await db.advance(6)
    own = ReaperSettings(database_url=db.dsn, nats_url=rig.nats_url, reaper_sweep_seconds=0.05, reaper_batch=7)
    async with running("reaper", serve, own), running("reaper", serve, own):
        await eventually(lambda: all_failed(db))
    verdicts = await db.admin.fetch(
        "select task_id, count(*) from locktender.deployment_event where kind = 'engine-resolved' group by 1"
    )
    assert {row["task_id"]: row["count"] for row in verdicts} == dict.fromkeys(tasks, 1)


async def all_failed(db: TestDatabase) -> bool:
    return await db.admin.fetchval("select bool_and(status = 'failed') from locktender.deployment_task")
