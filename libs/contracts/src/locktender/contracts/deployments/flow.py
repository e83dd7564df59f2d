"""The life of a deployment task. Every writer of `deployment_task.status` takes a row of this table."""

from enum import StrEnum

from locktender.contracts.kernel.machine import Actor, Fence, Machine, Transition


class TaskStatus(StrEnum):
    """What is true of a deployment task."""

    QUEUED = "queued"
    RUNNING = "running"
    BLOCKED = "blocked"
    APPLYING = "applying"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TaskPhase(StrEnum):
    """Where a run stands inside its status. For people; it decides nothing."""

    QUEUED = "queued"
    RESOLVE_TARGET = "resolve-target"
    PREPARE = "prepare"
    PLAN = "plan"
    CONFIGURE = "configure"
    GENERATE_ARTIFACTS = "generate-artifacts"
    APPLY = "apply"
    VERIFY = "verify"
    COMPLETED = "completed"


def _step(
    name: str,
    *sources: TaskStatus,
    to: TaskStatus | None,
    by: Actor,
    fence: Fence,
    event: str | None,
) -> Transition[TaskStatus]:
    return Transition(name, frozenset(sources), to, by, fence, event)


_Q, _R, _B, _A = TaskStatus.QUEUED, TaskStatus.RUNNING, TaskStatus.BLOCKED, TaskStatus.APPLYING
_DONE, _FAIL, _STOP = TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED

CLAIM = _step("claim", _Q, to=_R, by=Actor.RUNNER, fence=Fence.ACQUIRE, event="started")
RESUME = _step("resume", _B, to=_R, by=Actor.RUNNER, fence=Fence.ACQUIRE, event="resumed")
SUBMIT_INPUT = _step("submit_input", _B, to=None, by=Actor.API, fence=Fence.NONE, event="input-submitted")
WITHDRAW_INPUT = _step("withdraw_input", _B, to=None, by=Actor.REAPER, fence=Fence.NONE, event="input-withdrawn")
PLACE = _step("place", _Q, _R, _B, _A, to=None, by=Actor.API, fence=Fence.NONE, event="placed")
RENEW = _step("renew", _R, _A, to=None, by=Actor.RUNNER, fence=Fence.HOLD, event=None)
RECORD = _step("record", _R, _A, to=None, by=Actor.RUNNER, fence=Fence.HOLD, event="progressed")
ALLOCATE = _step("allocate", _R, to=None, by=Actor.RUNNER, fence=Fence.HOLD, event="identity-recorded")
CLEAN_UP = _step("clean_up", _A, to=None, by=Actor.RUNNER, fence=Fence.HOLD, event="cleanup-started")
REQUEST_INPUTS = _step("request_inputs", _R, to=_B, by=Actor.RUNNER, fence=Fence.RELEASE, event="inputs-requested")
BEGIN_APPLYING = _step("begin_applying", _R, to=_A, by=Actor.RUNNER, fence=Fence.HOLD, event="applying")
COMPLETE = _step("complete", _A, to=_DONE, by=Actor.RUNNER, fence=Fence.RELEASE, event="completed")
FAIL = _step("fail", _R, _A, to=_FAIL, by=Actor.RUNNER, fence=Fence.RELEASE, event="failed")
ACKNOWLEDGE_CANCEL = _step(
    "acknowledge_cancel", _R, _A, to=_STOP, by=Actor.RUNNER, fence=Fence.RELEASE, event="cancelled"
)
CANCEL = _step("cancel", _Q, _B, to=_STOP, by=Actor.API, fence=Fence.NONE, event="cancelled")
REQUEST_CANCEL = _step("request_cancel", _R, _A, to=None, by=Actor.API, fence=Fence.NONE, event="cancel-requested")
CANCEL_OVERDUE = _step("cancel_overdue", _R, _A, to=_STOP, by=Actor.REAPER, fence=Fence.BREAK, event="engine-resolved")
CANCEL_INTERRUPTED = _step(
    "cancel_interrupted", _R, _A, to=_STOP, by=Actor.REAPER, fence=Fence.BREAK, event="engine-resolved"
)
OVERRUN = _step("overrun", _R, _A, to=_FAIL, by=Actor.REAPER, fence=Fence.BREAK, event="engine-resolved")
INTERRUPT = _step("interrupt", _R, _A, to=_FAIL, by=Actor.REAPER, fence=Fence.BREAK, event="engine-resolved")
NEVER_STARTED = _step("never_started", _Q, to=_FAIL, by=Actor.REAPER, fence=Fence.NONE, event="engine-resolved")
HINT = _step("hint", _Q, to=None, by=Actor.REAPER, fence=Fence.NONE, event=None)
HINT_RESUME = _step("hint_resume", _B, to=None, by=Actor.REAPER, fence=Fence.NONE, event=None)

DEPLOYMENT_TASK = Machine(
    name="deployment_task",
    states=TaskStatus,
    initial=_Q,
    leased=frozenset({_R, _A}),
    transitions=(
        CLAIM,
        SUBMIT_INPUT,
        WITHDRAW_INPUT,
        RESUME,
        PLACE,
        RENEW,
        RECORD,
        ALLOCATE,
        CLEAN_UP,
        REQUEST_INPUTS,
        BEGIN_APPLYING,
        COMPLETE,
        FAIL,
        ACKNOWLEDGE_CANCEL,
        CANCEL,
        REQUEST_CANCEL,
        CANCEL_OVERDUE,
        CANCEL_INTERRUPTED,
        OVERRUN,
        INTERRUPT,
        NEVER_STARTED,
        HINT,
        HINT_RESUME,
    ),
)

REDEPLOYABLE = frozenset({TaskStatus.FAILED, TaskStatus.CANCELLED})
"""What a new task may take the place of."""
