"""Outbox rows without the aggregates behind them, and whether the relay told them truthfully."""

from collections.abc import Sequence

from locktender.testkit.database import TestDatabase
from locktender.testkit.service_rig import Stored

_INSERT = """
insert into locktender.outbox (aggregate, shard, revision, subject, type, data)
select name, mod(abs(hashtext(name)), 16), revision, 'lt.evt.acme.deployments.' || name || '.progressed',
       'locktender.deployment_task.progressed', jsonb_build_object('id', name, 'revision', revision)
from (select $1 || (n % $2) as name, $4::bigint + n / $2 as revision
      from generate_series(0, $2::int * $3::int - 1) as n order by n) as told
"""


async def add_events(db: TestDatabase, aggregates: int, each: int, *, prefix: str = "task-", first: int = 1) -> None:
    """Commit `each` events, from revision `first` on, for each of `aggregates` made-up aggregates, interleaved."""
    await db.admin.execute(_INSERT, prefix, aggregates, each, first)


async def unpublished(db: TestDatabase) -> int:
    """How many rows are not marked as published."""
    return int(await db.admin.fetchval("select count(*) from locktender.outbox where published_at is null"))


async def all_published(db: TestDatabase) -> bool:
    """Whether the outbox holds rows and every one of them is marked."""
    total = await db.admin.fetchval("select count(*) from locktender.outbox")
    return total > 0 and await unpublished(db) == 0


def revisions(messages: Sequence[Stored]) -> dict[str, list[int]]:
    """The revisions of each aggregate, in the order of the stream."""
    told: dict[str, list[int]] = {}
    for message in messages:
        told.setdefault(message.headers["ce-subject"], []).append(int(message.headers["lt-revision"]))
    return told
