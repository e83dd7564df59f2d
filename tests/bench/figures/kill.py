"""`kill`: from `kill -9` of the runner to the moment at which the task says what became of it, with leases of 2 s.

Production leases live 60 s and the sweep comes every 4 s; here they are 2 s, renewed every 0.5 s, and 0.5 s.
"""

import asyncio
import os
import random
import signal
import time

from tests.bench import load, stamps
from tests.bench.figures.cancel import held
from tests.bench.report import Figure, note, percentiles, scaled
from tests.bench.rig import System, rig

_KILLS = 6
_RUNS = 4
_TTL = 2.0
_RESTART_SECONDS = 30.0
_SETTINGS = {
    "LOCKTENDER_LEASE_TTL_SECONDS": str(_TTL),
    "LOCKTENDER_RENEW_SECONDS": "0.5",
    "LOCKTENDER_REAPER_SWEEP_SECONDS": "0.5",
}
_HONEST = """
select count(*) from locktender.deployment_task
where id = any($1::uuid[]) and status = 'failed' and failure ->> 'reason' = 'interrupted'
"""


async def measure() -> Figure:
    """The supervisor starts the runner again each time."""
    found: list[float] = []
    async with rig() as servers:
        path = servers.folder.path / "runner.stamps"
        async with servers.system(
            environment={stamps.STAMPS: str(path), **_SETTINGS}, modules={"runner": ("tests.bench.runner", "hold")}
        ) as system:
            for _ in range(max(1, int(scaled(_KILLS)))):
                tasks = await held(system, path, _RUNS)
                # Anywhere between two renewals.
                await asyncio.sleep(random.uniform(0.5, 1.0))  # noqa: S311 - no secret
                found.append(await _killed(system, tasks))
                note(f"honest after {found[-1]:.0f} ms")
    return Figure(
        "kill", percentiles(found)["p50_ms"], "ms", rest={**percentiles(found), "ttl_seconds": _TTL, "runs": _RUNS}
    )


async def _killed(system: System, tasks: list[str]) -> float:
    """Milliseconds until the last of the runner's tasks is honest."""
    runner = system.processes["runner"]
    pid = runner.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    began = time.monotonic()

    async def honest() -> bool:
        return await system.database.fetchval(_HONEST, tasks) == len(tasks)

    ended = await load.until(honest, seconds=_RESTART_SECONDS, pause=0.01)
    return (ended - began) * 1e3
