import asyncio
import json
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit

import asyncpg
import pytest

from locktender.contracts.kernel.faults import FaultPoints
from locktender.contracts.kernel.subjects import COMMANDS_STREAM, EVENTS_STREAM, MESSAGE_LIMIT
from locktender.outbox.app import serve
from locktender.outbox.settings import OutboxSettings
from locktender.runtime.bus import Bus, NoResponders
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.outbox_rows import add_events, all_published, revisions, unpublished
from locktender.testkit.proxy import TcpProxy
from locktender.testkit.service_rig import StopAt, running, stored

pytestmark = pytest.mark.takes(seconds=15)


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as started:
        yield started


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus()
    yield connected
    await connected.close()


def settings(db: TestDatabase, url: str, **stated: object) -> OutboxSettings:
    quick = {"outbox_shard_ttl_seconds": 1.0, "outbox_shard_renew_seconds": 0.2, "outbox_poll_ceiling_seconds": 0.1}
    return OutboxSettings(database_url=db.dsn, nats_url=url, **(quick | stated))


async def test_what_the_api_commits_reaches_the_streams_as_cloud_events(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    async with running("outbox", serve, settings(db, rig.nats_url)):
        task = await rows.created(db, trace='{"traceparent": "00-1-2-03"}')
        await eventually(lambda: all_published(db))
        [event] = await stored(bus, EVENTS_STREAM)
        [command] = await stored(bus, COMMANDS_STREAM)
    assert event.subject == f"lt.evt.acme.deployments.{task}.created"
    facts = json.loads(event.body)
    assert facts["id"] == str(task)
    assert (facts["status"], facts["revision"], facts["epoch"]) == ("queued", 1, 0)
    assert len(event.body) < MESSAGE_LIMIT
    assert event.headers["ce-type"] == "locktender.deployment_task.created"
    assert event.headers["Nats-Msg-Id"] == event.headers["ce-id"]
    assert event.headers["traceparent"] == "00-1-2-03"
    assert command.subject == "lt.cmd.deployment.noop"
    assert json.loads(command.body) == {"id": str(task)}


async def test_a_poke_is_enough_for_a_row_to_be_published_at_once(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    slow = settings(db, rig.nats_url, outbox_poll_floor_seconds=60.0, outbox_poll_ceiling_seconds=60.0)
    async with running("outbox", serve, slow) as relay:
        await eventually(lambda: holds_all(bus))
        await rows.created(db)
        relay.service.bus.poke("outbox")
        await eventually(lambda: all_published(db), seconds=5)


async def holds_all(bus: Bus) -> bool:
    try:
        status = json.loads(await bus.request("lt.ops.outbox.status", b"", 2))
    except NoResponders:
        return False
    return len(status["shards"]) == 16


async def test_events_arrive_once_and_in_order_per_aggregate_while_writers_go_on(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    async with running("outbox", serve, settings(db, rig.nats_url, outbox_batch=50)):
        for first in range(1, 11, 2):
            await add_events(db, aggregates=30, each=2, first=first)
        await eventually(lambda: all_published(db))
    told = revisions(await stored(bus, EVENTS_STREAM))
    assert told == {f"task-{n}": list(range(1, 11)) for n in range(30)}


async def test_order_and_completeness_survive_connections_that_break_again_and_again(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    port = urlsplit(rig.nats_url).port or 0
    async with TcpProxy("127.0.0.1", port) as proxy:
        broken = settings(db, f"nats://127.0.0.1:{proxy.port}", outbox_batch=20, outbox_ack_seconds=0.5)
        async with running("outbox", serve, broken) as relay:
            await eventually(lambda: relay.service.bus.connected)
            proxy.latency(0.005)
            for first in range(1, 16, 3):
                await add_events(db, aggregates=20, each=3, first=first)
                await proxy.cut()
                await add_events(db, aggregates=5, each=1, prefix=f"late-{first}-")
                await proxy.heal()
                await eventually(lambda: relay.service.bus.connected)
                proxy.latency(0.005)
            await eventually(lambda: all_published(db), seconds=30)
    told = revisions(await stored(bus, EVENTS_STREAM))
    assert {name: told[name] for name in told if name.startswith("task")} == {
        f"task-{n}": list(range(1, 16)) for n in range(20)
    }
    assert sum(name.startswith("late") for name in told) == 25


async def test_nothing_is_marked_while_no_acknowledgement_comes_back(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    port = urlsplit(rig.nats_url).port or 0
    async with TcpProxy("127.0.0.1", port) as proxy:
        deaf = settings(db, f"nats://127.0.0.1:{proxy.port}", outbox_ack_seconds=0.3)
        watch = StopAt("nowhere")
        async with running("outbox", serve, deaf, faults=watch):
            await rows.created(db)
            await eventually(lambda: all_published(db))
            proxy.blackhole()
            await add_events(db, aggregates=3, each=2)
            await eventually(lambda: attempts_seen(db, rig))
            assert await unpublished(db) == 6
            await proxy.heal()
            await eventually(lambda: all_published(db))
    told = revisions(await stored(bus, EVENTS_STREAM))
    assert [told[f"task-{n}"] for n in range(3)] == [[1, 2]] * 3


async def attempts_seen(db: TestDatabase, _rig: NatsRig) -> bool:
    # Long enough for a sent message to have been given up at least once.
    age = await db.admin.fetchval(
        "select extract(epoch from now() - min(created_at)) from locktender.outbox where published_at is null"
    )
    return age > 0.8


async def test_nothing_is_lost_when_the_broker_is_killed_under_load(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    async with running("outbox", serve, settings(db, rig.nats_url, outbox_batch=100)):
        await add_events(db, aggregates=40, each=10)
        await eventually(lambda: some_published(db))
        await rig.kill()
        await add_events(db, aggregates=40, each=1, first=11)
        assert await unpublished(db) >= 40
        await rig.start()
        await eventually(lambda: all_published(db), seconds=30)
        await eventually(lambda: bus.connected)
    told = revisions(await stored(bus, EVENTS_STREAM))
    assert told == {f"task-{n}": list(range(1, 12)) for n in range(40)}


async def some_published(db: TestDatabase) -> bool:
    return await db.admin.fetchval("select exists (select from locktender.outbox where published_at is not null)")


async def test_a_relay_that_dies_between_the_acknowledgement_and_the_mark_doubles_nothing(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    freeze = StopAt("outbox.after-publish")
    async with running("outbox", serve, settings(db, rig.nats_url, outbox_lanes=1), faults=freeze) as first:
        await add_events(db, aggregates=4, each=3)
        async with asyncio.timeout(10):
            await freeze.reached.wait()
        first.crash()
    assert len(await stored(bus, EVENTS_STREAM)) == 12
    assert await unpublished(db) == 12
    async with running("outbox", serve, settings(db, rig.nats_url)):
        await eventually(lambda: all_published(db))
    assert revisions(await stored(bus, EVENTS_STREAM)) == {f"task-{n}": [1, 2, 3] for n in range(4)}


@pytest.mark.parametrize("place", ["outbox.before-publish", "outbox.after-mark"])
async def test_a_relay_that_dies_elsewhere_loses_nothing(db: TestDatabase, rig: NatsRig, bus: Bus, place: str) -> None:
    freeze: FaultPoints = StopAt(place)
    async with running("outbox", serve, settings(db, rig.nats_url), faults=freeze) as first:
        await add_events(db, aggregates=4, each=3)
        async with asyncio.timeout(10):
            await freeze.reached.wait()
        first.crash()
    async with running("outbox", serve, settings(db, rig.nats_url)):
        await eventually(lambda: all_published(db))
    assert revisions(await stored(bus, EVENTS_STREAM)) == {f"task-{n}": [1, 2, 3] for n in range(4)}


async def test_a_row_whose_transaction_commits_late_is_not_lost(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    async with running("outbox", serve, settings(db, rig.nats_url)):
        late = await asyncpg.connect(db.dsn)
        try:
            transaction = late.transaction()
            await transaction.start()
            await late.execute(
                "insert into locktender.outbox (aggregate, shard, revision, subject, type, data) values "
                "('late', mod(abs(hashtext('late')), 16), 1, 'lt.evt.acme.deployments.late.x', 'x', '{}')"
            )
            await add_events(db, aggregates=5, each=2)
            await eventually(lambda: all_published(db))
            await transaction.commit()
        finally:
            await late.close()
        await eventually(lambda: all_published(db))
    assert revisions(await stored(bus, EVENTS_STREAM))["late"] == [1]


async def test_a_row_that_cannot_be_sent_holds_back_its_own_aggregate_alone(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    await db.admin.execute(
        "insert into locktender.outbox (aggregate, shard, revision, subject, type, data) values "
        "('bad', 3, 1, 'lt.evt.with space', 'x', '{}'), ('bad', 3, 2, 'lt.evt.fine', 'x', '{}')"
    )
    async with running("outbox", serve, settings(db, rig.nats_url)):
        await add_events(db, aggregates=5, each=2)
        await eventually(lambda: exactly_unpublished(db, 2))
        await eventually(lambda: noted(db))
        # Repaired by hand, it goes, and what waited behind it follows.
        await db.admin.execute("update locktender.outbox set subject = 'lt.evt.repaired' where subject like '% %'")
        await eventually(lambda: all_published(db))
    assert revisions(await stored(bus, EVENTS_STREAM))["bad"] == [1, 2]


async def exactly_unpublished(db: TestDatabase, count: int) -> bool:
    return await unpublished(db) == count


async def noted(db: TestDatabase) -> bool:
    row = await db.admin.fetchrow("select attempts, last_error from locktender.outbox where subject like '% %'")
    return row is not None and row["attempts"] >= 1 and "cannot be sent" in row["last_error"]


async def test_a_message_above_the_limit_is_told_all_the_same_and_counted(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    async with running("outbox", serve, settings(db, rig.nats_url)):
        await rows.created(db)
        await eventually(lambda: all_published(db))
        assert json.loads(await bus.request("lt.ops.outbox.status", b"", 2))["oversized"] == 0
        await db.admin.execute(
            "insert into locktender.outbox (aggregate, shard, revision, subject, type, data) values "
            "('big', 3, 1, 'lt.evt.big', 'x', to_jsonb(repeat('x', 5000)))"
        )
        await eventually(lambda: all_published(db))
        assert json.loads(await bus.request("lt.ops.outbox.status", b"", 2))["oversized"] == 1
