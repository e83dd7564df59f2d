"""A whole system of real processes: green means ready, red says why and leaves things be, and one click recovers."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from locktender.testkit.lineages import answer, deploy_template, instances, parked, redeploy
from locktender.testkit.system import SystemRig, running_system, tasks
from locktender.testkit.truth import assert_true
from locktender.testkit.workloads import manifests, template, unique

pytestmark = [pytest.mark.timeout(240), pytest.mark.takes(seconds=40)]

GIVEN = {"admin_password": "hunter2-and-more"}
READINESS = 8.0


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    async with running_system(environment={"LOCKTENDER_DEADLINES__READINESS": str(READINESS)}) as rig:
        yield rig


async def available(rig: SystemRig, name: str) -> int:
    """How many replicas of a deployment the cluster calls available."""
    status, found = await rig.cluster.request("GET", f"/apis/apps/v1/namespaces/default/deployments/{name}")
    return found.get("status", {}).get("availableReplicas", 0) if status == 200 else 0


@pytest.mark.story(16)
async def test_green_is_never_shown_before_the_cluster_says_that_everything_is_ready(rig: SystemRig) -> None:
    name = unique("green")
    task = await rig.deploy(manifests(name, behaviour="slow:3"))
    seen: set[str] = set()
    while "completed" not in seen:
        snapshot = await rig.snapshot(task)
        seen.add(snapshot["task"]["status"])
        assert seen <= {"queued", "running", "applying", "completed"}, snapshot["task"]
        waits = [card for card in snapshot["timeline"]["cards"] if card["required"] and card["status"] != "running"]
        ready = await available(rig, name)
        # The cluster was asked after the API, so it may be ahead, and never behind.
        assert ready or snapshot["task"]["status"] != "completed"
        assert not waits or snapshot["task"]["status"] != "completed"
    assert "applying" in seen
    await assert_true(rig, await rig.snapshot(task))


@pytest.mark.story(17)
async def test_what_does_not_get_ready_in_time_fails_with_the_reason_and_is_left_in_place(rig: SystemRig) -> None:
    stem = unique("late")
    task = await deploy_template(rig, template(stem), GIVEN | {"behaviour": "never-ready"})
    snapshot = await rig.ended(task)
    failure = snapshot["task"]["failure"]
    assert (snapshot["task"]["status"], failure["reason"]) == ("failed", "readiness-timeout")
    assert snapshot["task"]["instance"] in failure["message"]
    # Applied is not the same as ready: both are told, and a fresh instance is not taken down again for it.
    assert {card["apply"] for card in snapshot["timeline"]["cards"]} == {"applied"}
    assert [card["status"] for card in snapshot["timeline"]["cards"]].count("running") == 3
    assert await instances(rig, stem) == [snapshot["task"]["instance"]]
    await assert_true(rig, snapshot)


@pytest.mark.story(9)
@pytest.mark.story(11)
async def test_one_click_redeploys_a_failed_template_onto_the_same_instance(rig: SystemRig) -> None:
    stem = unique("again")
    first = await deploy_template(rig, template(stem), GIVEN | {"behaviour": "never-ready"})
    failed = (await rig.ended(first))["task"]
    assert failed["actions"] == ["redeploy", "dismiss"]
    outlook = (await rig.ask("GET", tasks(f"/{first}/redeploy"))).json()
    assert (outlook["allowed"], [each["key"] for each in outlook["asks"]]) == (True, ["admin_password"])
    assert "overwrites" in outlook["warning"]
    second = await redeploy(rig, first, GIVEN | {"behaviour": "slow:0"})
    completed = (await rig.ended(second))["task"]
    assert (completed["status"], completed["instance"]) == ("completed", failed["instance"])
    assert await instances(rig, stem) == [failed["instance"]]
    assert (await rig.snapshot(first))["task"]["supersededBy"] == second


@pytest.mark.story(15)
async def test_a_redeploy_asks_again_and_offers_declared_defaults_never_what_was_submitted(rig: SystemRig) -> None:
    first = await deploy_template(rig, template(unique("asks")))
    await parked(rig, first)
    await answer(rig, first, GIVEN | {"title": "Mine alone", "behaviour": "slow:60"})
    await rig.until(first, "applying")
    assert await rig.cancel(first)
    await rig.ended(first)
    second = await redeploy(rig, first)
    snapshot = await parked(rig, second)
    form: dict[str, Any] = {each["key"]: each for each in snapshot["task"]["asked"]["inputs"]}
    assert (form["title"].get("default"), form["behaviour"].get("default")) == ("hello", "slow:0")
    assert (form["admin_password"]["sensitive"], form["admin_password"].get("default")) == (True, None)
    everything = (await rig.ask("GET", tasks(f"/{second}/source"))).text + str(snapshot)
    assert "Mine alone" not in everything
    await answer(rig, second, GIVEN)
    assert (await rig.ended(second))["task"]["status"] == "completed"


@pytest.mark.story(1)
async def test_a_restart_in_the_middle_of_a_deployment_is_told_instead_of_a_spinner(rig: SystemRig) -> None:
    task = await rig.deploy(manifests(unique("restarted"), behaviour="slow:60"))
    await rig.until(task, "applying")
    await rig.kill("runner")
    snapshot = await rig.ended(task, seconds=30)
    assert snapshot["task"]["failure"]["reason"] == "interrupted", snapshot["task"]
    assert {step["status"] for step in snapshot["timeline"]["steps"]} & {"running"} == set()
    await assert_true(rig, snapshot)


async def test_nothing_of_this_broke_an_invariant(rig: SystemRig) -> None:
    assert await rig.violations() == []
