from collections.abc import AsyncGenerator

import pytest

from locktender.outbox.app import serve
from locktender.outbox.settings import OutboxSettings
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.outbox_rows import all_published
from locktender.testkit.service_rig import running

DAY = 86_400.0


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as started:
        yield started


def settings(db: TestDatabase, rig: NatsRig, **stated: object) -> OutboxSettings:
    return OutboxSettings(database_url=db.dsn, nats_url=rig.nats_url, **stated)


async def days(db: TestDatabase) -> list[int]:
    """The partitions, as days from today of the database's clock."""
    found = await db.admin.fetch(
        "select to_date(right(c.relname, 8), 'YYYYMMDD') - (locktender.now() at time zone 'UTC')::date as day "
        "from pg_inherits i join pg_class c on c.oid = i.inhrelid "
        "where i.inhparent = 'locktender.outbox'::regclass and c.relname ~ '^outbox_[0-9]{8}$' order by 1"
    )
    return [row["day"] for row in found]


async def has(db: TestDatabase, expected: list[int]) -> bool:
    return await days(db) == expected


async def test_a_relay_that_starts_makes_the_partitions_of_the_coming_days(db: TestDatabase, rig: NatsRig) -> None:
    await db.advance(2 * DAY)
    assert await days(db) == [-2, -1, 0]
    async with running("outbox", serve, settings(db, rig)):
        await eventually(lambda: has(db, [-2, -1, 0, 1, 2]))


async def test_published_days_are_dropped_after_their_retention_and_unpublished_ones_never(
    db: TestDatabase, rig: NatsRig
) -> None:
    noon = (await db.now()).replace(hour=12, minute=0)
    await db.at(noon)
    async with running("outbox", serve, settings(db, rig)):
        await rows.created(db)
        await eventually(lambda: all_published(db))
    await db.advance(DAY)
    await db.admin.execute(
        "insert into locktender.outbox (aggregate, shard, revision, subject, type, data) "
        "values ('stuck', 3, 1, 'nobody.listens', 'x', '{}')"
    )
    await db.advance(8 * DAY)
    async with running("outbox", serve, settings(db, rig)):
        await eventually(lambda: has(db, [-8, -7, 0, 1, 2]))
    await db.admin.execute("update locktender.outbox set published_at = locktender.now()")
    async with running("outbox", serve, settings(db, rig)):
        await eventually(lambda: has(db, [-7, 0, 1, 2]))
