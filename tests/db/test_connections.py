"""Callers come and go, connections break: no connection leaks, and nobody believes what is not known."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg
import pytest
from sqlalchemy import Integer, func, select

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.lease import Owner
from locktender.storage.deployments.reads import DeploymentReads
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import Database, OutcomeUnknown, open_database
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.verify import violations
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase
from locktender.testkit.proxy import TcpProxy

_ONE = Statement("test.one", select(parameter("value", Integer()).label("value")))
_SLEEPERS = "select pid from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()"
_SLOW = Statement("test.slow", select(func.pg_sleep(30)))


@asynccontextmanager
async def _through_proxy(db: TestDatabase, *, deadline: float = 10.0) -> AsyncGenerator[tuple[Database, TcpProxy]]:
    parts = urlsplit(db.dsn)
    async with TcpProxy(parts.hostname or "", parts.port or 5432) as proxy:
        where = f"{parts.username}:{parts.password}@127.0.0.1:{proxy.port}"
        dsn = parts._replace(netloc=where, query="sslmode=disable").geturl()
        async with open_database(dsn, name="proxied", size=2, deadline=deadline) as database:
            yield database, proxy


async def _eventually(holds: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(10):
        while not await holds():  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)


async def _busy(db: TestDatabase) -> None:
    """Return once the slow statement runs on the server."""
    await _eventually(lambda: db.admin.fetchval(f"select exists ({_SLEEPERS} and state = 'active')"))


async def test_callers_that_are_cancelled_anywhere_leak_no_connection(db: TestDatabase) -> None:
    writes, reads = DeploymentWrites(db.database), DeploymentReads(db.database)
    chance = random.Random(20)  # noqa: S311 - a seed to repeat, not a secret
    lease = (await rows.claimed(db)).lease

    async def call(kind: int) -> None:
        match kind:
            case 0:
                await writes.create(rows.new_task())
            case 1:
                await writes.record(lease, rows.told(), phase="prepare", timeline=rows.TIMELINE)
            case 2:
                await reads.snapshot("acme", lease.row_id)
            case _:
                await writes.renew([lease], 60)

    for turn in range(200):
        async with asyncio.TaskGroup() as group:
            doomed = group.create_task(call(turn % 4))
            for _ in range(chance.randrange(8)):
                await asyncio.sleep(chance.choice([0, 0, 0.001]))
            doomed.cancel()

    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(db.database.fetch(_ONE, value=1))
    pool = db.database._pool

    async def all_idle() -> bool:
        return pool.get_idle_size() == pool.get_size()

    await _eventually(all_idle)
    open_transactions = (
        "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in%'"
    )
    assert await db.admin.fetchval(open_transactions) == 0
    assert await violations(db.database) == []


async def test_a_lost_connection_leaves_the_outcome_unknown(db: TestDatabase) -> None:
    async with _through_proxy(db) as (database, proxy):
        async with asyncio.TaskGroup() as group:
            slow = group.create_task(_outcome(database))
            await _busy(db)
            await proxy.reset()
        assert isinstance(slow.result(), OutcomeUnknown)
        assert (await database.fetch(_ONE, value=7))[0]["value"] == 7


async def test_a_silent_connection_leaves_the_outcome_unknown_after_the_deadline(db: TestDatabase) -> None:
    async with _through_proxy(db, deadline=0.5) as (database, proxy), asyncio.timeout(8):
        await database.fetch(_ONE, value=1)
        proxy.blackhole()
        assert isinstance(await _outcome(database), OutcomeUnknown)
        await proxy.heal()
        assert (await database.fetch(_ONE, value=7))[0]["value"] == 7


async def test_a_server_that_ends_the_session_leaves_the_outcome_unknown(db: TestDatabase) -> None:
    async with asyncio.TaskGroup() as group:
        slow = group.create_task(_outcome(db.database))
        await _busy(db)
        await db.admin.execute(f"select pg_terminate_backend(pid) from ({_SLEEPERS}) sleeping")  # noqa: S608 - ours
    assert isinstance(slow.result(), OutcomeUnknown)


async def test_a_server_that_is_down_is_unavailable_and_nothing_was_sent(db: TestDatabase) -> None:
    async with _through_proxy(db) as (database, proxy):
        await proxy.cut()
        with pytest.raises(Unavailable):
            await database.fetch(_ONE, value=1)  # this one may have been sent before the end of the line was seen
        with pytest.raises(Unavailable) as caught:
            await database.fetch(_ONE, value=1)
        assert not isinstance(caught.value, OutcomeUnknown)
        await proxy.heal()
        assert (await database.fetch(_ONE, value=7))[0]["value"] == 7


async def test_a_write_whose_answer_was_lost_can_be_read_back(db: TestDatabase) -> None:
    async with _through_proxy(db) as (database, proxy):
        task = rows.new_task()
        await database.fetch(_ONE, value=1)
        async with asyncio.TaskGroup() as group:
            proxy.latency(0.2)
            creation = group.create_task(_created(DeploymentWrites(database), task))
            await _eventually(lambda: db.admin.fetchval("select count(*) from locktender.deployment_task"))
            await proxy.reset()
        assert isinstance(creation.result(), OutcomeUnknown)
        await proxy.heal()
        assert await DeploymentReads(database).snapshot("acme", task.id) is not None


async def test_a_claim_whose_answer_was_lost_is_found_by_its_owner_and_only_by_it(db: TestDatabase) -> None:
    async with _through_proxy(db) as (database, proxy):
        task = rows.new_task()
        await DeploymentWrites(db.database).create(task)
        await database.fetch(_ONE, value=1)
        async with asyncio.TaskGroup() as group:
            proxy.latency(0.2)
            claim = group.create_task(_claim(DeploymentWrites(database), task))
            await _eventually(
                lambda: db.admin.fetchval("select count(*) from locktender.deployment_task where status = 'running'")
            )
            await proxy.reset()
        assert isinstance(claim.result(), OutcomeUnknown)
        await proxy.heal()
        writes = DeploymentWrites(database)
        [found] = await writes.claimed([task.id], Owner("r/1"), 60.0)
        assert found.lease.epoch == 1
        assert await writes.claimed([task.id], Owner("r/2"), 60.0) == []
        await db.advance(120)
        assert await writes.claimed([task.id], Owner("r/1"), 60.0) == []


async def test_no_database_is_unavailable(db: TestDatabase) -> None:
    with pytest.raises(Unavailable, match="cannot connect"):
        async with open_database(f"{db.dsn}_missing", name="test"):
            pytest.fail("there is nothing to open")


async def test_what_the_server_refuses_is_raised_as_it_is(db: TestDatabase) -> None:
    wrong = Statement("test.wrong", select(func.no_such_function()))
    with pytest.raises(asyncpg.UndefinedFunctionError):
        await db.database.fetch(wrong)


async def _outcome(database: Database) -> Exception | None:
    try:
        await database.fetch(_SLOW)
    except Unavailable as error:
        return error
    return None


async def _created(writes: DeploymentWrites, task: "rows.NewTask") -> Exception | None:
    try:
        await writes.create(task)
    except Unavailable as error:
        return error
    return None


async def _claim(writes: DeploymentWrites, task: "rows.NewTask") -> Exception | None:
    try:
        await writes.claim([task.id], Owner("r/1"), 60.0)
    except Unavailable as error:
        return error
    return None
