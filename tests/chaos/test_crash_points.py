"""Every service, killed by SIGKILL at each of its dangerous places while it carries a real deployment."""

import re
import signal
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest

from locktender.testkit.crash_points import (
    CANCELLED,
    CANCELLING,
    DEPLOYING,
    INTERRUPTED,
    JUDGING,
    PLACES,
    REMOVING,
    end_of,
)
from locktender.testkit.lineages import let_retention_pass
from locktender.testkit.nats_rig import eventually
from locktender.testkit.system import PATIENCE, SystemRig, running_system, tasks
from locktender.testkit.truth import assert_told_in_order, assert_true, told
from locktender.testkit.workloads import manifests, unique

pytestmark = [pytest.mark.timeout(240), pytest.mark.takes(seconds=100)]

AMID = ("runner.before-apply", "runner.after-effect")
WITH_SECRET = {"api.before-insert", "api.after-insert", "runner.after-claim", "runner.after-outcome"}


@pytest.fixture(scope="module")
async def module_rig() -> AsyncGenerator[SystemRig]:
    async with running_system() as rig:
        yield rig


@pytest.fixture
async def rig(module_rig: SystemRig) -> AsyncGenerator[SystemRig]:
    """A system with nobody away and nothing armed; afterwards the database has to hold every invariant."""
    await module_rig.ready()
    yield module_rig
    module_rig.faults.disarm()
    await module_rig.cluster.faults()
    assert await module_rig.violations() == []


@pytest.mark.parametrize("place", [place for place in DEPLOYING if place not in AMID])
async def test_a_deployment_ends_in_truth_wherever_a_process_dies(rig: SystemRig, place: str) -> None:
    rig.faults.arm(place)
    task = await rig.deploy(manifests(unique(), secret=place in WITH_SECRET))
    await rig.faults.fired(place)
    snapshot = await rig.ended(task)
    assert end_of(snapshot) == DEPLOYING[place], snapshot["task"]
    await assert_true(rig, snapshot)
    await assert_told_in_order(rig, task)


@pytest.mark.parametrize("place", AMID)
async def test_a_document_under_way_is_called_unknown_and_the_rest_not_applied(rig: SystemRig, place: str) -> None:
    name = unique()
    rig.faults.arm(place)
    task = await rig.deploy(manifests(name, secret=True))
    await rig.faults.fired(place)
    snapshot = await rig.ended(task)
    assert end_of(snapshot) == DEPLOYING[place], snapshot["task"]
    states = sorted(card["apply"] for card in snapshot["timeline"]["cards"])
    assert states == ["applying", "not-applied", "not-applied", "not-applied"]
    sent = [entry for entry in await rig.cluster.ledger() if entry["task"] == task and not entry["dryRun"]]
    assert len(sent) == (0 if place == "runner.before-apply" else 1)
    await assert_true(rig, snapshot)
    await assert_told_in_order(rig, task)


@pytest.mark.parametrize("place", JUDGING)
async def test_a_run_without_a_runner_is_judged_once_although_the_judge_dies(rig: SystemRig, place: str) -> None:
    rig.faults.arm("runner.after-effect")
    task = await rig.deploy(manifests(unique()))
    await rig.faults.fired("runner.after-effect")
    rig.faults.arm(place)
    await rig.faults.fired(place)
    snapshot = await rig.ended(task)
    assert end_of(snapshot) == INTERRUPTED, snapshot["task"]
    assert [event["kind"] for event in await rig.events(task)].count("engine-resolved") == 1
    await assert_true(rig, snapshot)
    await assert_told_in_order(rig, task)


@pytest.mark.parametrize("place", CANCELLING)
async def test_a_cancel_that_is_on_the_row_holds_although_the_api_dies_before_it_answers(
    rig: SystemRig, place: str
) -> None:
    task = await rig.deploy(manifests(unique(), behaviour="slow:60"))
    await rig.until(task, "applying")
    rig.faults.arm(place)
    assert await rig.cancel(task)
    await rig.faults.fired(place)
    snapshot = await rig.ended(task)
    assert end_of(snapshot) == CANCELLED, snapshot["task"]
    await assert_true(rig, snapshot)
    await assert_told_in_order(rig, task)


