"""The search of a whole system for canaries: its tables, its files, its processes, and all that it said to callers."""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from locktender.testkit.canaries import Cage, Canary, Hit
from locktender.testkit.system import PATIENCE, SystemRig, tasks

_PROCESSES = ("api", "runner", "outbox", "reaper", "cleanup", "cluster", "postgres", "nats")
_TRIES = 20


@dataclass(slots=True)
class Heard:
    """Everything that the system said to its callers: where, and the text."""

    texts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def listen(self, rig: SystemRig) -> None:
        """Keep every answer from now on; of streams, see `follow`."""
        rig.http.event_hooks["response"].append(self._keep)

    async def _keep(self, response: httpx.Response) -> None:
        if "event-stream" not in response.headers.get("content-type", ""):
            await response.aread()
            self.texts.append((f"answer to {response.request.method} {response.url.path}", response.text))
            self.texts.append((f"headers of {response.url.path}", str(response.headers)))

    async def follow(self, rig: SystemRig, task: str) -> None:
        """Keep the stream of a task from now to its end."""
        for _ in range(_TRIES):
            try:
                stream = rig.http.stream("GET", tasks(f"/{task}/timeline/stream"))
                async with asyncio.timeout(PATIENCE), stream as response:
                    async for line in response.aiter_lines():
                        self.texts.append((f"stream of {task}", line))
                        if line == "event: end":
                            return
            except httpx.TransportError:
                await asyncio.sleep(0.3)
        raise AssertionError(f"the stream of {task} did not end")


async def store_without_compression(rig: SystemRig) -> None:
    """Nothing can be found in compressed values, neither in the files of the tables nor in the log of changes."""
    async with rig.sql() as connection:
        columns = await connection.fetch(
            "select format('alter table %I.%I alter column %I set storage external', n.nspname, c.relname, a.attname)"
            " as sql from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n"
            " on n.oid = c.relnamespace where n.nspname = 'locktender' and c.relkind in ('r', 'p') and a.attnum > 0"
            " and not a.attisdropped and a.attstorage in ('x', 'm')"
        )
        assert columns
        for column in columns:
            await connection.execute(column["sql"])


async def at_rest(rig: SystemRig, cage: Cage) -> list[Hit]:
    """The canaries in any row of any table, in the files of the streams and in the logs."""
    hits = [hit for place, text in await rows(rig) for hit in cage.text(place, text)]
    for folder in ("nats", "logs"):
        hits += await asyncio.to_thread(cage.folder, rig.folder / folder)
    return hits


async def everywhere(rig: SystemRig, heard: Heard, cage: Cage) -> list[Hit]:
    """The canaries anywhere but in the cluster: also in what was heard, in processes and in every file."""
    hits = [hit for place, text in heard.texts for hit in cage.text(place, text)]
    hits += cage.processes(_ours(rig))
    # The database's files hold what was written only after a checkpoint.
    hits += [hit for place, text in await rows(rig, checkpoint=True) for hit in cage.text(place, text)]
    cluster = rig.system.kubeconfig.parent
    return hits + await asyncio.to_thread(cage.folder, rig.folder, besides=[cluster])


async def rows(rig: SystemRig, *, checkpoint: bool = False) -> list[tuple[str, str]]:
    """Every row of every table of ours, as text, and what the server says of its sessions."""
    found: list[tuple[str, str]] = []
    async with rig.sql() as connection:
        if checkpoint:
            await connection.execute("checkpoint")
        tables = await connection.fetch(
            "select format('%I.%I', schemaname, tablename) as name from pg_tables"
            " where schemaname not in ('pg_catalog', 'information_schema')"
        )
        for table in [each["name"] for each in tables] + ["pg_stat_activity"]:
            listed = await connection.fetch(f"select each::text as row from {table} each")  # noqa: S608 - listed by the server
            found += [(f"table {table}", each["row"]) for each in listed]
    return found


async def assert_search_works(rig: SystemRig, heard: Heard, mark: str, ends: Iterable[str]) -> None:
    """Fail unless the search finds `mark`, a value that is no secret, and the ids of tasks wherever both have to be."""
    marked = Cage([Canary("mark", mark)])
    assert any(marked.text(place, text) for place, text in await rows(rig)), "the rows hold what is no secret"
    for files in ("base", "pg_wal"):
        data = rig.folder / "postgres" / "data" / files
        assert await asyncio.to_thread(marked.folder, data), f"{data} holds what is no secret"
    ids = Cage(Canary("task", task) for task in ends)
    assert await asyncio.to_thread(ids.folder, rig.folder / "nats"), "the streams hold the events of a task"
    assert await asyncio.to_thread(ids.folder, rig.folder / "logs"), "the logs name a task"
    assert any(ids.text(place, text) for place, text in heard.texts if place.startswith("stream")), "streams were heard"


def _ours(rig: SystemRig) -> set[int]:
    """Every process below this one: the services, the servers, and the processes of the servers."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    ours, known = {os.getpid()}, 0
    while len(ours) > known:
        known = len(ours)
        ours |= {pid for pid, parent in parents.items() if parent in ours}
    assert {rig.pid(name) for name in _PROCESSES} <= ours
    return ours
