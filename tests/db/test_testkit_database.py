from datetime import UTC, datetime, timedelta

from sqlalchemy import select

from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.statement import Statement
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase

_NOW = Statement("test.now", select(db_now().label("now")))


async def test_one_advance_moves_time_for_every_connection(db: TestDatabase) -> None:
    before = (await db.database.fetch(_NOW))[0]["now"]
    await db.advance(3600)
    after = (await db.database.fetch(_NOW))[0]["now"]
    assert timedelta(seconds=3600) <= after - before < timedelta(seconds=3660)


async def test_a_stopped_clock_stamps_every_row_alike(db: TestDatabase) -> None:
    noon = datetime(2031, 1, 1, 12, tzinfo=UTC)
    await db.at(noon)
    task = await rows.created(db)
    stamps = await db.admin.fetch(
        "select created_at from locktender.deployment_task where id = $1"
        " union all select created_at from locktender.deployment_event"
        " union all select created_at from locktender.outbox",
        task,
    )
    assert [row["created_at"] for row in stamps] == [noon] * 4
