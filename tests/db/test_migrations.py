"""The migrated database is the declared one, to the last index predicate, and today's guards are in it."""

import asyncio
import sys
from collections.abc import Iterable

import asyncpg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine

import locktender.storage.cleanup.tables
import locktender.storage.deployments.tables
import locktender.storage.stacks.pool_tables
import locktender.storage.stacks.tables  # noqa: F401 - both declare their tables
from locktender.contracts.cleanup.flow import CLEANUP_JOB
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, STACK_RUN, STACK_STAGE
from locktender.storage.kernel.functions import CLOCK, FUNCTIONS
from locktender.storage.kernel.tables import metadata
from locktender.storage.kernel.triggers import guard_trigger
from locktender.storage.migrations import migrate
from locktender.storage.stacks.lane_guard import lane_guard
from locktender.storage.stacks.tables import RUN_FINAL
from locktender.testkit.database import TestDatabase, empty_database
from locktender.testkit.servers import PostgresServer

_MACHINES = {DEPLOYMENT_TASK: (), CLEANUP_JOB: (), STACK_DEPLOYMENT: (), STACK_STAGE: (), STACK_RUN: RUN_FINAL}

# The parts of the catalogue, as queries over the relations of our schema; partitions come and go and do not count.
_CATALOGUE = {
    "tables": """
        select c.relname, c.relkind::text, pg_get_partkeydef(c.oid) from ours c where c.relkind in ('r', 'p', 'S')""",
    "columns": """
        select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
          pg_get_expr(d.adbin, d.adrelid)
        from ours c join pg_attribute a on a.attrelid = c.oid
          left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p')""",
    "constraints": """
        select c.relname, k.conname, k.contype::text, pg_get_constraintdef(k.oid)
        from ours c join pg_constraint k on k.conrelid = c.oid""",
    "indexes": """
        select c.relname, pg_get_indexdef(i.indexrelid) from ours c join pg_index i on i.indexrelid = c.oid""",
    "functions": """
        select p.proname, pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = 'locktender'::regnamespace""",
    "triggers": """
        select c.relname, t.tgname, pg_get_triggerdef(t.oid), t.tgenabled::text
        from ours c join pg_trigger t on t.tgrelid = c.oid where not t.tgisinternal""",
}
_OURS = """
    with ours as (
      select * from pg_class where relnamespace = 'locktender'::regnamespace and not relispartition)"""


async def _catalogue(dsn: str, part: str) -> list[tuple[object, ...]]:
    connection = await asyncpg.connect(dsn)
    try:
        return sorted((tuple(row) for row in await connection.fetch(_OURS + _CATALOGUE[part])), key=repr)
    finally:
        await connection.close()


def _declare(connection: Connection, after: Iterable[str]) -> None:
    clock, new_event_id, *others = FUNCTIONS
    assert clock == CLOCK
    connection.execute(text("create schema locktender"))
    for sql in (clock, new_event_id):
        connection.exec_driver_sql(sql)
    metadata.create_all(connection)
    connection.exec_driver_sql("create table locktender.outbox_default partition of locktender.outbox default")
    for sql in (*others, *after):
        connection.exec_driver_sql(sql)


@pytest.mark.parametrize("part", _CATALOGUE)
async def test_the_migrated_database_is_the_declared_one(
    db: TestDatabase, postgres_server: PostgresServer, part: str
) -> None:
    async with empty_database(postgres_server) as name:
        dsn = postgres_server.dsn(name)
        engine = create_async_engine(dsn.replace("postgresql://", "postgresql+asyncpg://", 1))
        try:
            async with engine.begin() as connection:
                guards = [guard for machine, final in _MACHINES.items() for guard in guard_trigger(machine, final)]
                await connection.run_sync(_declare, [*guards, *lane_guard()])
        finally:
            await engine.dispose()
        declared = await _catalogue(dsn, part)
    assert declared
    assert await _catalogue(db.dsn, part) == declared


async def test_migrating_again_changes_nothing(db: TestDatabase) -> None:
    before = {part: await _catalogue(db.dsn, part) for part in _CATALOGUE}
    await migrate(db.dsn)
    assert {part: await _catalogue(db.dsn, part) for part in _CATALOGUE} == before


async def test_several_migrators_at_once_wait_for_each_other(postgres_server: PostgresServer) -> None:
    async with empty_database(postgres_server) as name:
        dsn = postgres_server.dsn(name)
        program = (
            "import asyncio, sys; from locktender.storage.migrations import migrate; asyncio.run(migrate(sys.argv[1]))"
        )
        processes = [await asyncio.create_subprocess_exec(sys.executable, "-c", program, dsn) for _ in range(2)]
        assert [await process.wait() for process in processes] == [0, 0]
        assert len(await _catalogue(dsn, "tables")) > 5


async def test_a_database_that_is_not_there_is_unavailable(postgres_server: PostgresServer) -> None:
    with pytest.raises(Unavailable, match="could not be brought up to date"):
        await migrate(postgres_server.dsn("no_such_database"))


async def test_the_first_days_have_their_partitions(db: TestDatabase) -> None:
    parts = await db.admin.fetchval("select count(*) from pg_inherits where inhparent = 'locktender.outbox'::regclass")
    assert parts == 4
