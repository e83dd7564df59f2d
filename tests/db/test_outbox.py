"""The outbox: nothing is overlooked, nothing is told out of order, nothing unpublished is dropped."""

import asyncpg

from locktender.contracts.kernel.lease import Owner
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.outbox.partitions import Partitions
from locktender.storage.outbox.relay import Failed, Pending, Relay
from locktender.storage.outbox.shards import Shards
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase

_ALL = list(range(16))
_DAY = 86_400.0


async def _events(relay: Relay) -> list[Pending]:
    return [row for row in await relay.unpublished(_ALL, 1000) if row.envelope.revision is not None]


async def test_the_events_of_a_task_come_in_the_order_of_their_revisions(db: TestDatabase) -> None:
    task = await rows.completed(db)
    told = [row.envelope for row in await _events(Relay(db.database))]
    assert [(each.aggregate, each.revision) for each in told] == [(str(task), revision) for revision in (1, 2, 3, 4)]
    assert told[1].subject == f"lt.evt.acme.deployments.{task}.started"
    assert told[1].type == "locktender.deployment_task.started"


async def test_a_row_whose_predecessor_failed_waits_with_it(db: TestDatabase) -> None:
    relay = Relay(db.database)
    await rows.completed(db)
    other = await rows.created(db)
    first, *_ = await _events(relay)
    await relay.failed([Failed(first, "no responders", 5.0)])
    assert {row.envelope.aggregate for row in await _events(relay)} == {str(other)}
    await db.advance(6)
    again = await _events(relay)
    assert len(again) == 5
    assert again[0].attempts == 1


async def test_a_late_committer_is_not_overlooked(db: TestDatabase) -> None:
    relay = Relay(db.database)
    late = await asyncpg.connect(db.dsn)
    try:
        async with late.transaction():
            await late.execute(
                "insert into locktender.outbox (aggregate, shard, revision, subject, type, data)"
                " values ('late', 0, 1, 's', 't', '{}')"
            )
            await rows.created(db)
            await relay.published(await relay.unpublished(_ALL, 100))
    finally:
        await late.close()
    assert [row.envelope.aggregate for row in await relay.unpublished(_ALL, 100)] == ["late"]


async def test_marking_twice_changes_nothing(db: TestDatabase) -> None:
    relay = Relay(db.database)
    await rows.created(db)
    pending = await relay.unpublished(_ALL, 100)
    await relay.published(pending)
    stamps = await db.admin.fetch("select published_at from locktender.outbox")
    await relay.published(pending)
    await relay.failed([Failed(pending[0], "too late", 1.0)])
    assert await db.admin.fetch("select published_at from locktender.outbox") == stamps
    assert await relay.backlog() == (0, 0.0)


async def test_a_redrive_tells_events_again_with_their_ids_and_no_commands(db: TestDatabase) -> None:
    relay = Relay(db.database)
    await rows.completed(db)
    before = await relay.unpublished(_ALL, 100)
    await relay.published(before)
    assert await relay.redrive(window=3600, before=await relay.now(), limit=100) == 4
    again = await relay.unpublished(_ALL, 100)
    assert [row.envelope.event_id for row in again] == [
        row.envelope.event_id for row in before if row.envelope.revision is not None
    ]


async def test_a_partition_goes_only_when_all_of_it_is_published(db: TestDatabase) -> None:
    partitions, relay = Partitions(db.database), Relay(db.database)
    await rows.created(db)
    await db.advance(3 * _DAY)
    assert len(await partitions.prepare(2)) == 3
    assert len(await partitions.retire(_DAY)) == 1, "the empty one; the other holds rows that have yet to be told"
    assert (await relay.backlog())[0] == 2
    await relay.published(await relay.unpublished(_ALL, 100))
    assert len(await partitions.retire(_DAY)) == 1
    assert await db.admin.fetchval("select count(*) from locktender.outbox") == 0


async def test_rows_outside_every_partition_are_kept_and_told(db: TestDatabase) -> None:
    await db.advance(30 * _DAY)
    await rows.created(db)
    assert await db.admin.fetchval("select count(*) from locktender.outbox_default") == 2
    assert len(await Relay(db.database).unpublished(_ALL, 100)) == 2
    prepared = await Partitions(db.database).prepare(1)
    assert len(prepared) == 1, "today's rows lie in the default partition already; tomorrow gets its own"


async def test_a_shard_has_one_live_owner(db: TestDatabase) -> None:
    one, two = (Shards(db.database, "outbox", Owner(f"outbox-{n}/x")) for n in (1, 2))
    await one.prepare()
    await two.prepare()
    assert len(await one.take(10, 30)) == 10
    assert len(await two.take(16, 30)) == 6
    assert await one.sharers() == 1
    await db.advance(20)
    assert len(await one.renew(30)) == 10
    await db.advance(20)
    assert await two.renew(30) == [], "an expired shard is not renewed"
    assert {held.epoch for held in await one.take(16, 30)} == {2}
    await one.release([0, 1])
    assert sorted(held.shard for held in await two.take(16, 30)) == [0, 1]


async def test_the_body_of_an_event_stays_small_whatever_the_task_holds(db: TestDatabase) -> None:
    claim = await rows.claimed(db, source='{"manifests": "' + "x" * 200_000 + '"}')
    await DeploymentWrites(db.database).fail(
        claim.lease, rows.told("y" * 10_000), timeline=rows.TIMELINE, failure=rows.FAILURE
    )
    assert max(len(row.envelope.body()) for row in await Relay(db.database).unpublished(_ALL, 100)) < 4096
