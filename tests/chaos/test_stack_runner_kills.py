"""A runner of stacks, killed by SIGKILL or frozen at the moments of a plan and an apply of a real engine.

Three of the moments by default, always the same ones; all of them with `LOCKTENDER_CHAOS=long`.
"""

import os
import signal
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.reaper.app import serve as serve_reaper
from locktender.reaper.settings import ReaperSettings
from locktender.storage.stacks.skip import skip
from locktender.testkit.crash_points import TAKING
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.run_bench import PATIENCE, RunBench, run_bench
from locktender.testkit.servers import NatsServer
from locktender.testkit.service_rig import running
from locktender.testkit.stack_kills import (
    APPLYING,
    PLANNING,
    Heard,
    Wire,
    assert_no_process,
    assert_state_is_whole,
    runner_process,
)
from locktender.testkit.stack_truth import broken_rules
from locktender.testkit.stacks import new_stack

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.takes(seconds=50),
]

_LONG = os.environ.get("LOCKTENDER_CHAOS") == "long"
_USUAL = {
    "the plan was kept",
    "a resource is being made",
    "the state was kept",
}
_MAKES_ONE = """
resource "terraform_data" "one" {
  provisioner "local-exec" { command = "echo provisioning; echo made >> %s; sleep 0.3" }
}
"""
_WAITS = """
resource "terraform_data" "one" {
  provisioner "local-exec" { command = "echo provisioning; touch %s; while [ ! -e %s ]; do sleep 0.05; done" }
}
"""


def _chosen(places: dict[str, object]) -> list[str]:
    return [name for name in places if _LONG or name in _USUAL]


@pytest.fixture(scope="module")
def wire() -> Wire:
    return Wire()


@pytest.fixture(scope="module")
async def module_bench(module_db: TestDatabase, nats_server: NatsServer, wire: Wire) -> AsyncGenerator[RunBench]:
    reaper = ReaperSettings(
        database_url=module_db.dsn,  # pyright: ignore[reportArgumentType]  # pydantic wraps it
        nats_url=nats_server.url, nats_seed_file=nats_server.seeds.get("reaper"), reaper_sweep_seconds=0.2,
    )  # fmt: skip
    async with run_bench(module_db, nats_server, around=wire) as bench, running("reaper", serve_reaper, reaper):
        yield bench


@pytest.fixture
async def bench(module_bench: RunBench) -> AsyncGenerator[RunBench]:
    """A stack of its own; afterwards the database has to hold every rule, and nobody's directory is left."""
    bench = replace(module_bench, rig=await new_stack(module_bench.rig.db))
    yield bench
    assert await broken_rules(bench.rig.db.admin) == []


@pytest.mark.parametrize("place", _chosen({**PLANNING}))
async def test_a_runner_that_dies_while_it_plans_leaves_the_truth_behind(
    bench: RunBench, wire: Wire, place: str
) -> None:
    async with runner_process(bench) as runner:
        wire.arm(PLANNING[place], runner.kill)
        deployment = await bench.deploy(_MAKES_ONE % "/dev/null")
        behind = await bench.deploy(_MAKES_ONE % "/dev/null", hints=0)
        await _struck(wire, bench, deployment)
    [run] = await bench.rig.runs(deployment)
    await assert_no_process(run["id"])
    # No other runner has to come by.
    await eventually(lambda: not list(bench.work_dir.iterdir()), PATIENCE)
    if place == "the plan was told":
        assert (await bench.until(deployment, "waiting"))["failure"] is None
        await bench.rig.transact(lambda tx: skip(tx, deployment, "ada", {}))
    else:
        await _lost(bench, deployment, "plan")
    stack = await bench.rig.stack()
    assert stack["uncertain_since"] is None, "a plan changes nothing"
    assert await assert_state_is_whole(bench, lambda: _state(bench)) is None
    assert stack["lane_holder"] == behind
    assert await bench.rig.status(behind) == "pending"


@pytest.mark.parametrize("place", _chosen({**APPLYING}))
async def test_a_runner_that_dies_while_it_applies_leaves_doubt_until_a_refresh(
    bench: RunBench, wire: Wire, place: str, tmp_path: Path
) -> None:
    marks = tmp_path / "made"
    async with runner_process(bench) as runner:
        deployment = await bench.deploy(_MAKES_ONE % marks)
        behind = await bench.deploy(_MAKES_ONE % marks, DeploymentMode.REFRESH, hints=0)
        await bench.until(deployment, "waiting")
        wire.arm(APPLYING[place], runner.kill)
        await bench.confirm(deployment)
        await _struck(wire, bench, deployment)
    async with runner_process(bench):
        runs = await bench.rig.runs(deployment)
        await assert_no_process(*[run["id"] for run in runs])
        if place == "the apply was told":
            await bench.until(deployment, "finished")
        else:
            await _lost(bench, deployment, "apply")
            assert (await bench.rig.stack())["uncertain_since"] is not None, "nobody knows what it did"
        state = await assert_state_is_whole(bench, lambda: _state(bench))
        kept = [each["name"] for each in state["resources"]] if state else []
        assert (kept == ["one"]) is (place in _KEPT), (place, kept)
        await bench.until(behind, "pending")
        if place != "the apply was told":
            await bench.hint(behind)
            await bench.until(behind, "finished")
        await eventually(lambda: not list(bench.work_dir.iterdir()), PATIENCE)
    assert (await bench.rig.stack())["uncertain_since"] is None, "a refresh has looked"
    assert len(marks.read_text().splitlines() if marks.exists() else []) <= 1, "a lost apply is never repeated"


