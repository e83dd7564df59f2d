"""How a task is presented: one table for every client, derived from the machine wherever the machine knows."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from pydantic import Field

from locktender.contracts.deployments import flow
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, REDEPLOYABLE, TaskStatus
from locktender.contracts.deployments.wire import Wire


class DisplayState(StrEnum):
    """What a person is told a task is: its status, and what its status does not say.

    `resuming`: the inputs are submitted, and no runner has taken them yet. `cancelling`: a runner has not yet confirmed
    a cancel.
    """

    QUEUED = "queued"
    RUNNING = "running"
    BLOCKED = "blocked"
    RESUMING = "resuming"
    APPLYING = "applying"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Hue(StrEnum):
    """A colour by its meaning."""

    BLUE = "blue"
    GREEN = "green"
    AMBER = "amber"
    RED = "red"
    NEUTRAL = "neutral"


class Attention(StrEnum):
    """How long a task asks to be noticed."""

    NONE = "none"
    NOTICE = "notice"
    """Once, briefly."""
    UNTIL_DISMISSED_OR_SUPERSEDED = "until-dismissed-or-superseded"
    """Until a person dismisses it, or another task was deployed in its place (`supersededBy`)."""
    ALWAYS = "always"
    """For as long as it is in this state."""


class Action(StrEnum):
    """What a client may offer. Whether it is still possible is decided when it is asked for."""

    CANCEL = "cancel"
    INPUT = "input"
    REDEPLOY = "redeploy"
    DISMISS = "dismiss"
    """To hide the task. Clients remember that themselves; nothing is asked of the API."""


class Presentation(Wire):
    """One state, as every client shows it."""

    state: DisplayState
    label: str
    hue: Hue
    attention: Attention
    actions: tuple[Action, ...] = Field(
        description="What the state allows. A task lists its own `actions`, which may be fewer."
    )


class PresentationTable(Wire):
    """Every state."""

    states: tuple[Presentation, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a task that decide how it is presented.

    Attributes:
        cancel_requested: somebody asked to stop it.
        resume_requested: the inputs that it waited for are submitted, and no runner has taken them yet.
    """

    status: TaskStatus
    cancel_requested: bool = False
    resume_requested: bool = False


_HUES = {
    DisplayState.RUNNING: Hue.BLUE,
    DisplayState.RESUMING: Hue.BLUE,
    DisplayState.APPLYING: Hue.BLUE,
    DisplayState.COMPLETED: Hue.GREEN,
    DisplayState.BLOCKED: Hue.AMBER,
    DisplayState.FAILED: Hue.RED,
}
_ATTENTION = {
    DisplayState.BLOCKED: Attention.ALWAYS,
    DisplayState.FAILED: Attention.UNTIL_DISMISSED_OR_SUPERSEDED,
    DisplayState.CANCELLED: Attention.NOTICE,
}
_LABELS = {DisplayState.BLOCKED: "Needs input"}
_ALLOWED = {
    Action.CANCEL: flow.CANCEL.sources | flow.REQUEST_CANCEL.sources,
    Action.INPUT: flow.SUBMIT_INPUT.sources,
    Action.REDEPLOY: REDEPLOYABLE,
    Action.DISMISS: DEPLOYMENT_TASK.terminal,
}


def _presentation(state: DisplayState) -> Presentation:
    return Presentation(
        state=state,
        label=_LABELS.get(state, state.value.capitalize()),
        hue=_HUES.get(state, Hue.NEUTRAL),
        attention=_ATTENTION.get(state, Attention.NONE),
        actions=_actions(state),
    )


def _actions(state: DisplayState) -> tuple[Action, ...]:
    match state:
        case DisplayState.CANCELLING:
            # It is leased, not ended, and has been asked to stop already: nothing is left to do.
            return ()
        case DisplayState.RESUMING:
            # The values are on their way to a runner: a second submission would be refused.
            return tuple(each for each in _allowed(TaskStatus.BLOCKED) if each is not Action.INPUT)
        case _:
            return _allowed(TaskStatus(state.value))


def _allowed(status: TaskStatus) -> tuple[Action, ...]:
    return tuple(action for action, sources in _ALLOWED.items() if status in sources)


PRESENTATIONS = MappingProxyType({state: _presentation(state) for state in DisplayState})
"""The table, in the order of a task's life."""


def display_state(task: Facts) -> DisplayState:
    """The state that a person is told."""
    if task.cancel_requested and task.status in DEPLOYMENT_TASK.leased:
        return DisplayState.CANCELLING
    if task.resume_requested and task.status is TaskStatus.BLOCKED:
        return DisplayState.RESUMING
    return DisplayState(task.status.value)


def present(task: Facts) -> Presentation:
    """How this task is presented, with what can be done to it as it stands."""
    return PRESENTATIONS[display_state(task)]
