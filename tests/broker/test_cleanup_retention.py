import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import UUID

import pytest

from locktender.cleanup.app import serve as serve_cleanup
from locktender.cleanup.settings import CleanupSettings
from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.subjects import EVENTS_STREAM
from locktender.outbox.app import serve as serve_outbox
from locktender.outbox.settings import OutboxSettings
from locktender.reaper.app import serve as serve_reaper
from locktender.reaper.settings import ReaperSettings
from locktender.runtime.bus import Bus
from locktender.runtime.health import Health
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.outbox_rows import all_published, revisions
from locktender.testkit.servers import NatsServer
from locktender.testkit.service_rig import Running, StopAt, running, stored

pytestmark = pytest.mark.takes(seconds=25)

RETENTION = 30 * 86_400.0


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as started:
        yield started


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus()
    yield connected
    await connected.close()


def cleanup_settings(db: TestDatabase, rig: NatsRig) -> CleanupSettings:
    return CleanupSettings(database_url=db.dsn, nats_url=rig.nats_url)


@asynccontextmanager
async def engine(
    db: TestDatabase, rig: NatsRig, faults: FaultPoints = NO_FAULTS
) -> AsyncGenerator[Running[CleanupSettings]]:
    """Outbox, reaper and cleanup; hints come again fast, and the database's clock may be moved while they run."""
    reaper = ReaperSettings(
        database_url=db.dsn, nats_url=rig.nats_url, reaper_sweep_seconds=0.1, deadlines={"hint": 0.5},
        renew_seconds=0.1,
    )  # fmt: skip
    outbox = OutboxSettings(
        database_url=db.dsn, nats_url=rig.nats_url, outbox_shard_ttl_seconds=2.0, outbox_shard_renew_seconds=0.2,
        # The clock of these tests runs a month ahead, and what is in the outbox is older than it would be kept.
        outbox_retention_seconds=1000 * 86_400.0,
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running("outbox", serve_outbox, outbox))
        await stack.enter_async_context(running("reaper", serve_reaper, reaper))
        cleanup = running("cleanup", serve_cleanup, cleanup_settings(db, rig), faults=faults)
        yield await stack.enter_async_context(cleanup)


async def exists(db: TestDatabase, task: UUID) -> bool:
    return await db.admin.fetchval("select exists (select from locktender.deployment_task where id = $1)", task)


async def outcome(db: TestDatabase, task: UUID) -> str | None:
    return await db.admin.fetchval(
        "select outcome ->> 'outcome' from locktender.cleanup_job where subject_id = $1 and status = 'done'", task
    )


async def ended_as(db: TestDatabase, task: UUID, expected: str) -> bool:
    return await outcome(db, task) == expected


