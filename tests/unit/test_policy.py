"""Pure decisions about deployment tasks."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskPhase, TaskStatus
from locktender.contracts.deployments.models import ApplyState, Card, Step, StepStatus, Timeline
from locktender.contracts.deployments.policy import Deadlines, Waiting, blocked_by, deadline_at, itemised, settled
from locktender.contracts.deployments.wire import ObjectRef

_NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
_DEADLINES = Deadlines(start=100, cancel_ack=90, run=1000)
_TASK = Waiting(
    status=TaskStatus.QUEUED, phase=TaskPhase.QUEUED, runner="direct",
    created_at=_NOON, claimed_at=None, cancel_requested_at=None,
)  # fmt: skip
_RUN = replace(_TASK, status=TaskStatus.APPLYING, phase=TaskPhase.APPLY, claimed_at=_NOON + timedelta(seconds=10))


def _after(seconds: float) -> datetime:
    return _NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize("status", TaskStatus)
@pytest.mark.parametrize("phase", TaskPhase)
def test_a_task_names_what_it_waits_for_exactly_until_it_is_over(status: TaskStatus, phase: TaskPhase) -> None:
    blocker = blocked_by(replace(_TASK, status=status, phase=phase))
    assert (blocker is None) is (status in DEPLOYMENT_TASK.terminal)


@pytest.mark.parametrize(
    ("status", "phase", "kind"),
    [
        (TaskStatus.QUEUED, TaskPhase.QUEUED, "runner"),
        (TaskStatus.RUNNING, TaskPhase.PREPARE, "cluster"),
        (TaskStatus.BLOCKED, TaskPhase.CONFIGURE, "input"),
        (TaskStatus.APPLYING, TaskPhase.APPLY, "cluster"),
        (TaskStatus.APPLYING, TaskPhase.VERIFY, "resources"),
    ],
)
def test_a_wait_is_named_by_its_kind(status: TaskStatus, phase: TaskPhase, kind: str) -> None:
    blocker = blocked_by(replace(_TASK, status=status, phase=phase))
    assert blocker is not None
    assert blocker.kind == kind


@pytest.mark.parametrize("status", TaskStatus)
def test_a_cancel_request_is_what_a_live_run_waits_for(status: TaskStatus) -> None:
    blocker = blocked_by(replace(_TASK, status=status, cancel_requested_at=_NOON))
    assert (blocker is not None and blocker.kind == "cancel") is (status in DEPLOYMENT_TASK.leased)


def test_a_queued_task_is_ended_when_no_runner_takes_it() -> None:
    assert deadline_at(_TASK, _DEADLINES) == _after(100)


def test_a_run_is_ended_when_it_takes_too_long() -> None:
    assert deadline_at(_RUN, _DEADLINES) == _after(1010)


def test_the_earlier_of_two_deadlines_counts() -> None:
    assert deadline_at(replace(_RUN, cancel_requested_at=_after(50)), _DEADLINES) == _after(140)
    assert deadline_at(replace(_RUN, cancel_requested_at=_after(990)), _DEADLINES) == _after(1010)
    assert deadline_at(replace(_RUN, wait_until=_after(70)), _DEADLINES) == _after(70)


@pytest.mark.parametrize("status", [TaskStatus.BLOCKED, *sorted(DEPLOYMENT_TASK.terminal)])
def test_a_wait_for_inputs_and_an_ended_task_have_no_deadline(status: TaskStatus) -> None:
    assert deadline_at(replace(_RUN, status=status), _DEADLINES) is None


def _card(apply: ApplyState, status: CardStatus = CardStatus.PENDING, name: str = "web") -> Card:
    ref = ObjectRef(api_version="v1", kind="Service", namespace="shop", name=name)
    return Card(index=0, ref=ref, apply=apply, status=status)


def _timeline(*cards: Card, steps: tuple[StepStatus, ...] = ()) -> Timeline:
    made = tuple(Step(id=f"s{n}", label="a step", status=status) for n, status in enumerate(steps))
    return Timeline(steps=made, cards=cards)


_OPEN = _timeline(
    _card(ApplyState.APPLIED, CardStatus.CREATING),
    _card(ApplyState.APPLYING),
    _card(ApplyState.PENDING),
    _card(ApplyState.APPLIED, CardStatus.RUNNING),
    steps=(StepStatus.COMPLETED, StepStatus.RUNNING, StepStatus.BLOCKED, StepStatus.PENDING),
)


@pytest.mark.parametrize("status", [*sorted(DEPLOYMENT_TASK.active), TaskStatus.COMPLETED])
def test_a_task_that_is_on_its_way_or_done_is_shown_as_recorded(status: TaskStatus) -> None:
    assert settled(_OPEN, status) == _OPEN


@pytest.mark.parametrize(
    ("status", "open_step"),
    [(TaskStatus.FAILED, StepStatus.FAILED), (TaskStatus.CANCELLED, StepStatus.SKIPPED)],
)
def test_a_run_that_was_cut_off_shows_no_movement(status: TaskStatus, open_step: StepStatus) -> None:
    shown = settled(_OPEN, status)
    assert [step.status for step in shown.steps] == [
        StepStatus.COMPLETED, open_step, open_step, StepStatus.SKIPPED,
    ]  # fmt: skip
    assert [(card.apply, card.status) for card in shown.cards] == [
        (ApplyState.APPLIED, CardStatus.UNKNOWN),
        (ApplyState.APPLYING, CardStatus.UNKNOWN),
        (ApplyState.NOT_APPLIED, CardStatus.PENDING),
        (ApplyState.APPLIED, CardStatus.RUNNING),
    ]


@pytest.mark.parametrize("status", TaskStatus)
def test_settling_twice_changes_nothing(status: TaskStatus) -> None:
    once = settled(_OPEN, status)
    assert settled(once, status) == once


@pytest.mark.parametrize(
    ("apply", "said"),
    [
        (ApplyState.APPLIED, "applied"),
        (ApplyState.UNCHANGED, "applied"),
        (ApplyState.APPLYING, "unknown"),
        (ApplyState.PENDING, "notApplied"),
        (ApplyState.NOT_APPLIED, "notApplied"),
        (ApplyState.REFUSED, "notApplied"),
    ],
)
def test_each_document_is_in_exactly_one_list(apply: ApplyState, said: str) -> None:
    lists = itemised(_timeline(_card(apply)))
    assert lists == {"applied": [], "unknown": [], "notApplied": []} | {said: ["Service shop/web"]}


@pytest.mark.parametrize("name", Deadlines.model_fields)
def test_a_deadline_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        Deadlines.model_validate({name: 0})
