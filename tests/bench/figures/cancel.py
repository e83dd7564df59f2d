"""`cancel`: from the cancel request over HTTP to the moment at which the running executor is told to stop.

All processes are the real ones. Runs hold their task until they are aborted; cancels come at 20 a second.
"""

import asyncio
import json
from pathlib import Path

from tests.bench import load, stamps
from tests.bench.figures.e2e import CREATED, NOOP, PATH
from tests.bench.http import Connection, Refused, connections, post
from tests.bench.report import Figure, percentiles, scaled
from tests.bench.rig import System, rig

_RUNS = 240
_RATE = 20.0
_CLIENTS = 8
_OK = 200


async def measure() -> Figure:
    """Hold first, then cancel one after the other."""
    async with rig() as servers:
        path = servers.folder.path / "runner.stamps"
        async with servers.system(
            environment={stamps.STAMPS: str(path)}, modules={"runner": ("tests.bench.runner", "hold")}
        ) as system:
            tasks = await held(system, path, max(4, int(scaled(_RUNS))))
            sent = await _cancelled(system, tasks)
            await noted(path, "aborted", len(tasks))
            aborted = moments(path, "aborted")
    found = percentiles([(aborted[task] - moment) / 1e6 for task, moment in sent.items()])
    return Figure(
        "cancel", found["p99_ms"], "ms",
        rest={
            **found, "rate": _RATE, "from": "the request is written", "to": "the executor's body is cancelled",
        },
    )  # fmt: skip


async def held(system: System, path: Path, count: int) -> list[str]:
    """So many tasks, each held by a run of its own."""
    request = post(system.url, system.token, PATH, NOOP)
    before = len(moments(path, "holding"))
    tasks: list[str] = []
    async with connections(system.url, 1) as (connection,):
        for _ in range(count):
            status, body = await connection.ask(request)
            if status != CREATED:
                raise Refused(f"{status}: {body[:300].decode(errors='replace')}")
            tasks.append(json.loads(body)["task"]["id"])
    await noted(path, "holding", before + count)
    return tasks


async def noted(path: Path, word: str, count: int) -> None:
    """Return once `count` runs have noted `word`.

    Raises:
        TimeoutError: they did not within 15 s.
    """
    async with asyncio.timeout(15):
        while len(moments(path, word)) < count:  # noqa: ASYNC110 - another process does not tell
            await asyncio.sleep(0.05)


def moments(path: Path, word: str) -> dict[str, int]:
    """When each task's run noted `word`."""
    return {said.partition(":")[2]: number for said, number in stamps.read(path) if said.startswith(f"{word}:")}


async def _cancelled(system: System, tasks: list[str]) -> dict[str, int]:
    sent: dict[str, int] = {}
    waiting = list(tasks)
    async with connections(system.url, _CLIENTS) as idle:

        async def cancel(moment: int) -> None:
            if not waiting:
                return
            task, connection = waiting.pop(), _taken(idle)
            sent[task] = moment
            try:
                status, body = await connection.ask(post(system.url, system.token, f"{PATH}/{task}/cancel"))
            finally:
                idle.append(connection)
            if status != _OK:
                raise Refused(f"{status}: {body[:300].decode(errors='replace')}")

        while waiting:
            await load.paced([cancel], _RATE, len(waiting) / _RATE)
    return sent


def _taken(idle: list[Connection]) -> Connection:
    if not idle:
        raise Refused("no cancel was answered for too long")
    return idle.pop()
