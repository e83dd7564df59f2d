"""Templates, inputs, cleanups and redeploys, with SIGKILL at each of their dangerous places.

Whatever dies: the end is the true one, a redeploy goes on under the name that the first run took, one instance is in
the cluster, and the password that people entered is nowhere at rest. `LOCKTENDER_CHAOS=long` goes also through the
places that these deployments pass like any other.
"""

import os
from collections.abc import AsyncGenerator, Iterable
from typing import Any

import pytest

from locktender.testkit.canaries import Cage, Canary, token
from locktender.testkit.crash_points import (
    ANSWERING,
    ASKING,
    CANCELLED,
    CLEARING,
    COMPLETED,
    INTERRUPTED,
    JUDGING,
    REDEPLOYING,
    end_of,
)
from locktender.testkit.lineages import answer, deploy_template, instances, let_retention_pass, parked, redeploy
from locktender.testkit.nats_rig import eventually
from locktender.testkit.searching import at_rest, store_without_compression
from locktender.testkit.system import PATIENCE, SystemRig, running_system, tasks
from locktender.testkit.truth import assert_told_in_order, assert_true
from locktender.testkit.workloads import template, unique

pytestmark = [pytest.mark.timeout(300), pytest.mark.takes(seconds=75)]

PASSWORD = token("entered")
GIVEN = {"admin_password": PASSWORD}
NAMED = {"runner.after-allocate", "runner.before-apply", "runner.after-effect", "runner.before-outcome"}
"""A run that dies there has recorded its name."""
OWN = {
    "api.after-submit-input",
    "runner.before-park",
    "runner.after-park",
    "runner.before-allocate",
    "runner.after-allocate",
    "runner.after-effect",
}
"""Where templates and redeploys do something of their own; through the others goes `test_crash_points`."""


def own(places: Iterable[str]) -> list[str]:
    """Only the places that are their own, unless there is time for all of them."""
    return [place for place in places if place in OWN or os.environ.get("LOCKTENDER_CHAOS") == "long"]


@pytest.fixture(scope="module")
async def module_rig() -> AsyncGenerator[SystemRig]:
    async with running_system(environment={"LOCKTENDER_LOG_LEVEL": "debug"}) as rig:
        await store_without_compression(rig)
        yield rig


@pytest.fixture
async def rig(module_rig: SystemRig) -> AsyncGenerator[SystemRig]:
    """A system with nobody away and nothing armed; afterwards every invariant holds and no value is at rest."""
    await module_rig.ready()
    yield module_rig
    module_rig.faults.disarm()
    await module_rig.cluster.faults()
    assert await module_rig.violations() == []
    assert await at_rest(module_rig, Cage([Canary("password", PASSWORD)])) == []


async def over(rig: SystemRig, task: str, end: str) -> dict[str, Any]:
    """The snapshot of a task that has ended as it should, and told the truth about it."""
    snapshot = await rig.ended(task)
    assert end_of(snapshot) == end, snapshot["task"]
    await assert_true(rig, snapshot)
    await assert_told_in_order(rig, task)
    return snapshot


async def recovered(rig: SystemRig, snapshot: dict[str, Any], stem: str) -> None:
    """Redeploy what did not complete; in the end there is one instance, under the name that was taken first."""
    before = snapshot["task"]
    if before["status"] != COMPLETED:
        task = await redeploy(rig, before["id"], GIVEN | {"behaviour": "slow:0"})
        snapshot = await over(rig, task, COMPLETED)
        assert snapshot["task"]["predecessorId"] == before["id"]
        assert before["instance"] in {None, snapshot["task"]["instance"]}
    assert await instances(rig, stem) == [snapshot["task"]["instance"]]


@pytest.mark.parametrize("place", own(ASKING))
async def test_a_deployment_that_will_ask_parks_or_ends_in_truth_wherever_a_process_dies(
    rig: SystemRig, place: str
) -> None:
    stem = unique("asks")
    rig.faults.arm(place)
    task = await deploy_template(rig, template(stem))
    await rig.faults.fired(place)
    snapshot = await parked(rig, task)
    assert await instances(rig, stem) == []
    assert snapshot["task"]["instance"] is None
    if ASKING[place] == COMPLETED:
        assert snapshot["task"]["asked"]["inputs"][0]["key"] == "admin_password"
        await answer(rig, task, GIVEN)
    await recovered(rig, await over(rig, task, ASKING[place]), stem)


