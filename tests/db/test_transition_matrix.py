"""Every transition by every status by every epoch, through the statements that run in production.

What has to happen is derived from the machine alone.
"""

from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest

from locktender.contracts.cleanup.flow import CLEANUP_JOB, JobStatus
from locktender.contracts.deployments import flow
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.contracts.kernel.errors import LeaseLost, NotFound, WrongState
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.machine import Fence, Machine, Transition
from locktender.storage.cleanup import transitions as cleanup
from locktender.storage.deployments import transitions as deployments
from locktender.storage.kernel.coalescer import Coalescer
from locktender.storage.kernel.guarded import Guarded
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase

_GUARDED: list[Guarded[Any]] = [
    *deployments.TRANSITIONS, cleanup.CLAIM, cleanup.RENEW, cleanup.RETRY,
]  # fmt: skip
_SHARED = {"owner": "runner-2/ba9876543210", "ttl": 30.0, "delay": 5.0}
_VALUES: dict[str, object] = {
    "message": "it moved", "payload": "{}", "actor": "runner", "trace": "{}", "phase": "verify",
    "timeline": rows.TIMELINE, "failure": rows.FAILURE, "cancel_requested_by": "ada", "last_error": "it failed",
    "asked": rows.ASKED, "resume_requested_by": "ada", "custodian": "api-1", "canvas": "{}",
    "identity": '{"instance": "shop"}',
}  # fmt: skip
_EPOCH = 5

_CASES = [
    pytest.param(guarded, status, id=f"{guarded.aggregate.name}-{guarded.step.name}-{status}")
    for guarded in _GUARDED
    for status in guarded.machine.states
]


async def _planted(db: TestDatabase, machine: Machine[Any], status: StrEnum, step: str) -> UUID:
    # Inputs that wait for a runner are the one thing that a resume asks for besides the state.
    submitted = {"resume_requested_at": await db.now()} if (step, status) == ("resume", TaskStatus.BLOCKED) else {}
    if machine.name == CLEANUP_JOB.name:
        return (await rows.job(db, status=JobStatus(status), epoch=_EPOCH)).row_id
    return (await rows.task(db, status=TaskStatus(status), epoch=_EPOCH, **submitted)).row_id


async def _row(db: TestDatabase, machine: Machine[Any], key: UUID) -> dict[str, Any]:
    row = await db.admin.fetchrow(f"select * from locktender.{machine.name} where id = $1", key)  # noqa: S608 - ours
    assert row is not None
    return dict(row)


async def _told(db: TestDatabase, key: UUID) -> list[tuple[int, str]]:
    """What the outbox and the record say of a row, which has to be the same."""
    recorded = await db.admin.fetch("select revision, kind from locktender.deployment_event where task_id = $1", key)
    sent = await db.admin.fetch(
        "select revision, split_part(type, '.', 3) kind from locktender.outbox where aggregate = $1::uuid::text", key
    )
    assert [tuple(row) for row in recorded] == [tuple(row) for row in sent]
    return [(row["revision"], row["kind"]) for row in sent]


async def _attempt(db: TestDatabase, guarded: Guarded[Any], key: UUID, epoch: int) -> Exception | None:
    columns = {name: _VALUES[name] for name in guarded.columns if name not in {"id", "epoch"}}
    if guarded.fenced:
        columns["epoch"] = epoch
    try:
        await Coalescer(db.database, guarded, **_SHARED).write(id=key, **columns)
    except (NotFound, WrongState, LeaseLost) as error:
        return error
    return None


def _assert_moved(
    machine: Machine[Any], step: Transition[Any], before: dict[str, Any], after: dict[str, Any], status: StrEnum
) -> None:
    target = status if step.target is None else step.target
    assert after["status"] == target
    assert after["lease_epoch"] == _EPOCH + (step.fence in {Fence.ACQUIRE, Fence.BREAK})
    assert (after["lease_owner"] is not None) is (target in machine.leased)
    assert (after["completed_at"] is not None) is (target in machine.terminal)
    assert after["revision"] == before["revision"] + (step.event is not None)


