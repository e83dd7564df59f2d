"""`locktender up` and `locktender demo` on an empty folder: what they start, what they print, and what they leave."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from locktender.testkit.nats_rig import eventually
from locktender.testkit.scratch import scratch_dir
from locktender.testkit.workloads import manifests, unique

pytestmark = pytest.mark.timeout(300)

_START, _STOP, _COMMAND = 120.0, 90.0, 120.0


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch_dir() as path:
        yield path


async def test_data_survives_a_restart_and_an_interrupt_leaves_no_process_behind(folder: Path) -> None:
    async with _up(folder) as first:
        deployed = await _json(folder, "deploy", "-f", "-", "--wait", "--json", stdin=manifests(unique(), secret=True))
        task = deployed["task"]
        assert task["status"] == "completed"
        assert await _interrupted(first) == 0
    assert not _processes_of(folder)
    async with _up(folder) as second:
        shown = await _json(folder, "deployments", "show", task["id"], "--json")
        assert shown["task"] == task
        assert (await _json(folder, "ops", "verify", "--json"))["ok"] is True
        assert await _interrupted(second) == 0
    assert not _processes_of(folder)


async def test_an_interrupt_during_the_start_leaves_no_process_behind(folder: Path) -> None:
    process = await _started(folder, "up")
    await eventually(lambda: len(_processes_of(folder)) >= 2, _START)
    assert await _interrupted(process) == 130
    assert not _processes_of(folder)


async def test_the_demo_deploys_a_shop_and_says_so_in_one_line_of_json(folder: Path) -> None:
    process = await _started(folder, "demo", "--exit", "--json")
    async with asyncio.timeout(_START + _COMMAND):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    last = json.loads(out.decode().splitlines()[-1])
    assert last.keys() == {"scenario", "status", "deploymentId", "resources", "ready", "seconds", "events"}
    assert (last["scenario"], last["status"]) == ("deploy", "completed")
    assert last["resources"] == last["ready"] > 30
    assert last["events"] > last["resources"]
    assert last["seconds"] > 0
    assert not _processes_of(folder)


@asynccontextmanager
async def _up(folder: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    """`locktender up` once it has said where it is."""
    process = await _started(folder, "up", "--json")
    try:
        async with asyncio.timeout(_START):
            assert process.stdout is not None
            said = json.loads(await process.stdout.readline())
        assert said["url"].startswith("http://127.0.0.1:"), said
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _started(folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "locktender.cli", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "LOCKTENDER_STATE": str(folder)},
    )


async def _json(folder: Path, *arguments: str, stdin: str = "") -> Any:
    process = await _started(folder, *arguments)
    async with asyncio.timeout(_COMMAND):
        out, err = await process.communicate(stdin.encode())
    assert process.returncode == 0, err.decode()
    return json.loads(out)


async def _interrupted(process: asyncio.subprocess.Process) -> int:
    """Press Ctrl-C, and give the exit code."""
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(_STOP):
        await process.communicate()
    assert process.returncode is not None
    return process.returncode


def _processes_of(folder: Path) -> list[str]:
    """The commands of living processes that name the folder in their arguments, environment or working directory."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            arguments, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
            where = str((entry / "cwd").readlink())
        except OSError:
            continue
        if str(folder).encode() in arguments + environment or where.startswith(str(folder)):
            found.append(arguments.replace(b"\0", b" ").decode())
    return found
