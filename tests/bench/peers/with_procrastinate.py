"""Procrastinate: psycopg, LISTEN/NOTIFY by trigger, one fetch a job."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version

import procrastinate
from procrastinate.tasks import Task

from tests.bench.load import Enqueue
from tests.bench.peers.peer import ready
from tests.bench.stamps import Stamps

_CONCURRENCY = 16
_POLL_SECONDS = 0.5
_START_SECONDS = 0.5


class ProcrastinatePeer:
    """See `Peer`."""

    name = f"procrastinate {version('procrastinate')}"
    unfinished = "select count(*) from procrastinate_jobs where status in ('todo', 'doing')"

    async def install(self, dsn: str) -> None:
        """Its schema."""
        async with _app(dsn, 1).open_async() as app:
            await app.schema_manager.apply_schema_async()

    @asynccontextmanager
    async def clients(self, dsn: str, count: int) -> AsyncGenerator[list[Enqueue]]:
        """One pool with a connection for each client."""
        async with _app(dsn, count).open_async() as app:
            task = _task(app, Stamps())

            async def enqueue(moment: int) -> None:
                await task.defer_async(moment=moment)

            yield [enqueue] * count

    async def work(self, dsn: str, stamps: Stamps) -> None:
        """One worker that carries out up to 16 jobs at a time."""
        async with _app(dsn, _CONCURRENCY + 2).open_async() as app, asyncio.TaskGroup() as group:
            _task(app, stamps)
            group.create_task(
                app.run_worker_async(
                    concurrency=_CONCURRENCY, listen_notify=True, install_signal_handlers=False,
                    fetch_job_polling_interval=_POLL_SECONDS,
                )
            )  # fmt: skip
            await asyncio.sleep(_START_SECONDS)
            ready()


def _app(dsn: str, connections: int) -> procrastinate.App:
    connector = procrastinate.PsycopgConnector(conninfo=dsn, min_size=connections, max_size=connections)
    return procrastinate.App(connector=connector)


def _task(app: procrastinate.App, stamps: Stamps) -> Task:
    @app.task(name="noop")
    async def noop(moment: int) -> None:
        stamps.note("delay", time.monotonic_ns() - moment)

    return noop
