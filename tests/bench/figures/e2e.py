"""`e2e`: no-op deployments through the whole system, one by one over HTTP, against job queues doing no-op jobs."""

import asyncio
import os
from pathlib import Path

from tests.bench import cpu, load
from tests.bench.http import Connection, Refused, connections, post
from tests.bench.peers.known import chosen
from tests.bench.peers.measure import Throughput, throughput
from tests.bench.report import Figure, note, rounded, scaled
from tests.bench.rig import Rig, System, rig

CREATED = 201
PATH = "/v1/workspaces/bench/deployment-tasks"
NOOP = {"source": {"kind": "noop"}, "target": {"project": "bench"}}

_BUSY = ("api", "outbox", "runner")
_PEER_CLIENTS = int(os.environ.get("LOCKTENDER_BENCH_PEER_CLIENTS", "16"))
_SAME, _MANY = 16, 64
_SECONDS = 4.0
_WARM_SECONDS = 1.5
_DRAIN_SECONDS = 25.0
_UNDONE = """
select (select count(*) from locktender.deployment_task where status in ('queued', 'running', 'applying'))
     + (select count(*) from locktender.outbox where published_at is null)
"""
_STATEMENTS = """
select r.rolname || ': ' || left(regexp_replace(s.query, '\\s+', ' ', 'g'), 400) as what, s.calls, s.rows,
       s.total_exec_time as ms
from pg_stat_statements as s join pg_roles as r on r.oid = s.userid order by s.total_exec_time desc limit 25
"""
_TRUE = """
select count(*) from locktender.deployment_task
where status <> 'completed' or revision <> 4
"""


async def measure() -> Figure:
    """Peers first, then ours, on the same server."""
    async with rig(statements=_folder() is not None) as servers:
        peers, failed = await measured_peers(servers)
        async with servers.system(modules=_profiled()) as system:
            if _folder():
                await system.database.execute("create extension pg_stat_statements")
            await drive(system, _MANY, scaled(_WARM_SECONDS))
            ours = {clients: await drive(system, clients, scaled(_SECONDS)) for clients in (_SAME, _MANY)}
            if folder := _folder():
                await _write_statements(system, folder)
            if untrue := await system.count(_TRUE):
                raise Refused(f"{untrue} deployments did not end as completed with four events")
    same, most = ours[_SAME], ours[_MANY]
    best = max(peers, key=lambda name: peers[name].rate) if peers else None
    return Figure(
        "e2e", most.rate, "deployments/s", best, most.rate / peers[best].rate if best else None,
        {
            "clients": _MANY, "n": most.jobs,
            "at_16_clients": rounded(same.rate),
            "ratio_at_16_clients": rounded(same.rate / peers[best].rate) if best else None,
            "peers": {name: rounded(peer.rate) for name, peer in peers.items()},
            "peer_clients": _PEER_CLIENTS, "peers_failed": failed,
            "details": {
                "cores_busy": most.busy, "cpu_ms_per_deployment": most.each(), "cores_busy_at_16": same.busy,
                "cores_busy_peers": {name: peer.busy for name, peer in peers.items()},
            },
        },
    )  # fmt: skip


async def measured_peers(servers: Rig) -> tuple[dict[str, Throughput], dict[str, str]]:
    """What each peer reached, and why others reached nothing."""
    reached: dict[str, Throughput] = {}
    failed: dict[str, str] = {}
    for short in chosen():
        try:
            reached[short] = await throughput(servers, short, clients=_PEER_CLIENTS, seconds=scaled(_SECONDS))
        except Exception as error:  # noqa: BLE001 - a peer that does not work is reported, and the others are measured
            failed[short] = f"{type(error).__name__}: {error}"[:300]
            note(f"{short} failed: {failed[short]}")
    return reached, failed


async def drive(system: System, clients: int, seconds: float) -> Throughput:
    """Deployments created for that long, over the time until the last is completed and its last event published."""
    request = post(system.url, system.token, PATH, NOOP)

    async def done() -> bool:
        return await system.count(_UNDONE) == 0

    async with connections(system.url, clients) as opened:
        before, own = cpu.usage(system.pids()), cpu.own()
        sent = await load.closed([_creator(connection, request) for connection in opened], seconds)
        ended = await load.until(done, seconds=_DRAIN_SECONDS)
        taken = ended - sent.began
        after = cpu.usage(system.pids()) | {"clients": cpu.own()}
    note(
        f"locktender with {clients} clients: {sent.jobs} deployments, created in {sent.ended - sent.began:.1f} s, "
        f"done in {taken:.1f} s"
    )
    return Throughput(sent.jobs / taken, sent.jobs, cpu.shares(before | {"clients": own}, after, taken))


def _creator(connection: Connection, request: bytes) -> load.Enqueue:
    async def create(_moment: int) -> None:
        status, body = await connection.ask(request)
        if status != CREATED:
            raise Refused(f"{status}: {body[:300].decode(errors='replace')}")

    return create


def _folder() -> str | None:
    return os.environ.get("LOCKTENDER_BENCH_PROFILE")


async def _write_statements(system: System, folder: str) -> None:
    """What PostgreSQL spent its time on, beside the profiles of the services."""
    rows = await system.database.fetch(_STATEMENTS)
    lines = [f"{row['ms']:>9.0f} ms {row['calls']:>7} calls {row['rows']:>7} rows  {row['what']}" for row in rows]
    await asyncio.to_thread(Path(folder, "statements.txt").write_text, "\n".join(lines) + "\n", encoding="utf-8")


def _profiled() -> dict[str, tuple[str, ...]]:
    """With `LOCKTENDER_BENCH_PROFILE=FOLDER` services run under cProfile: for looking for costs, not for figures."""
    folder = _folder()
    if folder is None:
        return {}
    return {name: ("tests.bench.profiled", str(Path(folder, f"{name}.prof").absolute()), name) for name in _BUSY}
