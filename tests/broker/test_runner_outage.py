"""A run's writes when the database goes away in the middle of them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from locktender.contracts.kernel.errors import Unavailable
from locktender.runner.executors.run import Superseded
from locktender.runner.fenced import FencedRow
from locktender.runner.handle import LeasedHandle
from locktender.runtime.abort import Abort, AbortReason
from locktender.runtime.clock import SystemClock
from locktender.storage.deployments.reads import DeploymentReads
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import open_database
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.proxy import TcpProxy
from locktender.testkit.rows import TIMELINE, claimed

FAR = "acme"


class Line:
    """A handle whose database is behind a proxy."""

    def __init__(self, proxy: TcpProxy, handle: LeasedHandle, signal: Abort) -> None:
        self.proxy = proxy
        self.handle = handle
        self.signal = signal


@asynccontextmanager
async def line(db: TestDatabase, *, patience: float = 20.0) -> AsyncGenerator[Line]:
    where = urlsplit(db.dsn)
    claim = await claimed(db)
    async with TcpProxy(where.hostname or "", where.port or 5432) as proxy:
        dsn = where._replace(netloc=f"{where.username}:{where.password}@127.0.0.1:{proxy.port}").geturl()
        async with open_database(dsn, name="behind a proxy", size=2, deadline=5) as database:
            signal = Abort()
            row = FencedRow(
                claim.lease, FAR, DeploymentReads(database), signal=signal, clock=SystemClock(), wrote=lambda: None,
                patience=patience,
            )  # fmt: skip
            yield Line(proxy, LeasedHandle(row, DeploymentWrites(database), signal, timeline=TIMELINE), signal)


async def kinds(db: TestDatabase) -> list[str]:
    rows = await db.admin.fetch("select kind from locktender.deployment_event order by revision")
    return [row["kind"] for row in rows]


async def waiting_for_a_lock(db: TestDatabase) -> None:
    query = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    await eventually(lambda: db.admin.fetchval(query))


async def test_an_outcome_whose_answer_was_lost_is_found_written_and_not_written_again(db: TestDatabase) -> None:
    async with line(db) as far, asyncio.TaskGroup() as group:
        await far.handle.begin_applying()
        async with db.admin.transaction():
            await db.admin.execute("select 1 from locktender.deployment_task for update")
            ending = group.create_task(far.handle.complete("done"))
            await waiting_for_a_lock(db)
            # The server still works on the statement when its client is gone.
            await far.proxy.reset()
        await ending
    assert far.handle.outcome == "completed"
    assert await kinds(db) == ["created", "started", "applying", "completed"]


async def test_a_write_that_found_no_database_is_made_when_it_is_back(db: TestDatabase) -> None:
    async with line(db) as far, asyncio.TaskGroup() as group:
        await far.proxy.cut()
        writing = group.create_task(far.handle.emit("halfway"))
        await asyncio.sleep(0.3)
        assert not writing.done()
        await far.proxy.heal()
        await writing
    assert await kinds(db) == ["created", "started", "progressed"]


async def test_a_progress_note_that_landed_unheard_is_not_repeated(db: TestDatabase) -> None:
    async with line(db) as far, asyncio.TaskGroup() as group:
        async with db.admin.transaction():
            await db.admin.execute("select 1 from locktender.deployment_task for update")
            writing = group.create_task(far.handle.emit("halfway"))
            await waiting_for_a_lock(db)
            await far.proxy.reset()
        await writing
    assert await kinds(db) == ["created", "started", "progressed"]


async def test_a_run_gives_up_when_the_database_stays_away(db: TestDatabase) -> None:
    async with line(db, patience=0.5) as far:
        await far.proxy.cut()
        with pytest.raises(Unavailable, match="cannot be recorded"):
            await far.handle.begin_applying()


async def test_a_fenced_run_stops_trying_although_the_database_is_away(db: TestDatabase) -> None:
    async with line(db) as far, asyncio.TaskGroup() as group:
        await far.proxy.cut()

        async def ending() -> None:
            with pytest.raises(Superseded):
                await far.handle.begin_applying()

        trying = group.create_task(ending())
        await asyncio.sleep(0.2)
        far.signal.trip(AbortReason.SUPERSEDED)
        async with asyncio.timeout(5):
            await trying


async def test_a_row_that_moved_on_during_the_outage_supersedes_the_run(db: TestDatabase) -> None:
    async with line(db) as far, asyncio.TaskGroup() as group:
        await far.proxy.cut()

        async def ending() -> None:
            with pytest.raises(Superseded):
                await far.handle.begin_applying()

        trying = group.create_task(ending())
        await DeploymentWrites(db.database).sweep("timeout", 10, 0.0)
        await far.proxy.heal()
        await trying
    assert far.signal.reason is AbortReason.SUPERSEDED


async def test_after_the_outcome_every_call_is_refused(db: TestDatabase) -> None:
    async with line(db) as far:
        await far.handle.begin_applying()
        await far.handle.complete("done")
        with pytest.raises(Superseded):
            far.handle.checkpoint()
        with pytest.raises(Superseded):
            far.handle.stage()
        with pytest.raises(Superseded):
            await far.handle.emit("more")
        with pytest.raises(Superseded):
            await far.handle.acknowledge_cancel()


async def test_a_run_cannot_complete_before_it_began_to_apply(db: TestDatabase) -> None:
    async with line(db) as far:
        with pytest.raises(RuntimeError):
            await far.handle.complete("done")
