"""Migrated databases for tests: one template a session, a copy of it a test, and a clock that tests move."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import asyncpg

from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import Database, open_database
from locktender.storage.migrations import migrate
from locktender.testkit.servers import PostgresServer

_TIMEOUT = 30

_CLOCK = """
create schema if not exists testkit;
create table if not exists testkit.clock (
  only_row boolean primary key default true check (only_row), frozen timestamptz, ahead interval not null default '0');
insert into testkit.clock default values on conflict do nothing;
grant usage on schema testkit to public;
grant select on testkit.clock to public;
create or replace function locktender.now() returns timestamptz language sql stable parallel safe
  as 'select coalesce(frozen, statement_timestamp()) + ahead from testkit.clock';
"""


@dataclass(frozen=True)
class TestDatabase:
    """A migrated database of its own.

    Attributes:
        dsn: its superuser's address.
        database: what the product opens, over that address.
        admin: a bare superuser connection, for planting rows and looking under the lid. One statement at a time.
    """

    __test__ = False

    name: str
    dsn: str = field(repr=False)
    database: Database = field(repr=False)
    admin: "asyncpg.Connection[asyncpg.Record]" = field(repr=False)

    @cached_property
    def writes(self) -> DeploymentWrites:
        """The writes of this database. They compile every statement when they are made, so they are made once."""
        return DeploymentWrites(self.database)

    async def advance(self, seconds: float) -> None:
        """Move the database's clock on, for every connection at once. Between two advances it goes as ever."""
        await self._install_clock()
        await self.admin.execute("update testkit.clock set ahead = ahead + $1 * interval '1 second'", seconds)

    async def at(self, moment: datetime) -> None:
        """Stop the database's clock at `moment`. `advance` still moves it."""
        await self._install_clock()
        await self.admin.execute("update testkit.clock set frozen = $1, ahead = '0'", moment)

    async def now(self) -> datetime:
        """What the database's clock says."""
        return await self.admin.fetchval("select locktender.now()")

    @asynccontextmanager
    async def unguarded(self) -> AsyncGenerator["asyncpg.Connection[asyncpg.Record]"]:
        """The superuser's connection in a transaction without triggers and foreign keys, to plant what cannot be."""
        async with self.admin.transaction():
            await self.admin.execute("set local session_replication_role = replica")
            yield self.admin

    async def _install_clock(self) -> None:
        # On first use only, so that tests of plans and of the catalogue see the function that ships.
        if await self.admin.fetchval("select to_regclass('testkit.clock') is null"):
            await self.admin.execute(_CLOCK)


@contextmanager
def migrated_template(server: PostgresServer) -> Generator[str]:
    """The name of a migrated database to copy from. Call it where no event loop runs."""
    name = f"lt_template_{secrets.token_hex(4)}"
    asyncio.run(_make_template(server, name))
    try:
        yield name
    finally:
        asyncio.run(_drop(server, name))


@asynccontextmanager
async def empty_database(server: PostgresServer, template: str = "template1") -> AsyncGenerator[str]:
    """The name of a new database, dropped afterwards whoever is still connected."""
    name = f"lt_{secrets.token_hex(6)}"
    await _execute(server, f'create database "{name}" template "{template}"')
    try:
        yield name
    finally:
        await _drop(server, name)


@asynccontextmanager
async def migrated_database(server: PostgresServer, template: str, *, size: int = 4) -> AsyncGenerator[TestDatabase]:
    """A copy of the template, opened with a pool of at most `size` connections."""
    async with empty_database(server, template) as name:
        dsn = server.dsn(name)
        admin = await asyncpg.connect(dsn, timeout=_TIMEOUT)
        try:
            async with open_database(dsn, name="test", size=size) as database:
                yield TestDatabase(name, dsn, database, admin)
        finally:
            await admin.close(timeout=_TIMEOUT)


async def _make_template(server: PostgresServer, name: str) -> None:
    await _execute(server, f'create database "{name}"')
    await migrate(server.dsn(name))


async def _drop(server: PostgresServer, name: str) -> None:
    await _execute(server, f'drop database if exists "{name}" with (force)')


async def _execute(server: PostgresServer, sql: str) -> None:
    connection = await asyncpg.connect(server.dsn(), timeout=_TIMEOUT)
    try:
        await connection.execute(sql, timeout=_TIMEOUT)
    finally:
        await connection.close(timeout=_TIMEOUT)
