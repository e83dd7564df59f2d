"""Runs of stacks by the runner service: real database, bus, API, git and engine."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from uuid import UUID

import pytest

from locktender.contracts.stacks.vocabulary import DeploymentMode, RunFailureReason
from locktender.contracts.stacks.wire import RunFailure
from locktender.integrations.tofu.leftovers import processes_of
from locktender.reaper.app import serve as serve_reaper
from locktender.reaper.settings import ReaperSettings
from locktender.runner.app import serve
from locktender.storage.kernel.database import Transaction
from locktender.storage.stacks.complete import end_unfinished
from locktender.storage.stacks.held import held_run
from locktender.storage.stacks.told import Told
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.run_bench import RunBench, run_bench
from locktender.testkit.servers import NatsServer
from locktender.testkit.service_rig import running

pytestmark = [
    pytest.mark.takes(seconds=35),
]

SMALL = """
variable "password" { sensitive = true }
resource "terraform_data" "one" { input = sensitive(var.password) }
resource "terraform_data" "two" {
  provisioner "local-exec" { command = "echo the word is hunter2hunter2" }
}
"""
SLOW = """
resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "echo provisioning; sleep 600" }
}
"""


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunBench]:
    async with run_bench(db, nats_server) as made:
        yield made


async def applying(bench: RunBench) -> UUID:
    """A deployment whose apply is in the middle of its work."""
    deployment = await bench.deploy(SLOW)
    await bench.until(deployment, "waiting")
    await bench.confirm(deployment)
    await bench.logged(deployment, "provisioning")
    return deployment


async def test_what_two_runners_race_for_is_planned_and_applied_once(bench: RunBench) -> None:
    await bench.secret("password", "hunter2hunter2")
    first, second = bench.settings(), bench.settings(instance="runner-2")
    async with running("runner", serve, first), running("runner", serve, second):
        deployment = await bench.deploy(SMALL, hints=5)
        await bench.until(deployment, "waiting")
        assert "2 to add" in await bench.log(deployment)
        await bench.confirm(deployment)
        await bench.until(deployment, "finished")
    runs = await bench.rig.runs(deployment)
    assert [(run["mode"], run["status"], run["lease_epoch"]) for run in runs] == [
        ("plan", "success", 1), ("apply", "success", 1),
    ]  # fmt: skip
    log = await bench.log(deployment)
    assert log.count("Apply complete! Resources: 2 added") == 1
    assert "the word is [withheld]" in log
    assert "hunter2hunter2" not in log
    assert (await bench.rig.stack())["state_serial"] is not None
    assert list(bench.work_dir.iterdir()) == []


async def test_a_cancelled_apply_is_stopped_and_a_stopped_runner_says_so(bench: RunBench) -> None:
    async with running("runner", serve, bench.settings()) as runner:
        cancelled = await applying(bench)
        await bench.cancel(cancelled)
        await bench.until(cancelled, "cancelled")

        interrupted = await applying(bench)
        runner.service.stop.request()
        row = await bench.until(interrupted, "failed")
    assert "the runner was shut down" in row["failure"]
    assert [run["status"] for run in await bench.rig.runs(interrupted)] == ["success", "failure"]
    assert (await bench.rig.stack())["uncertain_since"] is None
    for run in await bench.rig.runs(interrupted):
        assert processes_of(str(run["id"])) == frozenset()


async def test_a_runner_that_lost_its_lease_kills_the_tool_and_tells_nothing(bench: RunBench) -> None:
    async def give_up(tx: Transaction) -> None:
        owner, run = await held_run(tx, lost["id"])
        silent = RunFailure(reason=RunFailureReason.LOST, message="The runner fell silent.")
        await end_unfinished(tx, owner, run, Told("reaper"), silent)

    async with running("runner", serve, bench.settings()):
        deployment = await applying(bench)
        lost = (await bench.rig.runs(deployment))[-1]
        await bench.rig.transact(give_up)
        await eventually(lambda: not processes_of(str(lost["id"])), 10)
        row = await bench.rig.deployment(deployment)
        assert (row["status"], '"lost"' in row["failure"]) == ("failed", True)

        await eventually(lambda: not list(bench.work_dir.iterdir()), 10)
        refresh = await bench.deploy("", DeploymentMode.REFRESH)
        await bench.until(refresh, "finished")
    assert (await bench.rig.stack())["uncertain_since"] is None, "the refresh has seen what the lost apply did"


async def test_a_runner_that_is_killed_leaves_no_process_no_directory_and_its_stack_uncertain(bench: RunBench) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "locktender.runner", env=bench.environment(), stdout=asyncio.subprocess.DEVNULL
    )
    try:
        deployment = await applying(bench)
        run = (await bench.rig.runs(deployment))[-1]
        assert processes_of(str(run["id"]))
    finally:
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
    await eventually(lambda: not processes_of(str(run["id"])), 10)
    await eventually(lambda: not list(bench.work_dir.iterdir()), 10)
    reaper = ReaperSettings(
        database_url=bench.rig.db.dsn,  # pyright: ignore[reportArgumentType]  # pydantic wraps it
        nats_url=bench.nats.url, nats_seed_file=bench.nats.seeds.get("reaper"), reaper_sweep_seconds=0.2,
        lease_ttl_seconds=3, renew_seconds=0.5,
    )  # fmt: skip
    async with running("reaper", serve_reaper, reaper):
        row = await bench.until(deployment, "failed")
    assert '"lost"' in row["failure"]
    assert (await bench.rig.runs(deployment))[-1]["status"] == "timed_out"
    assert (await bench.rig.stack())["uncertain_since"] is not None
