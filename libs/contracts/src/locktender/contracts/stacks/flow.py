"""The three state machines of a stack's work: the deployment people see, its stages, and the runs that runners execute.

Only runs are leased. A deployment moves in the same transaction as the run that moves it.
"""

from enum import StrEnum

from locktender.contracts.kernel.machine import Actor, Fence, Machine, Transition


class RunStatus(StrEnum):
    """What is true of a run."""

    QUEUED = "queued"
    """Behind the lane."""
    PENDING = "pending"
    """Waits for a runner."""
    ASSIGNED = "assigned"
    """A runner was promised to it, and has not taken it over."""
    RUNNING = "running"
    REQUESTED_CANCELLATION = "requested_cancellation"
    CANCELLING = "cancelling"
    """Its runner has confirmed the cancel and is stopping the tool. Nothing undoes this."""
    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    """Its runner fell silent."""
    STARTUP_TIMEOUT = "startup_timeout"
    DISCARDED = "discarded"


class StagePhase(StrEnum):
    """What is true of a stage."""

    WAITING = "waiting"
    RUNNING = "running"
    REQUESTED_CANCELLATION = "requested_cancellation"
    CANCELLING = "cancelling"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class DeploymentStatus(StrEnum):
    """What is true of a deployment."""

    QUEUED = "queued"
    """Behind another deployment of its stack."""
    PENDING = "pending"
    """Holds the lane, waits for a runner."""
    PLANNING = "planning"
    WAITING = "waiting"
    """For somebody to confirm the plan."""
    APPLYING = "applying"
    REQUESTED_CANCELLATION = "requested_cancellation"
    CANCELLING = "cancelling"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


_R = RunStatus
_LIVE = frozenset({_R.RUNNING, _R.REQUESTED_CANCELLATION, _R.CANCELLING})
_UNTAKEN = frozenset({_R.PENDING, _R.ASSIGNED})
_WORKING = frozenset({_R.RUNNING, _R.REQUESTED_CANCELLATION})

RUN_PROMOTE = Transition("promote", frozenset({_R.QUEUED}), _R.PENDING, Actor.API, Fence.NONE, None)
RUN_ASSIGN = Transition("assign", frozenset({_R.PENDING}), _R.ASSIGNED, Actor.RUNNER, Fence.NONE, None)
RUN_UNASSIGN = Transition("unassign", frozenset({_R.ASSIGNED}), _R.PENDING, Actor.REAPER, Fence.NONE, None)
RUN_HINT = Transition("hint", frozenset({_R.PENDING}), None, Actor.REAPER, Fence.NONE, None)
RUN_ACCEPT = Transition("accept", frozenset({_R.ASSIGNED}), _R.RUNNING, Actor.RUNNER, Fence.ACQUIRE, None)
RUN_RENEW = Transition("renew", _LIVE, None, Actor.RUNNER, Fence.HOLD, None)
RUN_REQUEST_CANCEL = Transition(
    "request_cancel", frozenset({_R.RUNNING}), _R.REQUESTED_CANCELLATION, Actor.API, Fence.KEEP, None
)
RUN_ACKNOWLEDGE = Transition(
    "acknowledge", frozenset({_R.REQUESTED_CANCELLATION}), _R.CANCELLING, Actor.RUNNER, Fence.HOLD, None
)
RUN_SUCCEED = Transition("succeed", _WORKING, _R.SUCCESS, Actor.RUNNER, Fence.RELEASE, None)
RUN_FAIL = Transition("fail", _WORKING, _R.FAILURE, Actor.RUNNER, Fence.RELEASE, None)
RUN_END_CANCELLED = Transition("end_cancelled", _LIVE, _R.CANCELLED, Actor.RUNNER, Fence.RELEASE, None)
RUN_LOSE = Transition("lose", _LIVE, _R.TIMED_OUT, Actor.REAPER, Fence.BREAK, None)
RUN_CANCEL = Transition("cancel", _UNTAKEN | {_R.QUEUED}, _R.CANCELLED, Actor.API, Fence.NONE, None)
RUN_DISCARD = Transition("discard", frozenset({_R.QUEUED, _R.PENDING}), _R.DISCARDED, Actor.API, Fence.NONE, None)
RUN_GIVE_UP = Transition("give_up", _UNTAKEN, _R.STARTUP_TIMEOUT, Actor.REAPER, Fence.NONE, None)
RUN_REFUSE = Transition("refuse", _UNTAKEN | {_R.QUEUED}, _R.FAILURE, Actor.API, Fence.NONE, None)

STACK_RUN = Machine(
    name="stack_run",
    states=RunStatus,
    initial=_R.QUEUED,
    leased=_LIVE,
    transitions=(
        RUN_PROMOTE,
        RUN_ASSIGN,
        RUN_UNASSIGN,
        RUN_HINT,
        RUN_ACCEPT,
        RUN_RENEW,
        RUN_REQUEST_CANCEL,
        RUN_ACKNOWLEDGE,
        RUN_SUCCEED,
        RUN_FAIL,
        RUN_END_CANCELLED,
        RUN_LOSE,
        RUN_CANCEL,
        RUN_DISCARD,
        RUN_GIVE_UP,
        RUN_REFUSE,
    ),
)

_G = StagePhase
_OPEN = frozenset({_G.WAITING, _G.RUNNING, _G.REQUESTED_CANCELLATION, _G.CANCELLING})

