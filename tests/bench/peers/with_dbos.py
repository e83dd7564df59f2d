"""DBOS: durable workflows on a queue that its worker polls; the interval is the shortest that still makes sense."""

import asyncio
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version

from dbos import DBOS, DBOSClient

from tests.bench.load import Enqueue
from tests.bench.peers.peer import ready
from tests.bench.stamps import Stamps

_APPLICATION = "bench"
_QUEUE = "bench"
_POLL_SECONDS = 0.02
_START_SECONDS = 2.0


class DbosPeer:
    """See `Peer`."""

    name = f"dbos {version('dbos')}"
    unfinished = "select count(*) from dbos.workflow_status where status in ('ENQUEUED', 'PENDING', 'DELAYED')"

    async def install(self, dsn: str) -> None:
        """Its worker does that."""

    @asynccontextmanager
    async def clients(self, dsn: str, count: int) -> AsyncGenerator[list[Enqueue]]:
        """A thread and a connection each: that is how its client works."""
        client = DBOSClient(system_database_url=dsn, system_database_pool_size=count, application_name=_APPLICATION)
        threads, loop = ThreadPoolExecutor(count), asyncio.get_running_loop()

        def create(moment: int) -> None:
            client.enqueue({"queue_name": _QUEUE, "workflow_name": "noop"}, moment)

        async def enqueue(moment: int) -> None:
            await loop.run_in_executor(threads, create, moment)

        try:
            yield [enqueue] * count
        finally:
            threads.shutdown()
            client.destroy()

    async def work(self, dsn: str, stamps: Stamps) -> None:
        """One process without a limit on its workflows."""

        @DBOS.workflow(name="noop")
        def noop(moment: int) -> None:
            stamps.note("delay", time.monotonic_ns() - moment)

        DBOS(config={"name": _APPLICATION, "system_database_url": dsn, "log_level": "WARNING"})
        await asyncio.to_thread(DBOS.launch)
        await DBOS.register_queue_async(_QUEUE, polling_interval_sec=_POLL_SECONDS)
        await asyncio.sleep(_START_SECONDS)
        ready()
        await asyncio.Event().wait()
