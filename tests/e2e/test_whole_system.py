"""`locktender up` and `locktender demo` on an empty folder: what they start, what they print, and what they leave."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from locktender.testkit.commands import Ran, ended, interrupted, run, started
from locktender.testkit.nats_rig import eventually
from locktender.testkit.scratch import scratch_dir
from locktender.testkit.workloads import manifests, unique

pytestmark = [pytest.mark.timeout(300), pytest.mark.takes(seconds=50)]

_START, _COMMAND = 120.0, 120.0
_KEYS = {"scenario", "status", "deploymentId", "resources", "ready", "seconds", "events"}


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch_dir() as path:
        yield path


async def test_data_survives_a_restart_and_an_interrupt_leaves_no_process_behind(folder: Path) -> None:
    async with _up(folder) as first:
        text = manifests(unique(), secret=True)
        task = (await run(folder, "deploy", "-f", "-", "--wait", "--json", stdin=text)).json["task"]
        assert task["status"] == "completed"
        assert await interrupted(first) == 0
    assert not _processes_of(folder)
    async with _up(folder) as second:
        assert (await run(folder, "deployments", "show", task["id"], "--json")).json["task"] == task
        assert (await run(folder, "ops", "verify", "--json")).json["ok"] is True
        assert await interrupted(second) == 0
    assert not _processes_of(folder)


async def test_an_interrupt_during_the_start_leaves_no_process_behind(folder: Path) -> None:
    process = await started(folder, "up")
    await eventually(lambda: len(_processes_of(folder)) >= 2, _START)
    assert await interrupted(process) == 130
    assert not _processes_of(folder)


async def test_the_demo_deploys_a_shop_and_says_so_in_one_line_of_json(folder: Path) -> None:
    last = (await _demo(folder)).lines[-1]
    assert last.keys() == _KEYS
    assert (last["scenario"], last["status"]) == ("deploy", "completed")
    assert last["resources"] == last["ready"] > 30
    assert last["events"] > last["resources"]
    assert last["seconds"] > 0


async def test_the_demo_shows_a_template_that_asks_and_is_answered(folder: Path) -> None:
    shown = await _demo(folder, "--scenario", "template")
    last = shown.lines[-1]
    assert last.keys() == _KEYS | {"asked", "instance"}
    assert (last["scenario"], last["status"]) == ("template", "completed")
    assert "contact" in last["asked"]
    assert last["resources"] == last["ready"]
    assert f"the guestbook runs as {last['instance']}" in shown.err


async def _demo(folder: Path, *arguments: str) -> Ran:
    """`locktender demo` until it has shown everything and stopped everything."""
    process = await started(folder, "demo", *arguments, "--exit", "--json")
    ran = await ended(process, seconds=_START + _COMMAND)
    assert ran.code == 0, ran
    assert not _processes_of(folder)
    return ran


@asynccontextmanager
async def _up(folder: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    """`locktender up` once it has said where it is."""
    process = await started(folder, "up", "--json")
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
