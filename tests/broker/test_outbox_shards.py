import asyncio
import json
from collections.abc import AsyncGenerator

import pytest

from locktender.contracts.kernel.lease import Owner
from locktender.contracts.kernel.subjects import EVENTS_STREAM
from locktender.outbox.app import serve
from locktender.outbox.settings import OutboxSettings
from locktender.outbox.shards import ShardLeases
from locktender.runtime.bus import Bus
from locktender.testkit.clock import FakeClock
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.outbox_rows import add_events, all_published, revisions
from locktender.testkit.service_rig import StopAt, running, stored

ALL = list(range(16))


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as started:
        yield started


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus()
    yield connected
    await connected.close()


def settings(db: TestDatabase, rig: NatsRig, instance: str, **stated: object) -> OutboxSettings:
    quick = {"outbox_shard_ttl_seconds": 1.5, "outbox_shard_renew_seconds": 0.2, "outbox_poll_ceiling_seconds": 0.1}
    return OutboxSettings(database_url=db.dsn, nats_url=rig.nats_url, instance=instance, **(quick | stated))


def leases(db: TestDatabase, name: str, clock: FakeClock) -> ShardLeases:
    return ShardLeases(db.database, Owner(name), clock, ttl=10.0)


async def owners(db: TestDatabase) -> dict[str, int]:
    held = await db.admin.fetch(
        "select split_part(owner, '/', 1) as name, count(*) as shards from locktender.service_shard "
        "where service = 'outbox' and expires_at > locktender.now() group by 1"
    )
    return {row["name"]: row["shards"] for row in held}


async def owned_by(db: TestDatabase, **shards: int) -> bool:
    return await owners(db) == shards


async def test_a_lone_replica_takes_every_shard(db: TestDatabase) -> None:
    alone = leases(db, "a", FakeClock())
    await alone.prepare()
    assert alone.current() == []
    assert await alone.share_out()
    assert alone.current() == ALL


async def test_a_second_replica_is_seen_and_given_half_without_anybody_holding_a_shard_twice(db: TestDatabase) -> None:
    clock = FakeClock()
    first, second = leases(db, "a", clock), leases(db, "b", clock)
    await first.prepare()
    await first.share_out()
    assert not await second.share_out()
    await first.share_out()
    assert len(first.current()) == 8
    # What the first has stopped using is free only after it said so.
    assert not await second.share_out()
    await first.give_back()
    assert await second.share_out()
    assert sorted(first.current() + second.current()) == ALL


async def test_shards_are_shared_by_three_and_none_is_left_out(db: TestDatabase) -> None:
    clock = FakeClock()
    replicas = [leases(db, name, clock) for name in "abc"]
    await replicas[0].prepare()
    for _ in range(4):
        for replica in replicas:
            await replica.share_out()
            await replica.give_back()
    shares = [replica.current() for replica in replicas]
    assert sorted(shard for share in shares for shard in share) == ALL
    assert max(len(share) for share in shares) <= 6


async def test_shards_count_for_nothing_once_the_renewal_is_too_long_ago(db: TestDatabase) -> None:
    clock = FakeClock()
    held = leases(db, "a", clock)
    await held.prepare()
    await held.share_out()
    clock.advance(6.9)
    assert held.current() == ALL
    clock.advance(0.2)
    assert held.current() == []
    assert not held.alive()
    await held.share_out()
    assert held.current() == ALL


async def test_shards_of_a_replica_that_died_go_to_another_after_their_lease(db: TestDatabase) -> None:
    clock = FakeClock()
    dead, living = leases(db, "a", clock), leases(db, "b", clock)
    await dead.prepare()
    await dead.share_out()
    await living.share_out()
    assert living.current() == []
    await db.advance(10.1)
    await living.share_out()
    assert living.current() == ALL


async def test_a_replica_that_ends_gives_everything_back_at_once(db: TestDatabase) -> None:
    clock = FakeClock()
    ending, living = leases(db, "a", clock), leases(db, "b", clock)
    await ending.prepare()
    await ending.share_out()
    await ending.close()
    assert ending.current() == []
    await living.share_out()
    assert living.current() == ALL


async def test_two_relays_share_the_work_and_keep_the_order(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    async with running("outbox", serve, settings(db, rig, "a", outbox_batch=25)):
        await add_events(db, aggregates=40, each=2)
        async with running("outbox", serve, settings(db, rig, "b", outbox_batch=25)):
            await add_events(db, aggregates=40, each=2, first=3)
            await eventually(lambda: owned_by(db, a=8, b=8))
            await add_events(db, aggregates=40, each=4, first=5)
            await eventually(lambda: all_published(db))
        # The second one has ended and the first takes over what it had.
        await add_events(db, aggregates=40, each=2, first=9)
        await eventually(lambda: owned_by(db, a=16))
        await eventually(lambda: all_published(db))
    assert revisions(await stored(bus, EVENTS_STREAM)) == {f"task-{n}": list(range(1, 11)) for n in range(40)}


async def test_the_work_of_a_relay_that_died_is_taken_over(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    freeze = StopAt("outbox.after-publish")
    async with running("outbox", serve, settings(db, rig, "a"), faults=freeze) as first:
        await add_events(db, aggregates=10, each=3)
        async with asyncio.timeout(10):
            await freeze.reached.wait()
        async with running("outbox", serve, settings(db, rig, "b")):
            first.crash()
            await eventually(lambda: owned_by(db, b=16))
            await eventually(lambda: all_published(db))
            status = json.loads(await bus.request("lt.ops.outbox.status", b"", 2))
    assert (status["backlog"], status["shards"]) == (0, ALL)
    assert revisions(await stored(bus, EVENTS_STREAM)) == {f"task-{n}": [1, 2, 3] for n in range(10)}
