"""`transitions`: guarded writes by 256 concurrent callers through the coalescer, against pgbench with the same SQL.

The transition is `record`: it moves a row's revision on, writes the event and fills the outbox, and can be repeated.
pgbench runs its statement for one row at a time, on the same rows, prepared, with 8 clients on 2 threads.
"""

import asyncio
import os
import re
import time
from uuid import UUID

from locktender.contracts.kernel.lease import Lease, Owner
from locktender.embedded.pg_binaries import locate
from locktender.storage.deployments import transitions
from locktender.storage.deployments.writes import DeploymentWrites, Told
from locktender.storage.kernel.database import open_database
from locktender.storage.migrations import migrate
from locktender.testkit.rows import new_task
from tests.bench import cpu
from tests.bench.databases import connected
from tests.bench.report import Figure, note, rounded, scaled
from tests.bench.rig import Rig, rig

_ROWS = 8192
_WRITERS = 256
_PGBENCH_CLIENTS = 8
_PGBENCH_THREADS = 2
_ROUNDS = 3
_SECONDS = 4.0
_TTL = 86_400.0
_OWNER = Owner("bench/0123456789ab")
_TIMELINE = '{"revision": 1, "steps": [], "cards": []}'
_TOLD = Told("it goes on", '{"done": 1}')
_PHASE = "apply"


async def measure() -> Figure:
    """Turn by turn, so that what the machine does meanwhile meets both."""
    ours: list[float] = []
    bare: list[float] = []
    async with rig() as servers:
        dsn = servers.postgres.dsn()
        await migrate(dsn)
        async with open_database(dsn, name="bench") as database:
            writes = DeploymentWrites(database)
            leases = await _leases(writes)
            await _settle(dsn)
            await _coalesced(writes, leases, scaled(0.5))
            busy = cpu.Usage()
            for _ in range(_ROUNDS):
                before = _used(servers)
                rate, seconds = await _coalesced(writes, leases, scaled(_SECONDS))
                busy = cpu.shares(before, _used(servers), seconds)
                ours.append(rate)
                bare.append(await _pgbench(servers, scaled(_SECONDS)))
                note(f"coalescer {ours[-1]:.0f}/s, pgbench {bare[-1]:.0f}/s")
    value, against = sum(ours) / len(ours), sum(bare) / len(bare)
    return Figure(
        "transitions", value, "transitions/s", f"pgbench -c {_PGBENCH_CLIENTS} -j {_PGBENCH_THREADS} -M prepared",
        value / against,
        {
            "writers": _WRITERS, "rows": _ROWS, "peers": {"pgbench": rounded(against)},
            "rounds": [[rounded(a), rounded(b)] for a, b in zip(ours, bare, strict=True)],
            "details": {"cores_busy": busy},
        },
    )  # fmt: skip


async def _leases(writes: DeploymentWrites) -> list[Lease]:
    """Claimed rows, with ids that pgbench can compute."""
    note(f"preparing {_ROWS} claimed rows")
    ids = [UUID(int=number) for number in range(1, _ROWS + 1)]
    async with asyncio.TaskGroup() as group:
        for each in ids:
            group.create_task(writes.create(new_task(id=each, workspace="bench")))
    claimed = [
        claim.lease
        for start in range(0, _ROWS, 512)
        for claim in await writes.claim(ids[start : start + 512], _OWNER, _TTL)
    ]
    assert len(claimed) == _ROWS
    return claimed


async def _settle(dsn: str) -> None:
    async with connected(dsn) as connection:
        await connection.execute("vacuum (analyze) locktender.deployment_task", timeout=60)
        await connection.execute("checkpoint", timeout=60)


async def _coalesced(writes: DeploymentWrites, leases: list[Lease], seconds: float) -> tuple[float, float]:
    """Transitions a second, and how long it really took."""
    began, counts = time.monotonic(), [0] * _WRITERS
    until = began + seconds

    async def writer(place: int) -> None:
        rows, turn = leases[place::_WRITERS], 0
        while time.monotonic() < until:
            await writes.record(rows[turn % len(rows)], _TOLD, phase=_PHASE, timeline=_TIMELINE)
            turn += 1
        counts[place] = turn

    async with asyncio.TaskGroup() as group:
        for place in range(_WRITERS):
            group.create_task(writer(place))
    taken = time.monotonic() - began
    return sum(counts) / taken, taken


async def _pgbench(servers: Rig, seconds: float) -> float:
    address, script = servers.postgres.address, servers.folder.path / "record.sql"
    script.write_text(f"\\set n random(1, {_ROWS})\n{_one_row()};\n", encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        locate().program("pgbench"), "-n", "-f", str(script), "-M", "prepared", "-c", str(_PGBENCH_CLIENTS),
        "-j", str(_PGBENCH_THREADS), "-T", str(max(1, round(seconds))), "-h", address.host, "-p", str(address.port),
        "-U", address.user, address.database,
        env={"PATH": os.defpath, "PGPASSWORD": address.password},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    said, complained = await process.communicate()
    found = re.search(rb"^tps = ([0-9.]+)", said, re.MULTILINE)
    if process.returncode or found is None:
        raise RuntimeError(f"pgbench failed: {complained.decode(errors='replace')[-500:]}")
    return float(found[1])


def _one_row() -> str:
    """The statement of the coalescer for one row, its arguments written out but for the row's number."""
    statement = transitions.RECORD.statement
    names = {f"${place}": name for place, name in enumerate(_order(), 1)}
    written = {
        "id": "array[lpad(to_hex(:n::int), 32, '0')]", "epoch": "array[1]", "phase": f"array['{_PHASE}']",
        "timeline": f"array['{_TIMELINE}']", "message": f"array['{_TOLD.message}']",
        "payload": f"array['{_TOLD.payload}']", "actor": f"array['{_TOLD.actor}']", "trace": f"array['{_TOLD.trace}']",
    }  # fmt: skip
    return re.sub(r"\$\d+", lambda match: written.get(names[match[0]], "1"), statement.sql)


def _order() -> list[str]:
    """The names of the arguments in the order of their numbers, asked of the statement itself."""
    statement = transitions.RECORD.statement
    arguments = statement.arguments({name: name for name in transitions.RECORD.columns})
    return [str(argument) for argument in arguments]


def _used(servers: Rig) -> cpu.Usage:
    return cpu.usage({"postgres": servers.postgres.pid}) | {"writers": cpu.own()}