async def test_a_task_that_ended_long_ago_goes_with_its_events_and_leaves_a_tombstone(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    old = await rows.completed(db)
    await db.advance(RETENTION - 60)
    young = await rows.completed(db)
    waiting = await rows.created(db)
    await db.advance(61)
    async with engine(db, rig):
        await eventually(lambda: ended_as(db, old, "removed"))
        await eventually(lambda: all_published(db))
    assert not await exists(db, old)
    assert await db.admin.fetchval("select count(*) from locktender.deployment_event where task_id = $1", old) == 0
    assert await exists(db, young)
    assert await exists(db, waiting)
    told = [message for message in await stored(bus, EVENTS_STREAM) if message.headers["ce-subject"] == str(old)]
    assert [message.subject.rpartition(".")[2] for message in told] == [
        "created", "started", "applying", "completed", "removed",
    ]  # fmt: skip
    assert [message.headers.get("lt-tombstone") for message in told] == [None, None, None, None, "true"]
    assert revisions(told)[str(old)] == [1, 2, 3, 4, 5]
    assert json.loads(told[-1].body)["status"] == "completed"


@pytest.mark.parametrize("place", ["cleanup.after-claim", "cleanup.before-remove", "cleanup.after-remove"])
async def test_a_cleanup_that_dies_anywhere_is_finished_by_the_next_one_exactly_once(
    db: TestDatabase, rig: NatsRig, bus: Bus, place: str
) -> None:
    tasks = [await rows.completed(db) for _ in range(3)]
    await db.advance(RETENTION + 1)
    freeze = StopAt(place)
    async with engine(db, rig, freeze) as first:
        async with asyncio.timeout(15):
            await freeze.reached.wait()
        first.crash()
        # Its leases run out; nobody gives them back.
        await db.advance(61)
        async with running("cleanup", serve_cleanup, cleanup_settings(db, rig)):
            # Once more: what the dying service claimed in its last moment has a later deadline.
            await db.advance(61)
            for task in tasks:
                await eventually(lambda task=task: ended_as(db, task, "removed"))
            await eventually(lambda: all_published(db))
    removed = [message.subject for message in await stored(bus, EVENTS_STREAM) if message.subject.endswith(".removed")]
    assert sorted(removed) == sorted(f"lt.evt.acme.deployments.{task}.removed" for task in tasks)


async def test_a_task_that_is_not_what_the_job_saw_is_not_removed(db: TestDatabase, rig: NatsRig) -> None:
    moved_on = await rows.completed(db)
    alive = await rows.created(db)
    gone = new_id()
    await rows.job(db, subject_id=moved_on, generation=3)
    await rows.job(db, subject_id=alive, generation=1)
    await rows.job(db, subject_id=gone, generation=4)
    async with engine(db, rig):
        await eventually(lambda: ended_as(db, moved_on, "not-proven"))
        await eventually(lambda: ended_as(db, alive, "not-proven"))
        await eventually(lambda: ended_as(db, gone, "already-gone"))
    assert await exists(db, moved_on)
    assert await exists(db, alive)


async def test_one_job_that_cannot_be_done_is_tried_again_and_holds_nobody_up(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    tasks = [await rows.completed(db) for _ in range(3)]
    stuck = tasks[1]
    await db.admin.execute(
        "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'a secret'; end $$"
    )
    await db.admin.execute(
        f"create trigger refuse before delete on locktender.deployment_task for each row "
        f"when (old.id = '{stuck}') execute function refuse()"
    )
    await db.advance(RETENTION + 1)
    async with engine(db, rig):
        await eventually(lambda: ended_as(db, tasks[0], "removed"))
        await eventually(lambda: ended_as(db, tasks[2], "removed"))
        # An attempt is counted when it starts: the third one says that two have failed.
        await eventually(lambda: tried(db, stuck, 3), seconds=20)
        said = await db.admin.fetchval("select last_error from locktender.cleanup_job where subject_id = $1", stuck)
        assert "secret" not in said
        await db.admin.execute("drop trigger refuse on locktender.deployment_task")
        await db.advance(30)
        await eventually(lambda: ended_as(db, stuck, "removed"))
        status = json.loads(await bus.request("lt.ops.cleanup.status", b"", 5))
    assert status["outcomes"]["removed"] == 3
    assert status["outcomes"]["retried"] >= 2


async def tried(db: TestDatabase, task: UUID, times: int) -> bool:
    attempts = await db.admin.fetchval("select attempts from locktender.cleanup_job where subject_id = $1", task)
    return (attempts or 0) >= times


async def test_many_tasks_go_in_few_statements(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    tasks = [await rows.completed(db) for _ in range(40)]
    await db.advance(RETENTION + 1)
    async with engine(db, rig):
        for task in tasks:
            await eventually(lambda task=task: ended_as(db, task, "removed"))
        await eventually(lambda: all_published(db))
    removed = [message.subject for message in await stored(bus, EVENTS_STREAM) if message.subject.endswith(".removed")]
    assert len(removed) == len(set(removed)) == 40


async def test_finished_jobs_are_forgotten_after_a_while(db: TestDatabase, rig: NatsRig) -> None:
    task = await rows.completed(db)
    await db.advance(RETENTION + 1)
    async with engine(db, rig):
        await eventually(lambda: ended_as(db, task, "removed"))
    await db.advance(8 * 86_400)
    async with engine(db, rig):
        await eventually(lambda: no_jobs(db))


async def no_jobs(db: TestDatabase) -> bool:
    return not await db.admin.fetchval("select exists (select from locktender.cleanup_job)")


async def test_the_rights_of_reaper_and_cleanup_identities_are_all_that_they_need(
    db: TestDatabase, nats_server: NatsServer
) -> None:
    if "cleanup" not in nats_server.seeds:
        pytest.skip("this server asks for no keys, so nothing can be said about rights")
    task = await rows.completed(db)
    await db.advance(RETENTION + 1)

    def common(who: str) -> dict[str, object]:
        return {"database_url": db.dsn, "nats_url": nats_server.url, "nats_seed_file": nats_server.seeds[who]}

    outbox = OutboxSettings(**common("outbox"), stream_max_bytes=64 * 1024**2)
    async with (
        running("outbox", serve_outbox, outbox),
        running("reaper", serve_reaper, ReaperSettings(**common("reaper"))) as reaper,
        running("cleanup", serve_cleanup, CleanupSettings(**common("cleanup"))) as cleanup,
    ):
        await eventually(lambda: ended_as(db, task, "removed"))
        await eventually(lambda: is_ready(reaper.service.health))
        await eventually(lambda: is_ready(cleanup.service.health))


async def is_ready(health: Health) -> bool:
    return (await health.report()).ready