_KEPT = [*APPLYING][[*APPLYING].index("the state was kept") :]


@pytest.mark.parametrize("place", TAKING)
async def test_a_runner_that_dies_around_a_take_over_has_the_run_or_has_it_not(
    bench: RunBench, place: str, tmp_path: Path
) -> None:
    faults = {"LOCKTENDER_FAULTS": f"{place}=kill", "LOCKTENDER_FAULTS_DIR": str(tmp_path)}
    async with runner_process(bench, module=("locktender.testkit.faulty", "runner"), **faults) as runner:
        deployment = await bench.deploy(_MAKES_ONE % "/dev/null")
        await eventually(lambda: not runner.alive, PATIENCE)
    if place == "runner.after-take":
        await _lost(bench, deployment, "plan")
        return
    assert await bench.rig.status(deployment) == "pending", "nobody has it"
    async with runner_process(bench):
        await bench.hint(deployment)
        await bench.until(deployment, "waiting")


async def test_a_runner_that_was_frozen_past_its_lease_changes_nothing_when_it_wakes(
    bench: RunBench, wire: Wire, tmp_path: Path
) -> None:
    """Its engine was not frozen: also what that wants to write after the verdict is refused."""
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    async with runner_process(bench) as runner:
        deployment = await bench.deploy(_WAITS % (begun, gate))
        await bench.until(deployment, "waiting")
        await bench.confirm(deployment)
        await eventually(begun.exists, PATIENCE)
        runner.signal(signal.SIGSTOP)
        await _lost(bench, deployment, "apply")
        run = (await bench.rig.runs(deployment))[-1]["id"]
        judged, told = await _everything(bench, deployment), len(wire.heard)
        gate.touch()
        # The engine goes on: it looks at the state before it writes it, and gives its lock back.
        await eventually(lambda: any("unlock" in each.path for each in _after(wire, told, run)), PATIENCE)
        await _refused_to_write(bench, wire, run)
        runner.signal(signal.SIGCONT)
        await assert_no_process(run, seconds=PATIENCE)
        await eventually(lambda: not list(bench.work_dir.iterdir()), PATIENCE)
    await _refused_to_write(bench, wire, run)
    answers = _after(wire, told, run)
    assert {each.status for each in answers} == {401}, answers
    assert await _everything(bench, deployment) == judged
    assert await assert_state_is_whole(bench, lambda: _state(bench)) is None


async def _refused_to_write(bench: RunBench, wire: Wire, run: UUID) -> None:
    """What an engine would send that has not yet heard anything, by the token that the run really had."""
    [basic] = {each.authorization for each in wire.heard if each.run == str(run) and "/state" in each.path}
    state = {"version": 4, "serial": 1, "lineage": str(run), "terraform_version": "1.11.4", "resources": []}
    answer = await bench.http.post(
        f"/v1/stacks/{bench.rig.stack_id}/state", json=state, headers={"Authorization": basic}
    )
    assert answer.status_code == 401, answer.text


def _after(wire: Wire, told: int, run: UUID) -> list[Heard]:
    return [each for each in wire.heard[told:] if each.run == str(run)]


async def _everything(bench: RunBench, deployment: UUID) -> list[object]:
    stack = await bench.rig.stack()
    return [
        tuple(await bench.rig.deployment(deployment)),
        [tuple(run) for run in await bench.rig.runs(deployment)],
        await bench.rig.events(deployment),
        tuple(stack),
    ]


async def _struck(wire: Wire, bench: RunBench, deployment: UUID) -> None:
    try:
        await eventually(wire.struck.is_set, PATIENCE)
    except TimeoutError:
        row, log = await bench.rig.deployment(deployment), (bench.folder / "runner.log").read_text()[-3000:]
        raise AssertionError(f"nobody came by; the deployment is {row['status']}: {row['failure']}\n{log}") from None


async def _lost(bench: RunBench, deployment: UUID, mode: str) -> None:
    row = await bench.until(deployment, "failed")
    assert '"lost"' in row["failure"], row["failure"]
    run = (await bench.rig.runs(deployment))[-1]
    assert (run["mode"], run["status"], run["token_hash"]) == (mode, "timed_out", None)


async def _state(bench: RunBench) -> bytes:
    answer = await bench.http.get(f"/v1/workspaces/acme/stacks/{(await bench.rig.stack())['name']}/state")
    assert answer.is_success, answer.text
    return answer.content
