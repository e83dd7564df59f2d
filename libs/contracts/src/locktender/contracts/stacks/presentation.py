"""How a deployment of a stack is presented: one table for every client, derived from the machines where they know."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from pydantic import Field

from locktender.contracts.stacks.flow import (
    CONFIRM_APPLY,
    CONFIRM_REPLAN,
    DEPRIORITIZE,
    PRIORITIZE,
    SKIPPABLE,
    STACK_DEPLOYMENT,
    UNTAKEN,
    DeploymentStatus,
    RunStatus,
)
from locktender.contracts.stacks.models import StackWire
from locktender.contracts.stacks.vocabulary import DeploymentMode, Origin, RunMode


class StackDisplay(StrEnum):
    """What a person is told a deployment is: its status, and what its status alone does not say.

    `confirmed`: it is to be applied, and no runner has begun. `lost`: its runner fell silent while it changed things,
    so what it did is unknown.
    """

    QUEUED = "queued"
    PENDING = "pending"
    PLANNING = "planning"
    WAITING = "waiting"
    CONFIRMED = "confirmed"
    APPLYING = "applying"
    REQUESTED_CANCELLATION = "requested_cancellation"
    CANCELLING = "cancelling"
    FINISHED = "finished"
    FAILED = "failed"
    LOST = "lost"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class StackHue(StrEnum):
    """A colour by its meaning."""

    BLUE = "blue"
    GREEN = "green"
    AMBER = "amber"
    RED = "red"
    NEUTRAL = "neutral"


class StackAttention(StrEnum):
    """How long a deployment asks to be noticed."""

    NONE = "none"
    NOTICE = "notice"
    """Once, briefly."""
    UNTIL_DISMISSED_OR_SUPERSEDED = "until-dismissed-or-superseded"
    """Until a person dismisses it, or the stack has a newer deployment."""
    ALWAYS = "always"
    """For as long as it is in this state."""


class StackAction(StrEnum):
    """What a client may offer. Whether it is still possible is decided when it is asked for."""

    CONFIRM = "confirm"
    REPLAN = "replan"
    SKIP = "skip"
    CANCEL = "cancel"
    RETRY = "retry"
    PRIORITIZE = "prioritize"
    DEPRIORITIZE = "deprioritize"


class StackPresentation(StackWire):
    """One state, as every client shows it."""

    state: StackDisplay
    label: str
    hue: StackHue
    attention: StackAttention
    actions: tuple[StackAction, ...] = Field(
        description="What the state allows. A deployment lists its own `actions`, which may be fewer."
    )


class StackPresentationTable(StackWire):
    """Every state."""

    states: tuple[StackPresentation, ...]


@dataclass(frozen=True, slots=True)
class DeploymentFacts:
    """The facts of a deployment that decide how it is presented.

    Attributes:
        run: the status of its newest run.
        run_mode: what that run does.
    """

    status: DeploymentStatus
    mode: DeploymentMode
    origin: Origin
    prioritized: bool = False
    run: RunStatus | None = None
    run_mode: RunMode | None = None


_HUES = {
    StackDisplay.PLANNING: StackHue.BLUE,
    StackDisplay.CONFIRMED: StackHue.BLUE,
    StackDisplay.APPLYING: StackHue.BLUE,
    StackDisplay.WAITING: StackHue.AMBER,
    StackDisplay.FINISHED: StackHue.GREEN,
    StackDisplay.FAILED: StackHue.RED,
    StackDisplay.LOST: StackHue.RED,
}
_ATTENTION = {
    StackDisplay.WAITING: StackAttention.ALWAYS,
    StackDisplay.LOST: StackAttention.ALWAYS,
    StackDisplay.FAILED: StackAttention.UNTIL_DISMISSED_OR_SUPERSEDED,
    StackDisplay.CANCELLED: StackAttention.NOTICE,
}
_LABELS = {
    StackDisplay.WAITING: "Needs confirmation",
    StackDisplay.PENDING: "Waits for a runner",
    StackDisplay.CONFIRMED: "Confirmed, not begun",
    StackDisplay.REQUESTED_CANCELLATION: "Asked to stop",
    StackDisplay.LOST: "Outcome unknown",
}
_STATUS_OF = {StackDisplay.CONFIRMED: DeploymentStatus.APPLYING, StackDisplay.LOST: DeploymentStatus.FAILED}
_ALLOWED = {
    StackAction.CONFIRM: CONFIRM_APPLY.sources,
    StackAction.REPLAN: CONFIRM_REPLAN.sources,
    StackAction.SKIP: SKIPPABLE,
    StackAction.CANCEL: frozenset({DeploymentStatus.PENDING, DeploymentStatus.PLANNING, DeploymentStatus.APPLYING}),
    StackAction.RETRY: STACK_DEPLOYMENT.terminal,
    StackAction.PRIORITIZE: PRIORITIZE.sources,
    StackAction.DEPRIORITIZE: DEPRIORITIZE.sources,
}


def _presentation(state: StackDisplay) -> StackPresentation:
    status = _STATUS_OF.get(state) or DeploymentStatus(state.value)
    return StackPresentation(
        state=state,
        label=_LABELS.get(state, state.value.capitalize()),
        hue=_HUES.get(state, StackHue.NEUTRAL),
        attention=_ATTENTION.get(state, StackAttention.NONE),
        actions=tuple(action for action, sources in _ALLOWED.items() if status in sources),
    )


STACK_PRESENTATIONS = MappingProxyType({state: _presentation(state) for state in StackDisplay})
"""The table, in the order of a deployment's life."""


MODE_LABELS = MappingProxyType(
    {mode: mode.value for mode in DeploymentMode}
    | {DeploymentMode.PLAN_UNLOCKED: "look", DeploymentMode.RAW: "command"}
)
"""What a person is told a deployment is for, in one word."""


def display_of(facts: DeploymentFacts) -> StackDisplay:
    """The state that a person is told."""
    if facts.status is DeploymentStatus.APPLYING and facts.run in UNTAKEN:
        return StackDisplay.CONFIRMED
    mutates = facts.run_mode is not None and facts.run_mode.mutates
    if facts.status is DeploymentStatus.FAILED and mutates and facts.run is RunStatus.TIMED_OUT:
        return StackDisplay.LOST
    return StackDisplay(facts.status.value)


def actions_of(facts: DeploymentFacts) -> tuple[StackAction, ...]:
    """What can be done to this deployment as it stands."""
    withheld = {StackAction.PRIORITIZE if facts.prioritized else StackAction.DEPRIORITIZE}
    if facts.origin is Origin.LOCAL:
        withheld.add(StackAction.RETRY)
    return tuple(each for each in STACK_PRESENTATIONS[display_of(facts)].actions if each not in withheld)