@pytest.mark.parametrize("place", REMOVING)
@pytest.mark.story(21)
async def test_what_is_due_is_removed_once_although_cleanup_dies(rig: SystemRig, place: str) -> None:
    task = await rig.deploy(manifests(unique()))
    snapshot = await rig.ended(task)
    await assert_true(rig, snapshot)
    rig.faults.arm(place)
    await let_retention_pass(rig, task)
    await rig.faults.fired(place)

    async def gone() -> bool:
        return (await rig.ask("GET", tasks(f"/{task}"))).status_code == 404

    await eventually(gone, PATIENCE)
    last = snapshot["task"]["revision"] + 1
    await assert_told_in_order(rig, task, last=last)
    assert [event.kind for event in await told(rig, task)].count("removed") == 1


@pytest.mark.parametrize("place", AMID)
@pytest.mark.story(30)
async def test_a_runner_that_slept_through_its_lease_changes_nothing_when_it_wakes(rig: SystemRig, place: str) -> None:
    """What is promised: once the verdict is on the row, the row and the events stay as they are whatever the sleeper
    does. Of the cluster at most the one document changes that was announced under the lease and not yet answered; no
    fence can call it back, and the task calls it unknown. No other document is ever sent.
    """
    rig.faults.arm(place, signal.SIGSTOP)
    task = await rig.deploy(manifests(unique(), secret=True))
    await rig.faults.fired(place)
    sleeper = rig.pid("runner")
    judged = await rig.ended(task)
    rig.signal("runner", signal.SIGCONT)
    # Another deployment from beginning to end shows that the runner is awake and has had its time.
    await assert_true(rig, await rig.ended(await rig.deploy(manifests(unique()))))
    assert rig.pid("runner") == sleeper
    snapshot = await rig.snapshot(task)
    assert snapshot == judged
    assert end_of(snapshot) == INTERRUPTED, snapshot["task"]
    states = sorted(card["apply"] for card in snapshot["timeline"]["cards"])
    assert states == ["applying", "not-applied", "not-applied", "not-applied"]
    await assert_true(rig, snapshot, late=timedelta(seconds=PATIENCE))
    await assert_told_in_order(rig, task)


@pytest.mark.story(1)
async def test_a_runner_that_is_shut_down_says_so_for_what_it_carried(rig: SystemRig) -> None:
    task = await rig.deploy(manifests(unique(), behaviour="slow:60"))
    await _until_applied(rig, task, 3)
    await rig.replaced("runner", rig.signal("runner", signal.SIGTERM))
    snapshot = await rig.ended(task)
    assert end_of(snapshot) == INTERRUPTED, snapshot["task"]
    assert snapshot["task"]["failure"]["detail"] == "shutdown"
    assert [event["kind"] for event in await rig.events(task)][-1] == "failed"
    await assert_true(rig, snapshot)
    await assert_told_in_order(rig, task)


async def test_a_runner_that_is_shut_down_while_a_cancel_waits_confirms_the_cancel(rig: SystemRig) -> None:
    task = await rig.deploy(manifests(unique(), behaviour="slow:60"))
    await _until_applied(rig, task, 3)
    # Asleep, the runner hears neither of the two before the other.
    runner = rig.signal("runner", signal.SIGSTOP)
    rig.signal("runner", signal.SIGTERM)
    assert await rig.cancel(task)
    rig.signal("runner", signal.SIGCONT)
    await rig.replaced("runner", runner)
    snapshot = await rig.ended(task)
    assert end_of(snapshot) == CANCELLED, snapshot["task"]
    await assert_true(rig, snapshot)
    await assert_told_in_order(rig, task)


def test_no_dangerous_place_is_left_out() -> None:
    root = Path(__file__).parents[2]
    sources = [path.read_text() for folder in ("libs", "services") for path in (root / folder).glob("*/src/**/*.py")]
    named = {name for text in sources for name in re.findall(r'faults\.reach\("([^"]+)"\)', text)}
    patterns = {name for text in sources for name in re.findall(r'faults\.reach\(f"\{self\._name\}\.([^"]+)"\)', text)}
    expected = named | {f"{worker}.{place}" for worker in ("runner", "cleanup") for place in patterns}
    assert expected == PLACES


async def _until_applied(rig: SystemRig, task: str, count: int) -> None:
    async def applied() -> bool:
        cards = (await rig.snapshot(task))["timeline"]["cards"]
        return sum(card["apply"] in {"applied", "unchanged"} for card in cards) >= count

    await eventually(applied, PATIENCE)
