"""`relay`: outbox rows published to JetStream, acknowledged and marked, by one outbox process that starts idle.

The rows appear in one commit: events of the size that a deployment has, in order for each of many aggregates.
"""

import asyncio
import time

from tests.bench import cpu, load
from tests.bench.report import Figure, note, rounded, scaled
from tests.bench.rig import System, rig

_ROWS = 20_000
_EACH = 4
_ROUNDS = 3
_SECONDS = 20.0
_LEFT = "select count(*) from locktender.outbox where published_at is null"
_SEED = """
insert into locktender.outbox (aggregate, shard, revision, subject, type, data)
select name, mod(abs(hashtext(name)), 16), revision, 'lt.evt.bench.deployments.' || name || '.progressed',
       'locktender.deployment_task.progressed',
       jsonb_build_object('id', name, 'workspace', 'bench', 'project', 'bench', 'phase', 'apply', 'status', 'applying',
                          'epoch', 1, 'revision', revision, 'at', locktender.now())
from (select md5($3::text || n % $1)::uuid::text as name, 1 + n / $1 as revision
      from generate_series(0, $1::int * $2::int - 1) as n order by n) as told
"""


async def measure() -> Figure:
    """Several rounds; the value is their mean."""
    rates: list[float] = []
    busy = cpu.Usage()
    async with rig() as servers, servers.system(("outbox",)) as system:
        await _round(system, "warm", scaled(2_000))
        for number in range(_ROUNDS):
            rows = scaled(_ROWS)
            before = cpu.usage(system.pids())
            began, taken = await _round(system, str(number), rows)
            busy = cpu.shares(before, cpu.usage(system.pids()), time.monotonic() - began)
            rates.append(int(rows) / taken)
            note(f"{int(rows)} rows in {taken:.2f} s")
            await asyncio.sleep(0.5)
    return Figure(
        "relay", sum(rates) / len(rates), "events/s",
        rest={
            "n": int(scaled(_ROWS)), "aggregates": int(scaled(_ROWS)) // _EACH,
            "rounds": [rounded(rate) for rate in rates], "details": {"cores_busy": busy},
        },
    )  # fmt: skip


async def _round(system: System, name: str, rows: float) -> tuple[float, float]:
    """When the seeding began, and the seconds from its commit to the last mark."""
    began = time.monotonic()
    await system.database.execute(_SEED, int(rows) // _EACH, _EACH, name, timeout=60)
    committed = time.monotonic()

    async def told() -> bool:
        return await system.count(_LEFT) == 0

    return began, await load.until(told, seconds=_SECONDS) - committed
