"""`confirm`: from the confirmation over HTTP to the start of the process that applies.

In between lie the command over NATS, the take-over, the checkout of the commit, `init`, and all checks of the binding.
One deployment after the other on one stack, with the real engine; a wrapper on its PATH notes when it begins to apply.
"""

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import httpx

from locktender.testkit.git_repository import Repository
from tests.bench import stamps
from tests.bench.report import Figure, note, percentiles, scaled
from tests.bench.rig import System, rig

_ROUNDS = 12
_SECONDS = 60.0
_STACKS = "/v1/workspaces/bench/stacks"
_CONFIGURATION = 'variable "n" { default = 0 }\nresource "terraform_data" "this" { input = var.n }\n'


async def measure() -> Figure:
    """Change a variable, plan, confirm; again and again."""
    delays = list[float]()
    async with rig() as servers:
        place = servers.folder.path
        path, engine = place / "engine.stamps", _wrapped(place / "bin", place / "engine.stamps")
        repository = Repository.made(place / "repository")
        repository.commit(_CONFIGURATION)
        async with (
            servers.system(environment={"LOCKTENDER_STACK_ENGINE_PATH": engine}) as system,
            _client(system) as http,
        ):
            await _ok(http.post(_STACKS, json={"name": "network", "source": {"kind": "git", "url": repository.url}}))
            for turn in range(max(3, int(scaled(_ROUNDS)))):
                await _ok(http.put(f"{_STACKS}/network/variables/variable/n", json={"value": str(turn)}))
                planned = await _ok(http.post(f"{_STACKS}/network/deployments", json={}))
                there = f"{_STACKS}/network/deployments/{planned['number']}"
                waiting = await _until(http, there, "waiting")
                digest = waiting["stages"][0]["run"]["binding"]["planDigest"]
                sent = time.time_ns()
                await _ok(http.post(f"{there}/confirm", json={"planDigest": digest}))
                await _until(http, there, "finished")
                delays.append((stamps.read(path)[-1][1] - sent) / 1e6)
                note(f"round {turn + 1}: {delays[-1]:.0f} ms")
    found = percentiles(delays)
    return Figure(
        "confirm", found["p99_ms"], "ms",
        rest={**found, "from": "the request is sent", "to": "the engine is asked to apply, `init` included"},
    )  # fmt: skip


def _wrapped(folder: Path, path: Path) -> str:
    """A PATH on which the engine notes when it applies."""
    found = shutil.which("tofu") or shutil.which("terraform")
    if found is None:
        raise RuntimeError("neither tofu nor terraform is on the PATH")
    folder.mkdir()
    script = folder / Path(found).name
    script.write_text(
        f'#!/bin/sh\ncase "$1" in apply) echo "apply $(date +%s%N)" >> {path};; esac\nexec {found} "$@"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return f"{folder}:/usr/local/bin:/usr/bin:/bin"


def _client(system: System) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {system.token}"}
    return httpx.AsyncClient(base_url=system.url, headers=headers, trust_env=False, timeout=30)


async def _ok(request: Any) -> Any:
    answer = await request
    if not answer.is_success:
        raise RuntimeError(f"{answer.status_code}: {answer.text[:500]}")
    return answer.json()


async def _until(http: httpx.AsyncClient, path: str, status: str) -> Any:
    async with asyncio.timeout(_SECONDS):
        while True:
            found = await _ok(http.get(path))
            if found["status"] == status:
                return found
            if found["completedAt"] is not None:
                raise RuntimeError(f"ended {found['status']}: {found['failure']}")
            await asyncio.sleep(0.05)