@pytest.mark.parametrize("epoch", [_EPOCH - 1, _EPOCH, _EPOCH + 1], ids=["stale", "current", "future"])
@pytest.mark.parametrize(("guarded", "status"), _CASES)
@pytest.mark.story(30)
async def test_a_transition_moves_exactly_what_the_machine_allows(
    module_db: TestDatabase, guarded: Guarded[Any], status: StrEnum, epoch: int
) -> None:
    machine, step = guarded.machine, guarded.step
    key = await _planted(module_db, machine, status, step.name)
    before = await _row(module_db, machine, key)

    refusal = await _attempt(module_db, guarded, key, epoch)

    after = await _row(module_db, machine, key)
    if guarded.fenced and epoch != _EPOCH:
        assert isinstance(refusal, LeaseLost)
        assert (refusal.held, refusal.current) == (epoch, _EPOCH)
    elif status not in step.sources:
        assert isinstance(refusal, WrongState)
        assert (refusal.transition, refusal.actual) == (step.name, status)
    else:
        assert refusal is None
        _assert_moved(machine, step, before, after, status)
        assert await _told(module_db, key) == ([] if step.event is None else [(after["revision"], step.event)])
        return
    assert after == before
    assert await _told(module_db, key) == []


@pytest.mark.parametrize("guarded", _GUARDED, ids=lambda guarded: f"{guarded.aggregate.name}-{guarded.step.name}")
async def test_a_row_that_is_not_there_is_not_found(module_db: TestDatabase, guarded: Guarded[Any]) -> None:
    assert isinstance(await _attempt(module_db, guarded, new_id(), _EPOCH), NotFound)


@pytest.mark.parametrize("guarded", [deployments.COMPLETE, deployments.FAIL], ids=lambda guarded: guarded.step.name)
async def test_a_cancel_that_was_asked_for_is_never_overwritten(
    module_db: TestDatabase, guarded: Guarded[TaskStatus]
) -> None:
    asked = await module_db.now()
    lease = await rows.task(
        module_db, status=TaskStatus.APPLYING, epoch=_EPOCH, cancel_requested_at=asked, cancel_requested_by="ada"
    )
    assert isinstance(await _attempt(module_db, guarded, lease.row_id, _EPOCH), WrongState)
    assert await _attempt(module_db, deployments.ACKNOWLEDGE_CANCEL, lease.row_id, _EPOCH) is None


async def test_a_cancel_is_asked_for_once(module_db: TestDatabase) -> None:
    lease = await rows.task(module_db, status=TaskStatus.RUNNING, epoch=_EPOCH)
    assert await _attempt(module_db, deployments.REQUEST_CANCEL, lease.row_id, _EPOCH) is None
    assert isinstance(await _attempt(module_db, deployments.REQUEST_CANCEL, lease.row_id, _EPOCH), WrongState)


@pytest.mark.parametrize("step", ["resume", "submit_input"])
async def test_inputs_are_submitted_once_and_taken_once(module_db: TestDatabase, step: str) -> None:
    guarded = deployments.RESUME if step == "resume" else deployments.SUBMIT_INPUT
    submitted = {} if step == "resume" else {"resume_requested_at": await module_db.now()}
    lease = await rows.task(module_db, status=TaskStatus.BLOCKED, epoch=_EPOCH, **submitted)
    before = await _row(module_db, DEPLOYMENT_TASK, lease.row_id)
    assert isinstance(await _attempt(module_db, guarded, lease.row_id, _EPOCH), WrongState)
    assert await _row(module_db, DEPLOYMENT_TASK, lease.row_id) == before


async def test_a_run_that_was_asked_to_stop_removes_nothing(module_db: TestDatabase) -> None:
    asked = await module_db.now()
    lease = await rows.task(module_db, status=TaskStatus.APPLYING, epoch=_EPOCH, cancel_requested_at=asked)
    assert isinstance(await _attempt(module_db, deployments.CLEAN_UP, lease.row_id, _EPOCH), WrongState)


async def test_a_run_that_was_asked_to_stop_is_never_parked(module_db: TestDatabase) -> None:
    asked = await module_db.now()
    lease = await rows.task(module_db, status=TaskStatus.RUNNING, epoch=_EPOCH, cancel_requested_at=asked)
    assert isinstance(await _attempt(module_db, deployments.REQUEST_INPUTS, lease.row_id, _EPOCH), WrongState)


