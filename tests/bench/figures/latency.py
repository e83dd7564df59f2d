"""`latency`: from the call that creates to the first instruction of the work, at 20 a second."""

import json
import time

from tests.bench import load, stamps
from tests.bench.figures.e2e import CREATED, NOOP, PATH
from tests.bench.http import Connection, Refused, connections, post
from tests.bench.peers.known import chosen
from tests.bench.peers.measure import delays
from tests.bench.report import Figure, note, percentiles, scaled
from tests.bench.rig import Rig, System, rig

_RATE = 20.0
_SECONDS = 8.0
_WARM_SECONDS = 2.0
_CLIENTS = 16
_EVENTS = "select task_id, extract(epoch from created_at) from locktender.deployment_event where kind = 'started'"
_WAITING = "select count(*) from locktender.deployment_task where status <> 'completed'"


class _Creations:
    """Creates over HTTP and remembers, by task, when each request was sent: monotonic and wall clock."""

    def __init__(self, connections: list[Connection], request: bytes) -> None:
        self._idle = list(connections)
        self._request = request
        self.sent: dict[str, tuple[int, float]] = {}

    async def create(self, moment: int) -> None:
        wall = time.time_ns() / 1e9
        connection = self._idle.pop()
        try:
            status, body = await connection.ask(self._request)
        finally:
            self._idle.append(connection)
        if status != CREATED:
            raise Refused(f"{status}: {body[:300].decode(errors='replace')}")
        self.sent[json.loads(body)["task"]["id"]] = (moment, wall)


async def measure() -> Figure:
    """Peers first, then ours, on the same server."""
    async with rig() as servers:
        peers, failed = await _peers(servers)
        path = servers.folder.path / "runner.stamps"
        async with servers.system(
            environment={stamps.STAMPS: str(path)}, modules={"runner": ("tests.bench.runner", "stopwatch")}
        ) as system:
            creations = await _created(system)
            began = {word.partition(":")[2]: number for word, number in stamps.read(path)}
            events = {str(row[0]): float(row[1]) for row in await system.database.fetch(_EVENTS)}
    ours = percentiles([(began[task] - sent) / 1e6 for task, (sent, _) in creations.items()])
    claimed = percentiles([(events[task] - wall) * 1e3 for task, (_, wall) in creations.items()])
    best = min(peers, key=lambda name: peers[name]["p50_ms"]) if peers else None
    return Figure(
        "latency", ours["p50_ms"], "ms", best, peers[best]["p50_ms"] / ours["p50_ms"] if best else None,
        {
            **ours, "rate": _RATE,
            "p99_ratio": round(min(each["p99_ms"] for each in peers.values()) / ours["p99_ms"], 3) if peers else None,
            "from": "the request is written", "to": "the executor's first instruction, after the claim is committed",
            "started_event": claimed, "peers": peers, "peers_failed": failed,
        },
    )  # fmt: skip


async def _created(system: System) -> dict[str, tuple[int, float]]:
    async def done() -> bool:
        return await system.count(_WAITING) == 0

    async with connections(system.url, _CLIENTS) as opened:
        creations = _Creations(opened, post(system.url, system.token, PATH, NOOP))
        await load.paced([creations.create], _RATE, scaled(_WARM_SECONDS))
        creations.sent.clear()
        await load.paced([creations.create], _RATE, scaled(_SECONDS))
        await load.until(done, seconds=15)
    note(f"locktender: {len(creations.sent)} delays")
    return creations.sent


async def _peers(servers: Rig) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    reached: dict[str, dict[str, float]] = {}
    failed: dict[str, str] = {}
    for short in chosen():
        try:
            found = await delays(servers, short, rate=_RATE, seconds=scaled(_SECONDS), clients=_CLIENTS)
            reached[short] = percentiles(found)
        except Exception as error:  # noqa: BLE001 - a peer that does not work is reported, and the others are measured
            failed[short] = f"{type(error).__name__}: {error}"[:300]
            note(f"{short} failed: {failed[short]}")
    return reached, failed
