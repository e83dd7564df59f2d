"""A cancel is what the state of the run calls for, and no run ends as anything but what happened to it."""

from uuid import UUID

import pytest

from locktender.contracts.kernel.errors import LeaseLost, NotFound
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks.flow import RunStatus
from locktender.contracts.stacks.policy import CancelledEnding, CancelShape, cancelled_ending
from locktender.contracts.stacks.vocabulary import CancellationReason, DeploymentMode, StageKind
from locktender.contracts.stacks.wire import Done, Outcome
from locktender.storage.stacks.assign import AcceptedRun, acknowledge, assign
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.confirm import confirm_apply
from locktender.testkit.database import TestDatabase
from locktender.testkit.stacks import APPLIED, StackRig, new_stack, planned

STOPPED = Done(outcome=Outcome.CANCELLED)


async def _cancel(rig: StackRig, key: UUID) -> CancelShape:
    shape, _ = await rig.transact(lambda tx: request_cancel(tx, key, "grace", {}))
    return shape


async def _acknowledge(rig: StackRig, run: AcceptedRun) -> None:
    await rig.transact(lambda tx: acknowledge(tx, run.lease.row_id, run.lease.epoch, {}))


async def _ending(rig: StackRig, key: UUID) -> CancelledEnding:
    run, (kind, _) = (await rig.runs(key))[-1], (await rig.stages(key))[-1]
    return cancelled_ending(
        StageKind(kind), RunStatus(run["status"]),
        by_deadline=run["cancellation_reason"] == CancellationReason.RUN_DEADLINE,
        started=run["started_at"] is not None,
    )  # fmt: skip


async def _applying(rig: StackRig) -> UUID:
    key = await rig.deploy()
    await rig.plan(key)
    await rig.transact(lambda tx: confirm_apply(tx, key, "a", plan_digest=None, variables_digest=None, trace={}))
    return key


async def test_what_waits_in_the_queue_or_for_a_person_is_skipped(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    waiting, queued = await rig.deploy(), await rig.deploy()
    await rig.plan(waiting)
    for key in (queued, waiting):
        assert await _cancel(rig, key) is CancelShape.SKIP
        assert [await rig.status(key), await rig.trail(key)] == ["skipped", ["created", "skipped"]]
    assert (await rig.stack())["lane_holder"] is None


@pytest.mark.parametrize("promised", [False, True])
@pytest.mark.parametrize("apply", [False, True])
async def test_a_run_that_nobody_has_taken_is_cancelled_at_once(
    module_db: TestDatabase, *, apply: bool, promised: bool
) -> None:
    rig = await new_stack(module_db)
    key = await (_applying(rig) if apply else rig.deploy())
    behind = await rig.deploy()
    run = await rig.open_run(key)
    assert run is not None
    if promised:
        await rig.transact(lambda tx: assign(tx, run["id"], runner_id=None, remote=False, assignment_seconds=60.0))
    assert await _cancel(rig, key) is CancelShape.AT_ONCE
    assert [await rig.status(key), await rig.status(behind)] == ["cancelled", "pending"]
    assert [(await rig.runs(key))[-1]["status"], (await rig.stages(key))[-1][1]] == ["cancelled", "cancelled"]
    assert (await rig.trail(key))[-1] == "cancellation_requested"
    assert await _ending(rig, key) is CancelledEnding.NEVER_STARTED


async def test_a_running_run_is_asked_confirms_and_ends_cancelled_whatever_it_reports(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    key = await rig.deploy()
    run = await rig.take(key)
    assert await _cancel(rig, key) is CancelShape.REQUEST
    assert await _cancel(rig, key) is CancelShape.ALREADY
    assert [await rig.status(key), await rig.stages(key)] == [
        "requested_cancellation", [("plan_run", "requested_cancellation")]
    ]  # fmt: skip
    await _acknowledge(rig, run)
    await _acknowledge(rig, run)
    assert [await rig.status(key), await rig.stages(key)] == ["cancelling", [("plan_run", "cancelling")]]
    assert await _cancel(rig, key) is CancelShape.ALREADY
    await rig.report(run, planned())
    assert [await rig.status(key), (await rig.runs(key))[0]["status"]] == ["cancelled", "cancelled"]
    assert await _ending(rig, key) is CancelledEnding.STOPPED
    assert await _cancel(rig, key) is CancelShape.OVER
    assert await rig.trail(key) == ["created", "cancellation_requested"]
    row = await rig.deployment(key)
    assert (row["cancel_requested_by"], row["cancel_requested_at"] is not None) == ("grace", True)


@pytest.mark.parametrize("mode", ["plan", "destroy", "refresh"])
@pytest.mark.parametrize("changes", [False, True])
async def test_a_plan_that_was_faster_than_its_cancel_stays_a_success_and_is_not_applied(
    module_db: TestDatabase, mode: str, *, changes: bool
) -> None:
    rig = await new_stack(module_db, auto_approve="auto")
    key = await rig.deploy(DeploymentMode(mode))
    run = await rig.take(key)
    await _cancel(rig, key)
    await rig.report(run, planned(changes=changes))
    assert [await rig.status(key), (await rig.runs(key))[0]["status"]] == ["cancelled", "success"]
    assert await rig.stages(key) == [(f"{mode}_run", "done")]
    assert await _ending(rig, key) is CancelledEnding.APPLY_WITHHELD
    assert (await rig.stack())["lane_holder"] is None


@pytest.mark.parametrize("raw", [False, True])
async def test_an_apply_that_was_faster_than_its_cancel_has_happened(module_db: TestDatabase, *, raw: bool) -> None:
    rig = await new_stack(module_db)
    key = await (rig.deploy(DeploymentMode.RAW) if raw else _applying(rig))
    run = await rig.take(key)
    await _cancel(rig, key)
    await rig.report(run, APPLIED)
    assert [await rig.status(key), (await rig.runs(key))[-1]["status"]] == ["finished", "success"]


async def test_a_failure_after_a_request_is_a_failure(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    key = await _applying(rig)
    run = await rig.take(key)
    await _cancel(rig, key)
    await rig.report(run, Done(outcome=Outcome.FAILURE))
    assert await rig.status(key) == "failed"


async def test_a_run_stopped_at_its_deadline_is_cancelled_without_anybodys_act(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    key = await rig.deploy()
    done = Done(outcome=Outcome.CANCELLED, cancellation_reason=CancellationReason.RUN_DEADLINE)
    await rig.plan(key, done)
    assert [await rig.status(key), await rig.trail(key)] == ["cancelled", ["created"]]
    assert await _ending(rig, key) is CancelledEnding.DEADLINE


async def test_a_cancelled_run_takes_no_report_any_more(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    key = await rig.deploy()
    run = await rig.take(key)
    await rig.report(run, STOPPED)
    with pytest.raises(LeaseLost):
        await rig.report(run, planned())
    with pytest.raises(NotFound):
        await _cancel(rig, new_id())


async def test_a_looking_plan_is_cancelled_without_touching_the_lane(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    holder, looking = await rig.deploy(), await rig.deploy(DeploymentMode.PLAN_UNLOCKED)
    before = await rig.stack()
    assert await _cancel(rig, looking) is CancelShape.AT_ONCE
    assert await rig.status(looking) == "cancelled"
    after = await rig.stack()
    assert (after["lane_holder"], after["latest_deployment_id"]) == (holder, before["latest_deployment_id"])