STAGE_START = Transition("start", frozenset({_G.WAITING}), _G.RUNNING, Actor.API, Fence.NONE, None)
STAGE_REQUEST_CANCEL = Transition(
    "request_cancel", frozenset({_G.RUNNING}), _G.REQUESTED_CANCELLATION, Actor.API, Fence.NONE, None
)
STAGE_ACKNOWLEDGE = Transition(
    "acknowledge", frozenset({_G.REQUESTED_CANCELLATION}), _G.CANCELLING, Actor.RUNNER, Fence.NONE, None
)
STAGE_FINISH = Transition(
    "finish", frozenset({_G.RUNNING, _G.REQUESTED_CANCELLATION}), _G.DONE, Actor.RUNNER, Fence.NONE, None
)
STAGE_FAIL = Transition("fail", _OPEN, _G.FAILED, Actor.RUNNER, Fence.NONE, None)
STAGE_CANCEL = Transition("cancel", _OPEN, _G.CANCELLED, Actor.API, Fence.NONE, None)
STAGE_SKIP = Transition("skip", frozenset({_G.WAITING, _G.RUNNING}), _G.SKIPPED, Actor.API, Fence.NONE, None)

STACK_STAGE = Machine(
    name="stack_stage",
    states=StagePhase,
    initial=_G.WAITING,
    leased=frozenset[StagePhase](),
    transitions=(
        STAGE_START,
        STAGE_REQUEST_CANCEL,
        STAGE_ACKNOWLEDGE,
        STAGE_FINISH,
        STAGE_FAIL,
        STAGE_CANCEL,
        STAGE_SKIP,
    ),
)

_D = DeploymentStatus
_STOPPABLE = frozenset({_D.QUEUED, _D.PENDING, _D.WAITING})
_ENDING = frozenset({_D.PLANNING, _D.APPLYING, _D.REQUESTED_CANCELLATION, _D.CANCELLING})
_ACTIVE = _STOPPABLE | _ENDING

PROMOTE = Transition("promote", frozenset({_D.QUEUED}), _D.PENDING, Actor.API, Fence.NONE, "pending")
BEGIN_PLANNING = Transition(
    "begin_planning", frozenset({_D.PENDING}), _D.PLANNING, Actor.RUNNER, Fence.NONE, "planning"
)
BEGIN_APPLYING = Transition(
    "begin_applying", frozenset({_D.PENDING}), _D.APPLYING, Actor.RUNNER, Fence.NONE, "applying"
)
NOTE_RUN = Transition("note_run", _ACTIVE, None, Actor.RUNNER, Fence.NONE, "run-changed")
"""A run was assigned, taken over or freed, while the deployment stays what it is."""
AWAIT = Transition("await", frozenset({_D.PLANNING}), _D.WAITING, Actor.RUNNER, Fence.NONE, "waiting")
AUTO_APPLY = Transition("auto_apply", frozenset({_D.PLANNING}), _D.APPLYING, Actor.RUNNER, Fence.NONE, "auto-applied")
CONFIRM_APPLY = Transition(
    "confirm_apply", frozenset({_D.WAITING}), _D.APPLYING, Actor.API, Fence.NONE, "confirmed-apply"
)
CONFIRM_REPLAN = Transition(
    "confirm_replan", frozenset({_D.WAITING}), _D.PENDING, Actor.API, Fence.NONE, "confirmed-replan"
)
CONFIRM_SKIP = Transition("confirm_skip", frozenset({_D.WAITING}), _D.SKIPPED, Actor.API, Fence.NONE, "skipped")
SKIP = Transition("skip", _STOPPABLE, _D.SKIPPED, Actor.API, Fence.NONE, "skipped")
PRIORITIZE = Transition("prioritize", _ACTIVE, None, Actor.API, Fence.NONE, "prioritized")
DEPRIORITIZE = Transition("deprioritize", _ACTIVE, None, Actor.API, Fence.NONE, "deprioritized")
REQUEST_CANCEL = Transition(
    "request_cancel", frozenset({_D.PLANNING, _D.APPLYING}), _D.REQUESTED_CANCELLATION, Actor.API, Fence.NONE,
    "cancel-requested",
)  # fmt: skip
ACKNOWLEDGE = Transition(
    "acknowledge", frozenset({_D.REQUESTED_CANCELLATION}), _D.CANCELLING, Actor.RUNNER, Fence.NONE, "cancelling"
)
CANCEL = Transition("cancel", _ENDING | {_D.PENDING}, _D.CANCELLED, Actor.API, Fence.NONE, "cancelled")
FINISH = Transition(
    "finish", frozenset({_D.PLANNING, _D.APPLYING, _D.REQUESTED_CANCELLATION}), _D.FINISHED, Actor.RUNNER, Fence.NONE,
    "finished",
)  # fmt: skip
FAIL = Transition("fail", _ENDING | {_D.QUEUED, _D.PENDING}, _D.FAILED, Actor.RUNNER, Fence.NONE, "failed")

STACK_DEPLOYMENT = Machine(
    name="stack_deployment",
    states=DeploymentStatus,
    initial=_D.QUEUED,
    leased=frozenset[DeploymentStatus](),
    transitions=(
        PROMOTE,
        BEGIN_PLANNING,
        BEGIN_APPLYING,
        NOTE_RUN,
        AWAIT,
        AUTO_APPLY,
        CONFIRM_APPLY,
        CONFIRM_REPLAN,
        CONFIRM_SKIP,
        SKIP,
        PRIORITIZE,
        DEPRIORITIZE,
        REQUEST_CANCEL,
        ACKNOWLEDGE,
        CANCEL,
        FINISH,
        FAIL,
    ),
)

SKIPPABLE = _STOPPABLE
"""Nothing irreversible has begun."""
UNTAKEN = _UNTAKEN
"""No runner has taken the run over, so a cancel is the end of it at once."""
