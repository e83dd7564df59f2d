"""PgQueuer: asyncpg, LISTEN/NOTIFY by trigger, batches on the worker's side."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from importlib.metadata import version

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from tests.bench.databases import connected
from tests.bench.load import Enqueue
from tests.bench.peers.peer import ready
from tests.bench.stamps import Stamps

_BATCH = 100
_START_SECONDS = 0.5


class PgQueuerPeer:
    """See `Peer`."""

    name = f"pgqueuer {version('pgqueuer')}"
    unfinished = "select count(*) from pgqueuer"

    async def install(self, dsn: str) -> None:
        """Durable tables, which is its default."""
        async with connected(dsn) as connection:
            await Queries(AsyncpgDriver(connection)).install()

    @asynccontextmanager
    async def clients(self, dsn: str, count: int) -> AsyncGenerator[list[Enqueue]]:
        """A connection each: a pool would spend a round trip on every return."""
        async with AsyncExitStack() as stack:
            made = [await stack.enter_async_context(connected(dsn)) for _ in range(count)]
            yield [_enqueue(Queries(AsyncpgDriver(connection))) for connection in made]

    async def work(self, dsn: str, stamps: Stamps) -> None:
        """One queue manager."""
        connection = await asyncpg.connect(dsn)
        manager = PgQueuer.from_asyncpg_connection(connection)

        @manager.entrypoint("noop")
        async def noop(job: Job) -> None:
            if job.payload is not None:
                stamps.note("delay", time.monotonic_ns() - int(job.payload))

        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run(batch_size=_BATCH, dequeue_timeout=timedelta(seconds=5)))
            await asyncio.sleep(_START_SECONDS)
            ready()


def _enqueue(queries: Queries) -> Enqueue:
    def enqueue(moment: int) -> Awaitable[object]:
        return queries.enqueue("noop", str(moment).encode())

    return enqueue