async def test_a_place_on_a_canvas_may_be_kept_only_where_there_is_none(module_db: TestDatabase) -> None:
    lease = await rows.task(module_db, status=TaskStatus.RUNNING, epoch=_EPOCH)
    assert await _attempt(module_db, deployments.PLACE_IF_EMPTY, lease.row_id, _EPOCH) is None
    assert isinstance(await _attempt(module_db, deployments.PLACE_IF_EMPTY, lease.row_id, _EPOCH), WrongState)
    assert await _attempt(module_db, deployments.PLACE, lease.row_id, _EPOCH) is None


_SWEEPS = {
    "cancel-ack-deadline": flow.CANCEL_OVERDUE,
    "interrupted-with-cancel": flow.CANCEL_INTERRUPTED,
    "timeout": flow.OVERRUN,
    "interrupted": flow.INTERRUPT,
    "never-started": flow.NEVER_STARTED,
}


@pytest.mark.parametrize("reason", _SWEEPS)
async def test_a_verdict_falls_on_every_source_state_and_on_no_other(db: TestDatabase, reason: str) -> None:
    step = _SWEEPS[reason]
    long_ago = await db.now()
    asked = {"cancel_requested_at": long_ago} if "cancel" in reason else {}
    planted = {
        status: (await rows.task(db, status=status, epoch=_EPOCH, ttl=0, created_at=long_ago, **asked)).row_id
        for status in TaskStatus
    }
    before = {status: await _row(db, DEPLOYMENT_TASK, key) for status, key in planted.items()}
    await db.advance(10)

    given = {"patience": 5.0} if reason not in {"interrupted", "interrupted-with-cancel"} else {}
    moved = await db.database.fetch(deployments.SWEEPS[reason], limit=100, **given)

    assert {row["id"] for row in moved} == {planted[status] for status in step.sources}
    for status, key in planted.items():
        after = await _row(db, DEPLOYMENT_TASK, key)
        if status in step.sources:
            _assert_moved(DEPLOYMENT_TASK, step, before[status], after, status)
            assert await _told(db, key) == [(after["revision"], "engine-resolved")]
        else:
            assert after == before[status]


@pytest.mark.parametrize("reason", ["timeout", "interrupted"])
async def test_a_run_that_was_asked_to_stop_never_ends_failed(db: TestDatabase, reason: str) -> None:
    await rows.task(db, status=TaskStatus.APPLYING, epoch=_EPOCH, ttl=0, cancel_requested_at=await db.now())
    await db.advance(10)
    given = {"patience": 5.0} if reason == "timeout" else {}
    assert await db.database.fetch(deployments.SWEEPS[reason], limit=100, **given) == []


async def test_a_job_whose_holder_is_gone_is_freed_and_no_other(db: TestDatabase) -> None:
    planted = {status: (await rows.job(db, status=status, epoch=_EPOCH, ttl=0)).row_id for status in JobStatus}
    before = {status: await _row(db, CLEANUP_JOB, key) for status, key in planted.items()}
    await db.advance(1)
    moved = await db.database.fetch(cleanup.EXPIRE, limit=100)
    assert [row["id"] for row in moved] == [planted[JobStatus.RUNNING]]
    after = await _row(db, CLEANUP_JOB, planted[JobStatus.RUNNING])
    assert (after["status"], after["lease_epoch"], after["lease_owner"]) == ("pending", _EPOCH + 1, None)
    for status in (JobStatus.PENDING, JobStatus.DONE):
        assert await _row(db, CLEANUP_JOB, planted[status]) == before[status]


def test_every_transition_of_both_machines_is_in_this_matrix() -> None:
    seen = {(guarded.machine.name, guarded.step.name) for guarded in _GUARDED}
    seen |= {("deployment_task", step.name) for step in _SWEEPS.values()}
    # Hints move nothing, and inputs are withdrawn (test_sweeps).
    # A job is finished by the removal of its subject (test_retention).
    seen |= {("deployment_task", name) for name in ("hint", "hint_resume", "withdraw_input")}
    seen |= {("cleanup_job", "hint"), ("cleanup_job", "expire"), ("cleanup_job", "finish")}
    declared = {(machine.name, step.name) for machine in (DEPLOYMENT_TASK, CLEANUP_JOB) for step in machine.transitions}
    assert seen == declared