@pytest.mark.parametrize("place", own(ANSWERING))
async def test_a_deployment_with_its_inputs_ends_in_truth_and_is_never_made_twice_wherever_a_process_dies(
    rig: SystemRig, place: str
) -> None:
    stem = unique("goes-on")
    task = await deploy_template(rig, template(stem))
    await parked(rig, task)
    rig.faults.arm(place)
    await answer(rig, task, GIVEN)
    await rig.faults.fired(place)
    snapshot = await over(rig, task, ANSWERING[place])
    kinds = [event["kind"] for event in await rig.events(task)]
    # Values that died with the API are asked for once more, and no submission counts twice.
    times = 2 if place == "api.after-submit-input" else 1
    assert (kinds.count("input-submitted"), kinds.count("inputs-requested")) == (times, times)
    assert (snapshot["task"]["instance"] is not None) == (place in NAMED or snapshot["task"]["status"] == COMPLETED)
    await recovered(rig, snapshot, stem)


@pytest.mark.parametrize("place", own(REDEPLOYING))
@pytest.mark.story(11)
async def test_a_redeploy_goes_on_under_the_name_of_its_predecessor_wherever_a_process_dies(
    rig: SystemRig, place: str
) -> None:
    stem = unique("again")
    before = await stopped(rig, stem)
    rig.faults.arm(place)
    task = await redeploy(rig, before["id"], GIVEN | {"behaviour": "slow:0"})
    await rig.faults.fired(place)
    snapshot = await over(rig, task, REDEPLOYING[place])
    assert (snapshot["task"]["instance"], snapshot["task"]["predecessorId"]) == (before["instance"], before["id"])
    await recovered(rig, snapshot, stem)


@pytest.mark.parametrize("place", CLEARING)
async def test_a_cleanup_that_dies_claims_nothing_and_a_redeploy_finds_its_own(rig: SystemRig, place: str) -> None:
    stem = unique("clears")
    await refuse_services(rig)
    rig.faults.arm(place)
    task = await deploy_template(rig, template(stem), GIVEN)
    await rig.faults.fired(place)
    snapshot = await rig.ended(task)
    reason = snapshot["task"]["failure"]["reason"]
    assert (reason == INTERRUPTED) == (CLEARING[place] == INTERRUPTED), snapshot["task"]
    await assert_true(rig, snapshot)
    await assert_told_in_order(rig, task)
    states = {card["apply"] for card in snapshot["timeline"]["cards"][:2]}
    assert states == ({"applying"} if place == "runner.during-cleanup" else {"removed"})
    await rig.cluster.faults()
    await recovered(rig, snapshot, stem)


@pytest.mark.parametrize("place", JUDGING)
async def test_a_run_that_died_amid_its_cleanup_is_judged_once_although_the_judge_dies(
    rig: SystemRig, place: str
) -> None:
    stem = unique("judged")
    await refuse_services(rig)
    rig.faults.arm("runner.during-cleanup")
    task = await deploy_template(rig, template(stem), GIVEN)
    await rig.faults.fired("runner.during-cleanup")
    rig.faults.arm(place)
    await rig.faults.fired(place)
    snapshot = await over(rig, task, INTERRUPTED)
    assert [event["kind"] for event in await rig.events(task)].count("engine-resolved") == 1
    await rig.cluster.faults()
    await recovered(rig, snapshot, stem)


async def test_a_parked_deployment_is_cancelled_although_the_api_dies_over_it(rig: SystemRig) -> None:
    task = await deploy_template(rig, template(unique("parked")))
    await parked(rig, task)
    rig.faults.arm("api.after-cancel")
    assert await rig.cancel(task)
    await rig.faults.fired("api.after-cancel")
    snapshot = await over(rig, task, CANCELLED)
    assert (snapshot["task"]["asked"], snapshot["task"]["instance"]) == (None, None)


@pytest.mark.parametrize("place", ["cleanup.before-remove", "cleanup.after-remove"])
async def test_a_chain_keeps_its_name_although_cleanup_dies_over_its_root(rig: SystemRig, place: str) -> None:
    stem = unique("chain")
    root = await stopped(rig, stem)
    middle = await redeploy(rig, root["id"], GIVEN)
    rig.faults.arm(place)
    await let_retention_pass(rig, root["id"])
    await rig.faults.fired(place)

    async def gone() -> bool:
        return (await rig.ask("GET", tasks(f"/{root['id']}"))).status_code == 404

    await eventually(gone, PATIENCE)
    assert await rig.cancel(middle)
    snapshot = await over(rig, middle, CANCELLED)
    assert snapshot["task"]["instance"] == root["instance"]
    await recovered(rig, snapshot, stem)


async def stopped(rig: SystemRig, stem: str) -> dict[str, Any]:
    """A cancelled deployment that had begun to apply, and has left its objects behind."""
    task = await deploy_template(rig, template(stem), GIVEN | {"behaviour": "slow:60"})
    await rig.until(task, "applying")
    assert await rig.cancel(task)
    return (await over(rig, task, CANCELLED))["task"]


async def refuse_services(rig: SystemRig) -> None:
    """The plan goes well, and applying fails half-way."""
    refused = {"verb": "patch", "resource": "services"}
    await rig.cluster.faults(refused | {"count": 1}, refused | {"status": 422, "message": "no such colour"})
