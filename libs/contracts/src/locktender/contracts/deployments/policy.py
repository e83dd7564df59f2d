"""Pure decisions about deployment tasks. No clock, no database: every fact is an argument."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict, Field

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskPhase, TaskStatus
from locktender.contracts.deployments.models import (
    ApplyState,
    Blocker,
    Card,
    Step,
    StepStatus,
    Timeline,
)


class Deadlines(BaseModel):
    """How long each wait may take, in seconds, before the engine ends it. A settings block of several services."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    start: float = Field(default=120.0, gt=0, description="queued, until a runner takes the task")
    cancel_ack: float = Field(default=90.0, gt=0, description="from a cancel request to the runner's confirmation")
    run: float = Field(default=1800.0, gt=0, description="from the claim to the end of the run")
    readiness: float = Field(default=600.0, gt=0, description="from the last document applied to all required ready")
    retention: float = Field(default=30 * 86_400.0, gt=0, description="from the end of a task to its removal")
    hint: float = Field(default=10.0, gt=0, description="from one command for a queued task to the next")


@dataclass(frozen=True, slots=True)
class Waiting:
    """The facts of a task that say what it waits for."""

    status: TaskStatus
    phase: TaskPhase
    runner: str
    created_at: datetime
    claimed_at: datetime | None
    cancel_requested_at: datetime | None
    wait_until: datetime | None = None
    resume_requested_at: datetime | None = None


def blocked_by(task: Waiting) -> Blocker | None:
    """What stands between this task and its end. None once it is over."""
    if task.cancel_requested_at is not None and task.status in DEPLOYMENT_TASK.leased:
        return Blocker(kind="cancel", message="the runner has been told to stop and has not yet confirmed")
    match task.status, task.phase:
        case TaskStatus.QUEUED, _:
            blocker = Blocker(kind="runner", message=f"waits for a free {task.runner} runner")
        case TaskStatus.BLOCKED, _ if task.resume_requested_at is not None:
            blocker = Blocker(kind="runner", message=f"has its inputs and waits for a free {task.runner} runner")
        case TaskStatus.BLOCKED, _:
            blocker = Blocker(kind="input", message="waits for declared inputs")
        case TaskStatus.RUNNING, _:
            blocker = Blocker(kind="cluster", message="the runner is preparing the run")
        case TaskStatus.APPLYING, TaskPhase.VERIFY:
            blocker = Blocker(kind="resources", message="waits for the required resources to become ready")
        case TaskStatus.APPLYING, _:
            blocker = Blocker(kind="cluster", message="documents are being applied one by one")
        case ((TaskStatus.COMPLETED | TaskStatus.FAILED | TaskStatus.CANCELLED), _):
            blocker = None
    return blocker


def deadline_at(task: Waiting, deadlines: Deadlines) -> datetime | None:
    """When the engine ends the present wait. None: over, or a wait without a deadline (inputs)."""
    match task.status:
        case TaskStatus.QUEUED:
            return task.created_at + timedelta(seconds=deadlines.start)
        case TaskStatus.RUNNING | TaskStatus.APPLYING:
            limits = (
                (task.claimed_at, deadlines.run),
                (task.cancel_requested_at, deadlines.cancel_ack),
                (task.wait_until, 0.0),
            )
            return min((start + timedelta(seconds=length) for start, length in limits if start), default=None)
        case TaskStatus.BLOCKED:
            asked = task.resume_requested_at
            return None if asked is None else asked + timedelta(seconds=deadlines.start)
        case TaskStatus.COMPLETED | TaskStatus.FAILED | TaskStatus.CANCELLED:
            return None


def settled(timeline: Timeline, status: TaskStatus) -> Timeline:
    """The timeline of a task that is over, told truthfully.

    A run that was cut off leaves steps running and documents pending. Whoever reads the task then must not be
    shown movement: an open step ends as the task did, a document that was not sent is not applied, and one that
    was sent without a recorded answer stays `applying` with an unknown card.
    """
    if status not in DEPLOYMENT_TASK.terminal or status is TaskStatus.COMPLETED:
        return timeline
    return timeline.model_copy(
        update={
            "steps": tuple(_settled_step(step, status) for step in timeline.steps),
            "cards": tuple(_settled_card(card) for card in timeline.cards),
        }
    )


def _settled_step(step: Step, status: TaskStatus) -> Step:
    match step.status:
        case StepStatus.RUNNING | StepStatus.BLOCKED:
            ended = StepStatus.FAILED if status is TaskStatus.FAILED else StepStatus.SKIPPED
        case StepStatus.PENDING:
            ended = StepStatus.SKIPPED
        case StepStatus.COMPLETED | StepStatus.FAILED | StepStatus.SKIPPED:
            return step
    return step.model_copy(update={"status": ended})


def _settled_card(card: Card) -> Card:
    if card.apply is ApplyState.PENDING:
        return card.model_copy(update={"apply": ApplyState.NOT_APPLIED})
    if card.apply is ApplyState.APPLYING or card.status is CardStatus.CREATING:
        return card.model_copy(update={"status": CardStatus.UNKNOWN})
    return card


def itemised(timeline: Timeline) -> dict[str, list[str]]:
    """What a run that ends early has done and not done, by document. Nothing is ever deleted by a cancel.

    `removed` is there only where a run removed again what it had made.
    """
    said: dict[str, list[str]] = {"applied": [], "unknown": [], "notApplied": []}
    for card in timeline.cards:
        match card.apply:
            case ApplyState.APPLIED | ApplyState.UNCHANGED:
                said["applied"].append(str(card.ref))
            case ApplyState.APPLYING:
                said["unknown"].append(str(card.ref))
            case ApplyState.PENDING | ApplyState.NOT_APPLIED | ApplyState.REFUSED:
                said["notApplied"].append(str(card.ref))
            case ApplyState.REMOVED:
                said.setdefault("removed", []).append(str(card.ref))
    return said
