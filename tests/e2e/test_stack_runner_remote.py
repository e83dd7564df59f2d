"""Runs of stacks by `locktender runner`, over HTTP alone."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import SecretStr

from locktender.cli.exits import Exit
from locktender.cli.remote.agent import Agent
from locktender.cli.remote.group_client import GroupClient
from locktender.cli.remote.place import Place
from locktender.contracts.stacks.remote import PollRuns
from locktender.integrations.tofu.leftovers import processes_of
from locktender.runtime.clock import SystemClock
from locktender.runtime.runs.http import run_client
from locktender.runtime.runs.keys import RunKey
from locktender.runtime.stop import Stop
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.run_bench import RunBench, run_bench
from locktender.testkit.servers import NatsServer

pytestmark = [
    pytest.mark.takes(seconds=25),
]

GROUPS = "/v1/workspaces/acme/runner-groups"
SMALL = 'resource "terraform_data" "one" {}\n'
HANGING = """
resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "echo provisioning; sleep 600" }
}
"""


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunBench]:
    async with run_bench(db, nats_server, runner_group="edge", labels='["gpu"]') as made:
        yield made


async def token_of_group(bench: RunBench) -> str:
    made = await bench.http.post(GROUPS, json={"name": "edge", "capacity": 1})
    assert made.status_code == 201, made.text
    return made.json()["token"]


async def group(bench: RunBench) -> dict[str, Any]:
    return (await bench.http.get(f"{GROUPS}/edge")).json()


async def command(bench: RunBench, token: str, *more: str) -> tuple[int, list[dict[str, Any]]]:
    """`locktender runner`, to its end: exit code and the lines of its standard output."""
    words = ["runner", "--group", "edge", "--url", bench.url, "--work-dir", str(bench.work_dir), "--local-sources"]
    environment = {"PATH": os.environ["PATH"], "LOCKTENDER_RUNNER_TOKEN": token, "HOME": str(bench.folder)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "locktender.cli", *words, "--json", *more,
        env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    async with asyncio.timeout(60):
        out, _ = await process.communicate()
    return process.returncode or 0, [json.loads(line) for line in out.decode().splitlines()]


async def agent(bench: RunBench, token: str, stop: Stop, http: Any, **more: Any) -> Agent:
    carrier = await Place(bench.work_dir, local=True).ready(SystemClock())
    asked = PollRuns(name="edge-1", group="edge", labels=more.pop("labels", ("gpu",)))
    client = GroupClient(http, SecretStr(token), SystemClock())
    return Agent(client, carrier, asked, RunKey(), stop, SystemClock(), poll_seconds=0.2, **{"once": True} | more)


async def test_the_command_carries_out_one_run_and_says_how_it_went(bench: RunBench) -> None:
    token = await token_of_group(bench)
    deployment = await bench.deploy(SMALL)
    code, lines = await command(bench, token, "--once", "--labels", "gpu")
    assert code == Exit.OK, lines
    assert [line["event"] for line in lines] == ["waiting for runs", "a run was taken over", "a run ended"]
    await bench.until(deployment, "waiting")
    assert "1 to add" in await bench.log(deployment)


async def test_a_token_of_nobody_is_refused(bench: RunBench) -> None:
    await token_of_group(bench)
    code, lines = await command(bench, "nobody", "--once")
    assert (code, lines[-1]["exitCode"]) == (Exit.DENIED, Exit.DENIED)
    answer = await bench.http.post("/v1/runner-groups/poll", json={"name": "edge-1"})
    assert answer.status_code == 401, "a person is no runner"


async def test_of_two_runners_one_gets_the_run_and_a_stop_ends_it_in_order(bench: RunBench) -> None:
    token, stop = await token_of_group(bench), Stop()
    deployment = await bench.deploy(SMALL)
    async with run_client(bench.url) as http:
        # The one that lacks the label is never offered the run.
        blind = await agent(bench, token, stop, http, labels=(), once=False)
        able = [await agent(bench, token, stop, http) for _ in range(2)]
        async with asyncio.TaskGroup() as all_of_them:
            working = [all_of_them.create_task(each.work()) for each in (blind, *able)]
            await bench.until(deployment, "waiting")
            await eventually(lambda: any(each.done() for each in working), 10)
            stop.request()
    assert [each.result() for each in working] == [Exit.OK] * 3
    assert (await bench.rig.runs(deployment))[0]["lease_epoch"] == 1
    assert list(bench.work_dir.iterdir()) == []


async def test_a_runner_that_is_stopped_ends_its_apply_and_tells(bench: RunBench) -> None:
    token, stop = await token_of_group(bench), Stop()
    deployment = await bench.deploy(HANGING)
    async with run_client(bench.url) as http:
        await (await agent(bench, token, stop, http)).work()
        await bench.until(deployment, "waiting")
        await bench.confirm(deployment)
        async with asyncio.TaskGroup() as beside:
            working = beside.create_task((await agent(bench, token, stop, http)).work())
            await bench.logged(deployment, "provisioning")
            stop.request()
    row = await bench.until(deployment, "failed")
    assert working.result() is Exit.FAILED
    assert "the runner was shut down" in row["failure"]
    assert processes_of(str((await bench.rig.runs(deployment))[-1]["id"])) == frozenset()


async def test_a_runner_that_is_deleted_loses_its_run_at_once(bench: RunBench) -> None:
    token, stop = await token_of_group(bench), Stop()
    deployment = await bench.deploy(HANGING)
    async with run_client(bench.url) as http:
        await (await agent(bench, token, stop, http)).work()
        await bench.until(deployment, "waiting")
        await bench.confirm(deployment)
        async with asyncio.TaskGroup() as beside:
            working = beside.create_task((await agent(bench, token, stop, http)).work())
            await bench.logged(deployment, "provisioning")
            run = (await bench.rig.runs(deployment))[-1]
            ready = next(each for each in (await group(bench))["runners"] if each["runId"] == str(run["id"]))
            gone = await bench.http.delete(f"{GROUPS}/edge/runners/{ready['id']}")
            assert gone.status_code == 200, gone.text
    assert working.result() is Exit.FAILED
    await bench.until(deployment, "failed")
    run = (await bench.rig.runs(deployment))[-1]
    assert run["status"] == "timed_out"
    assert processes_of(str(run["id"])) == frozenset()


async def test_a_runner_that_cannot_work_says_so_and_its_run_fails(bench: RunBench) -> None:
    token = await token_of_group(bench)
    deployment = await bench.deploy(SMALL)
    async with run_client(bench.url) as http:
        unfit = await agent(bench, token, Stop(), http)
        shutil.rmtree(bench.work_dir)
        assert await unfit.work() is Exit.FAILED
    row = await bench.until(deployment, "failed")
    assert "dispatch-failed" in row["failure"]
    assert "cannot write" in (await group(bench))["lastDispatchError"]["message"]


async def test_the_same_accept_again_is_answered_and_another_is_not(bench: RunBench) -> None:
    token = await token_of_group(bench)
    await bench.deploy(SMALL)
    async with run_client(bench.url) as http:
        client = GroupClient(http, SecretStr(token), SystemClock())
        offer = await client.poll(PollRuns(name="edge-1", labels=("gpu",)))
        assert offer is not None
        assert await client.poll(PollRuns(name="edge-2", labels=("gpu",))) is None
        forged = offer.model_copy(update={"assignment": SecretStr("forged")})
        assert await client.accept(forged) is None
        first, again = await client.accept(offer), await client.accept(offer)
    assert first is not None
    assert first == again
    assert first.token.get_secret_value() not in repr(first)
