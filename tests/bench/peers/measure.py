"""Measuring one peer: its own database, its own worker process, warm before the clock starts."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench import cpu, load, stamps
from tests.bench.databases import connected
from tests.bench.peers.known import peer
from tests.bench.peers.peer import Peer
from tests.bench.peers.worker import DSN
from tests.bench.report import note, rounded, scaled
from tests.bench.rig import REPOSITORY, Rig

_START_SECONDS = 60.0
_WARM_SECONDS = 0.7
_DRAIN_SECONDS = 25.0


@dataclass(frozen=True, slots=True)
class Throughput:
    """Jobs done a second, and who was busy with them."""

    rate: float
    jobs: int
    busy: dict[str, float]

    def each(self) -> dict[str, float]:
        """Milliseconds of processor time that one job costs each process."""
        return {name: rounded(cores / self.rate * 1e3) for name, cores in self.busy.items()}


async def throughput(rig: Rig, short: str, *, clients: int, seconds: float) -> Throughput:
    """Jobs created one by one for that long, divided by the time until the end of the last one is recorded."""
    async with _running(rig, short, None) as (dsn, worker), connected(dsn) as admin:
        measured = peer(short)

        async def idle() -> bool:
            return await admin.fetchval(measured.unfinished) == 0

        async with measured.clients(dsn, clients) as enqueues:
            await load.closed(enqueues, scaled(_WARM_SECONDS))
            await load.until(idle, seconds=_DRAIN_SECONDS)
            pids = {"postgres": rig.postgres.pid, "worker": worker.pid}
            before, own = cpu.usage(pids), cpu.own()
            sent = await load.closed(enqueues, seconds)
            ended = await load.until(idle, seconds=_DRAIN_SECONDS)
            taken = ended - sent.began
            busy = cpu.shares(
                before | {"clients": own}, cpu.usage(pids) | {"clients": cpu.own()}, taken
            )  # fmt: skip
    note(f"{measured.name}: {sent.jobs} jobs in {taken:.1f} s")
    return Throughput(sent.jobs / taken, sent.jobs, busy)


async def delays(rig: Rig, short: str, *, rate: float, seconds: float, clients: int) -> list[float]:
    """Milliseconds from the call that creates a job to its first instruction, at so many jobs a second."""
    path = rig.folder.path / f"{short}.stamps"
    async with _running(rig, short, path) as (dsn, _):
        measured = peer(short)
        async with measured.clients(dsn, clients) as enqueues:
            await load.paced(enqueues, rate, scaled(1.0))
            warm = await _settled(path, 1)
            sent = await load.paced(enqueues, rate, seconds)
            await _settled(path, warm + sent.jobs)
    found = [number / 1e6 for _, number in stamps.read(path)[warm:]]
    note(f"{measured.name}: {len(found)} delays")
    return found


async def _settled(path: Path, count: int) -> int:
    """How many stamps there are, once there are `count` and no more come."""
    end = time.monotonic() + _DRAIN_SECONDS
    last = -1
    while time.monotonic() < end:
        found = len(stamps.read(path))
        if found >= count and found == last:
            break
        last = found
        await asyncio.sleep(0.25)
    return len(stamps.read(path))


@asynccontextmanager
async def _running(rig: Rig, short: str, path: Path | None) -> AsyncGenerator[tuple[str, asyncio.subprocess.Process]]:
    measured: Peer = peer(short)
    dsn = await rig.fresh(short)
    await measured.install(dsn)
    environment = {**os.environ, DSN: dsn, "PYTHONPATH": str(REPOSITORY)}
    if path is not None:
        environment[stamps.STAMPS] = str(path)
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.peers.worker", short, stdout=asyncio.subprocess.PIPE, env=environment
    )
    try:
        assert worker.stdout is not None
        async with asyncio.timeout(_START_SECONDS):
            while (line := await worker.stdout.readline()).strip() != b"ready":
                if not line:
                    raise RuntimeError(f"the worker of {short} ended before it was ready")
        yield dsn, worker
    finally:
        if worker.returncode is None:
            worker.kill()
        await worker.wait()
