import asyncio
import json
from collections.abc import AsyncGenerator
from uuid import UUID

import pytest

from locktender.contracts.kernel.subjects import COMMANDS_STREAM
from locktender.outbox.app import serve as serve_outbox
from locktender.outbox.settings import OutboxSettings
from locktender.reaper.app import serve
from locktender.reaper.settings import ReaperSettings
from locktender.runtime.bus import Bus, NoResponders
from locktender.runtime.health import Health
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.outbox_rows import unpublished
from locktender.testkit.service_rig import StopAt, running, stored


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as started:
        yield started


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus()
    yield connected
    await connected.close()


def settings(db: TestDatabase, rig: NatsRig, **stated: object) -> ReaperSettings:
    return ReaperSettings(database_url=db.dsn, nats_url=rig.nats_url, **stated)


async def status_of(db: TestDatabase, task: UUID) -> str:
    return await db.admin.fetchval("select status from locktender.deployment_task where id = $1", task)


async def is_failed(db: TestDatabase, task: UUID) -> bool:
    return await status_of(db, task) == "failed"


async def ask(bus: Bus, what: str) -> dict[str, object]:
    return json.loads(await bus.request(f"lt.ops.reaper.{what}", b"", 5))


async def swept(bus: Bus) -> bool:
    try:
        return (await ask(bus, "status"))["idleSeconds"] is not None
    except NoResponders:
        return False


async def test_the_first_pass_comes_at_once(db: TestDatabase, rig: NatsRig) -> None:
    task = await rows.created(db)
    await db.advance(121)
    async with running("reaper", serve, settings(db, rig, reaper_sweep_seconds=3600.0)) as started:
        await eventually(lambda: is_failed(db, task))
        await eventually(lambda: is_ready(started.service.health))


async def is_ready(health: Health) -> bool:
    return (await health.report()).ready


async def test_a_poke_brings_the_next_pass_forward(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    slow = settings(db, rig, reaper_sweep_seconds=3600.0, lease_ttl_seconds=1000.0)
    async with running("reaper", serve, slow):
        await eventually(lambda: swept(bus))
        task = await rows.created(db)
        await db.advance(121)
        bus.poke("reaper")
        await eventually(lambda: is_failed(db, task))


async def test_an_operator_can_have_a_pass_now_and_sees_what_it_did(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    slow = settings(db, rig, reaper_sweep_seconds=3600.0, lease_ttl_seconds=1000.0)
    async with running("reaper", serve, slow):
        await eventually(lambda: swept(bus))
        await rows.created(db)
        await db.advance(121)
        assert await ask(bus, "sweep") == {"moved": {"never-started": 1}, "failed": {}, "more": False, "held": False}
        status = await ask(bus, "status")
    assert status["moved"] == {"never-started": 1}
    assert status["sweepSeconds"] == 3600.0


async def test_a_lost_command_is_sent_again_and_again_until_a_runner_takes_the_task(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    quick = settings(db, rig, reaper_sweep_seconds=0.1, deadlines={"hint": 0.5})
    outbox = OutboxSettings(database_url=db.dsn, nats_url=rig.nats_url)
    async with running("outbox", serve_outbox, outbox), running("reaper", serve, quick):
        task = await rows.created(db)
        await eventually(lambda: commands(bus, task, 3))
        await DeploymentWrites(db.database).claim([task], rows.OWNER, 60.0)
        await db.advance(5)
        assert (await ask(bus, "sweep"))["moved"] == {}


async def commands(bus: Bus, task: UUID, count: int) -> bool:
    bodies = [json.loads(message.body)["id"] for message in await stored(bus, COMMANDS_STREAM)]
    return bodies.count(str(task)) >= count


async def test_a_hint_is_due_ten_seconds_after_the_last_one_and_not_before(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    await rows.created(db)
    before = await unpublished(db)
    async with running("reaper", serve, settings(db, rig, reaper_sweep_seconds=3600.0)):
        await eventually(lambda: swept(bus))
        assert (await ask(bus, "sweep"))["moved"] == {}
        await db.advance(10)
        assert (await ask(bus, "sweep"))["moved"] == {"hint-deployments": 1}
        assert (await ask(bus, "sweep"))["moved"] == {}
    assert await unpublished(db) == before + 1


def test_with_production_settings_a_lost_hint_comes_again_within_fifteen_seconds() -> None:
    production = ReaperSettings(database_url="postgresql://x", nats_url="nats://x")
    assert production.deadlines.hint + production.reaper_sweep_seconds < 15


async def test_a_jump_of_the_database_clock_kills_no_run_whose_runner_renews(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    quick = settings(db, rig, reaper_sweep_seconds=0.05, lease_ttl_seconds=60.0, renew_seconds=1.0)
    async with running("reaper", serve, quick):
        await eventually(lambda: swept(bus))
        held = (await rows.claimed(db, ttl=60.0)).lease
        lost = (await rows.claimed(db, ttl=60.0)).lease
        await db.advance(120)
        await eventually(lambda: holds(bus))
        assert await status_of(db, lost.row_id) == "running"
        await DeploymentWrites(db.database).renew([held], 60.0)
        # Once holders had their time, the new clock counts.
        await eventually(lambda: is_failed(db, lost.row_id))
        assert await status_of(db, held.row_id) == "running"


async def holds(bus: Bus) -> bool:
    return bool((await ask(bus, "sweep"))["held"])


@pytest.mark.parametrize("place", ["reaper.before-sweep", "reaper.after-sweep"])
async def test_a_reaper_that_dies_at_a_sweep_costs_nothing_but_time(db: TestDatabase, rig: NatsRig, place: str) -> None:
    task = (await rows.claimed(db, ttl=5.0)).lease.row_id
    await db.advance(6)
    freeze = StopAt(place)
    async with running("reaper", serve, settings(db, rig), faults=freeze) as first:
        async with asyncio.timeout(10):
            await freeze.reached.wait()
        first.crash()
    async with running("reaper", serve, settings(db, rig)):
        await eventually(lambda: is_failed(db, task))
    kinds = await db.admin.fetch(
        "select kind from locktender.deployment_event where task_id = $1 order by revision", task
    )
    assert [row["kind"] for row in kinds] == ["created", "started", "engine-resolved"]
