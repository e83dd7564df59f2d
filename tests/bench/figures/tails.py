"""`tails`: what 200 readers of live logs cost the API in cores, and how late they are."""

import asyncio
import time
from urllib.parse import urlsplit

import httpx

from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.kernel.database import open_database
from tests.bench import cpu, load, stacks
from tests.bench.figures.streams import Reader
from tests.bench.report import Figure, note, percentiles, scaled
from tests.bench.rig import System, rig

_READERS = 200
_RUNS = 20
_SECONDS = 15.0
_CHUNK = b"module.network.terraform_data.subnet[12]: Still creating... [10s elapsed]\n" * 8


async def measure() -> Figure:
    """Twenty runs write a piece of log a second; ten readers follow each."""
    async with rig() as servers, servers.system(("api", "outbox")) as system:
        async with open_database(servers.postgres.dsn(), name="bench") as database:
            runs = list[stacks.Taken]()
            for place in range(_RUNS):
                owner = await stacks.new_stack(database, f"stack-{place}")
                runs.append(
                    await stacks.taken(database, await stacks.deploy(database, owner, DeploymentMode.PLAN_UNLOCKED))
                )
        readers = await _opened(system, runs)
        async with httpx.AsyncClient(base_url=system.url, trust_env=False, timeout=30) as http:
            sent = [0] * _RUNS
            await _write(http, runs, sent)
            await load.until(lambda: _all(readers, 1), seconds=30)
            note(f"{len(readers)} readers follow")
            before, began, delays = cpu.usage(system.pids()), time.monotonic(), list[float]()
            while time.monotonic() - began < scaled(_SECONDS):
                turn = time.monotonic()
                known = [reader.told for reader in readers]
                await _write(http, runs, sent)
                await load.until(lambda known=known: _more(readers, known), seconds=30)
                delays += [(reader.told_at - turn) * 1e3 for reader in readers]
                await asyncio.sleep(max(0.0, 1.0 - (time.monotonic() - turn)))
            shares = cpu.shares(before, cpu.usage(system.pids()), time.monotonic() - began)
        lost = sum(reader.lost for reader in readers)
        for reader in readers:
            reader.close()
    found = percentiles(delays)
    return Figure(
        "tails", shares["api"], "cores",
        rest={"readers": len(readers), "lost": lost, "runs": _RUNS, "written_to_read_ms": found, "cores": shares},
    )  # fmt: skip


async def _opened(system: System, runs: list[stacks.Taken]) -> list[Reader]:
    address, loop = urlsplit(system.url), asyncio.get_running_loop()
    readers = list[Reader]()
    for place in range(_READERS):
        run = runs[place % _RUNS]
        path = f"/v1/workspaces/bench/stacks/stack-{place % _RUNS}/deployments/1/runs/{run.run_id}/log/stream"
        request = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {system.token}\r\n\r\n"
        reader = Reader(request.encode())
        await loop.create_connection(lambda reader=reader: reader, address.hostname or "", address.port or 80)
        readers.append(reader)
    return readers


async def _write(http: httpx.AsyncClient, runs: list[stacks.Taken], sent: list[int]) -> None:
    async def one(place: int, run: stacks.Taken) -> None:
        answer = await http.post(
            f"/v1/runs/{run.run_id}/log", params={"offset": sent[place]}, content=_CHUNK,
            headers={"Authorization": f"Bearer {run.token}"},
        )  # fmt: skip
        answer.raise_for_status()
        sent[place] += len(_CHUNK)

    async with asyncio.TaskGroup() as group:
        for place, run in enumerate(runs):
            group.create_task(one(place, run))


async def _all(readers: list[Reader], least: int) -> bool:
    return all(reader.told >= least for reader in readers)


async def _more(readers: list[Reader], known: list[int]) -> bool:
    return all(reader.told > before for reader, before in zip(readers, known, strict=True))
