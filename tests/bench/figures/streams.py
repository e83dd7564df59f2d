"""`streams`: what 500 readers of streams cost the API while nothing happens, in cores."""

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from tests.bench import cpu, load
from tests.bench.figures.e2e import CREATED
from tests.bench.http import Connection, Refused, connections, post
from tests.bench.report import Figure, note, quantile, scaled
from tests.bench.rig import System, rig

_READERS = 500
_PROJECTS = 25
_SECONDS = 20.0
_TARGET = 0.02
_TASKS = "/v1/workspaces/bench/deployment-tasks"


class Reader(asyncio.Protocol):
    """Reads one stream, counts the signs of life, and knows when it was last told anything else."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: asyncio.WriteTransport | None = None
        self.heartbeats = 0
        self.told = 0
        self.told_at = 0.0
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Told by the event loop."""
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Told by the event loop."""
        self.heartbeats += data.count(b": heartbeat")
        told = data.count(b"event: ")
        if told:
            self.told += told
            self.told_at = time.monotonic()

    def connection_lost(self, exc: Exception | None) -> None:
        """Told by the event loop."""
        del exc
        self.lost = True

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()


async def measure() -> Figure:
    """Half of them follow a task each, the others projects, twenty to one project."""
    seconds = scaled(_SECONDS)
    async with rig() as servers, servers.system(("api", "outbox")) as system:
        tasks = await _tasks(system, _READERS // 2)
        without = await _cores(system, seconds)
        readers = await _opened(system, tasks)
        try:
            await load.until(lambda: _all_told(readers), seconds=30)
            await asyncio.sleep(scaled(10.0))
            before = sum(reader.heartbeats for reader in readers)
            idle = await _cores(system, seconds)
            heartbeats = sum(reader.heartbeats for reader in readers) - before
            delays = await _told_of_a_change(system, readers, tasks[0])
            lost = sum(reader.lost for reader in readers)
        finally:
            for reader in readers:
                reader.close()
    return Figure(
        "streams", idle["api"], "cores", "2 % of a core", _TARGET / idle["api"] if idle["api"] else None,
        {
            "readers": len(readers), "lost": lost, "heartbeats": heartbeats,
            "without_readers": without, "with_readers": idle, "told_of_a_change_ms": delays,
        },
    )  # fmt: skip


async def _tasks(system: System, count: int) -> list[str]:
    """Tasks that stay queued, because nobody runs them."""
    made: list[str] = []
    async with connections(system.url, 1) as [connection]:
        for place in range(count):
            body = {"source": {"kind": "noop"}, "target": {"project": f"p{place % _PROJECTS}"}}
            made.append((await _asked(system, connection, _TASKS, body))["task"]["id"])
    return made


async def _asked(system: System, connection: Connection, path: str, body: dict[str, Any]) -> Any:
    status, answer = await connection.ask(post(system.url, system.token, path, body))
    if status not in {200, CREATED}:
        raise Refused(f"{status}: {answer[:300].decode(errors='replace')}")
    return json.loads(answer)


async def _opened(system: System, tasks: Sequence[str]) -> list[Reader]:
    paths = [f"{_TASKS}/{task}/timeline/stream" for task in tasks]
    paths += [f"/v1/workspaces/bench/projects/p{n % _PROJECTS}/deployment-tasks/stream" for n in range(len(tasks))]
    address, loop = urlsplit(system.url), asyncio.get_running_loop()
    readers: list[Reader] = []
    for path in paths:
        request = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {system.token}\r\n\r\n"
        reader = Reader(request.encode())
        await loop.create_connection(lambda reader=reader: reader, address.hostname or "", address.port or 80)
        readers.append(reader)
    note(f"{len(readers)} readers")
    return readers


async def _all_told(readers: Sequence[Reader]) -> bool:
    return all(reader.told for reader in readers)


async def _cores(system: System, seconds: float) -> dict[str, float]:
    before, began = cpu.usage(system.pids()), time.monotonic()
    await asyncio.sleep(seconds)
    return cpu.shares(before, cpu.usage(system.pids()), time.monotonic() - began)


async def _told_of_a_change(system: System, readers: Sequence[Reader], task: str) -> dict[str, float]:
    """From the request that changes a task to every reader that has to know: proof that all of them listen."""
    half = len(readers) // 2
    concerned = [readers[0], *(reader for place, reader in enumerate(readers[half:]) if place % _PROJECTS == 0)]
    known = [reader.told for reader in concerned]

    async def told() -> bool:
        return all(reader.told > before for reader, before in zip(concerned, known, strict=True))

    async with connections(system.url, 1) as [connection]:
        began = time.monotonic()
        await _asked(system, connection, f"{_TASKS}/{task}/cancel", {})
        await load.until(told, seconds=15)
    delays = [(reader.told_at - began) * 1e3 for reader in concerned]
    return {"readers": len(delays), "p50": round(quantile(delays, 0.5), 1), "most": round(max(delays), 1)}
