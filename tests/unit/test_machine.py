"""What a declaration may be, and what the two machines of the product are."""

import pytest

from locktender.contracts.cleanup.flow import CLEANUP_JOB, JobStatus
from locktender.contracts.deployments.events import KINDS
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.contracts.kernel.machine import (
    Actor,
    Fence,
    InvalidMachine,
    Machine,
    Transition,
    in_order,
)

_P, _R, _D = JobStatus.PENDING, JobStatus.RUNNING, JobStatus.DONE


def _step(
    name: str, source: JobStatus, target: JobStatus | None, fence: Fence, event: str | None = None
) -> Transition[JobStatus]:
    return Transition(name, frozenset({source}), target, Actor.RUNNER, fence, event)


_TAKE = _step("take", _P, _R, Fence.ACQUIRE)
_END = _step("end", _R, _D, Fence.RELEASE)


def _machine(*steps: Transition[JobStatus]) -> Machine[JobStatus]:
    return Machine("job", JobStatus, _P, frozenset({_R}), steps)


def test_a_sound_declaration_is_accepted() -> None:
    machine = _machine(_TAKE, _END)
    assert machine.terminal == {_D}
    assert machine.active == {_P, _R}
    assert machine.edges() == {(_P, _R), (_R, _D)}


def test_a_repeated_name_is_refused() -> None:
    with pytest.raises(InvalidMachine, match="repeat"):
        _machine(_TAKE, _END, _step("end", _R, _P, Fence.RELEASE))


def test_a_state_that_nothing_leads_to_is_refused() -> None:
    with pytest.raises(InvalidMachine, match=r"unreachable.*done"):
        _machine(_TAKE)


@pytest.mark.parametrize(
    "unsound",
    [
        _step("hold a free row", _P, None, Fence.HOLD),
        _step("hold into freedom", _R, _P, Fence.HOLD),
        _step("release into a lease", _R, None, Fence.RELEASE),
        _step("release what nobody holds", _P, _D, Fence.RELEASE),
        _step("take what is taken", _R, None, Fence.ACQUIRE),
        _step("take and let go", _P, _D, Fence.ACQUIRE),
        _step("break and keep", _R, None, Fence.BREAK),
        _step("break what nobody holds", _P, _D, Fence.BREAK),
        _step("end a run without its lease", _R, _D, Fence.NONE),
        _step("start a run without a lease", _P, _R, Fence.NONE),
    ],
    ids=lambda step: step.name,
)
def test_a_step_that_does_not_fit_its_fence_is_refused(unsound: Transition[JobStatus]) -> None:
    with pytest.raises(InvalidMachine, match="does not fit"):
        _machine(_TAKE, _END, unsound)


def test_a_note_may_ask_for_no_lease() -> None:
    machine = _machine(_TAKE, _END, _step("note", _R, None, Fence.NONE))
    assert (_R, _R) not in machine.edges()


def test_states_are_listed_as_declared() -> None:
    assert in_order({_D, _P}) == [_P, _D]
    assert in_order(set[JobStatus]()) == []


def test_a_task_has_three_ends_and_owners_in_two_states() -> None:
    assert DEPLOYMENT_TASK.terminal == {TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED}
    assert DEPLOYMENT_TASK.leased == {TaskStatus.RUNNING, TaskStatus.APPLYING}


def test_a_task_can_be_cancelled_from_every_state_that_is_not_an_end() -> None:
    cancellable = {source for source, target in DEPLOYMENT_TASK.edges() if target is TaskStatus.CANCELLED}
    assert cancellable == DEPLOYMENT_TASK.active


def test_only_the_holder_completes_a_task() -> None:
    ways = [step for step in DEPLOYMENT_TASK.transitions if step.target is TaskStatus.COMPLETED]
    assert [(step.actor, step.fence) for step in ways] == [(Actor.RUNNER, Fence.RELEASE)]


@pytest.mark.parametrize("machine", [DEPLOYMENT_TASK, CLEANUP_JOB], ids=lambda machine: machine.name)
def test_a_holder_that_vanishes_can_be_replaced_from_every_leased_state(machine: Machine[TaskStatus]) -> None:
    broken = {source for step in machine.transitions if step.fence is Fence.BREAK for source in step.sources}
    assert broken == machine.leased


def test_every_change_of_a_task_is_told() -> None:
    assert [step.name for step in DEPLOYMENT_TASK.transitions if step.target is not None and step.event is None] == []
    assert {step.event for step in DEPLOYMENT_TASK.transitions if step.event} < set(KINDS)
