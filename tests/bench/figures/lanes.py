"""`lanes`: promotions a second. Each ends a run, moves its deployment, gives the lane on and tells all of it.

So a promotion is the transaction of a `done`, and the one by which a runner takes the next run; a create keeps the
queue of its stack filled, and is a third. Twenty stacks, each with a queue; runners in this process, without HTTP.
"""

import asyncio
import time
from uuid import UUID

from locktender.storage.kernel.database import Database, open_database
from locktender.storage.migrations import migrate
from tests.bench import stacks
from tests.bench.report import Figure, note, percentiles, scaled
from tests.bench.rig import rig

_STACKS = 20
_QUEUED = 5
_SECONDS = 8.0


async def measure() -> Figure:
    """One worker a stack: take what holds its lane, end it, put another one behind."""
    async with rig() as servers:
        dsn = servers.postgres.dsn()
        await migrate(dsn)
        async with open_database(dsn, name="bench", size=8) as database:
            owners = [await stacks.new_stack(database, f"stack-{place}") for place in range(_STACKS)]
            queues = [[await stacks.deploy(database, owner) for _ in range(_QUEUED)] for owner in owners]
            note(f"{_STACKS} stacks with {_QUEUED} deployments each")
            seconds, ended = scaled(_SECONDS), list[float]()
            began = time.monotonic()
            async with asyncio.TaskGroup() as group:
                for owner, queue in zip(owners, queues, strict=True):
                    group.create_task(_work(database, owner, queue, began + seconds, ended))
            taken = time.monotonic() - began
    return Figure(
        "lanes", len(ended) / taken, "promotions/s",
        rest={"stacks": _STACKS, "transactions": 3 * len(ended) / taken, "done_ms": percentiles(ended)},
    )  # fmt: skip


async def _work(database: Database, owner: UUID, queue: list[UUID], until: float, ended: list[float]) -> None:
    while time.monotonic() < until:
        run = await stacks.taken(database, queue.pop(0))
        began = time.monotonic()
        await stacks.finish(database, run)
        ended.append((time.monotonic() - began) * 1e3)
        queue.append(await stacks.deploy(database, owner))
