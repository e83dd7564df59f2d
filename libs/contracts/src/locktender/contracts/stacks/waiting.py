"""What a deployment waits for and until when, from the facts of its rows. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from locktender.contracts.stacks.flow import UNTAKEN, DeploymentStatus, RunStatus
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.views import BlockerKind, StackBlocker

_D, _K = DeploymentStatus, BlockerKind


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """The facts of the newest run of a deployment.

    Attributes:
        group_fault: why no runner of the group can ever take it, as the end of a sentence. None where one can.
    """

    status: RunStatus
    group: str
    pending_since: datetime | None
    assigned_until: datetime | None
    claimed_at: datetime | None
    group_fault: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingDeployment:
    """The facts of a deployment that say what it waits for."""

    status: DeploymentStatus
    created_at: datetime
    waiting_since: datetime | None
    cancel_requested_at: datetime | None
    run: WaitingRun | None


@dataclass(frozen=True, slots=True)
class Ahead:
    """The deployment that holds the lane."""

    number: int
    deployment: WaitingDeployment


@dataclass(frozen=True, slots=True)
class Deadline:
    """Until when a wait lasts. `at` is None where it has no end of its own; `words` say so, or what happens then."""

    at: datetime | None
    words: str


def blocked_by(waits: WaitingDeployment, ahead: Ahead | None) -> StackBlocker | None:
    """What stands between a deployment and its next step. None once it is over.

    `ahead` is the holder of its lane; it matters for a queued deployment alone.
    """
    match waits.status:
        case _D.QUEUED:
            blocker = _behind(waits, ahead)
        case _D.WAITING:
            blocker = StackBlocker(kind=_K.PERSON, message=state_of(waits), since=waits.waiting_since)
        case _D.PENDING | _D.PLANNING | _D.APPLYING:
            blocker = _by_run(waits)
        case _D.REQUESTED_CANCELLATION:
            blocker = _run_blocker(_K.RUNNER_TOLD, waits, waits.cancel_requested_at)
        case _D.CANCELLING:
            blocker = _run_blocker(_K.RUNNER_STOPPING, waits, waits.cancel_requested_at)
        case _D.FINISHED | _D.FAILED | _D.CANCELLED | _D.SKIPPED:
            blocker = None
        case _:
            assert_never(waits.status)
    return blocker


def state_of(waits: WaitingDeployment) -> str:
    """What a deployment is at, as a part of a sentence about it."""
    run = waits.run
    match waits.status:
        case _D.QUEUED:
            words = "waiting for the lane of its stack"
        case _D.WAITING:
            words = f"waiting for a confirmation by a person{_since(waits.waiting_since)}"
        case _D.PENDING | _D.PLANNING | _D.APPLYING if run is not None and run.status in UNTAKEN:
            words = _untaken(run)
        case _D.PENDING:
            words = "waiting for a runner"
        case _D.PLANNING:
            words = "a runner is planning"
        case _D.APPLYING:
            words = "a runner is changing things"
        case _D.REQUESTED_CANCELLATION:
            words = f"its runner was asked to stop and has not confirmed{_since(waits.cancel_requested_at)}"
        case _D.CANCELLING:
            words = "its runner is stopping the tool"
        case _D.FINISHED | _D.FAILED | _D.CANCELLED | _D.SKIPPED:
            words = f"it is {waits.status}"
        case _:
            assert_never(waits.status)
    return words


def deadline_of(
    waits: WaitingDeployment,
    deadlines: StackDeadlines,
    *,
    queued_timeout: int | None,
    confirmation_timeout: int | None,
) -> Deadline | None:
    """When the present wait ends by itself, and what happens then. None once the deployment is over."""
    run = waits.run
    match waits.status:
        case _D.QUEUED:
            deadline = _policy(waits.created_at, queued_timeout, "waits behind others")
        case _D.WAITING:
            deadline = _policy(waits.waiting_since, confirmation_timeout, "waits for a confirmation")
        case _D.PENDING | _D.PLANNING | _D.APPLYING if run is not None and run.status in UNTAKEN:
            deadline = _until_taken(run, deadlines)
        case _D.PENDING:
            deadline = Deadline(None, "No end of its own: it follows its run.")
        case _D.PLANNING | _D.APPLYING:
            deadline = Deadline(_after(run, deadlines.run_deadline), "Then the tool is asked to stop.")
        case _D.REQUESTED_CANCELLATION | _D.CANCELLING:
            deadline = Deadline(_after(run, deadlines.run_ttl), "Then, at the latest, the tool is killed.")
        case _D.FINISHED | _D.FAILED | _D.CANCELLED | _D.SKIPPED:
            deadline = None
        case _:
            assert_never(waits.status)
    return deadline


def _behind(waits: WaitingDeployment, ahead: Ahead | None) -> StackBlocker:
    if ahead is None:
        return StackBlocker(kind=_K.LANE, message=state_of(waits), since=waits.created_at)
    message = f"behind deployment #{ahead.number} ({state_of(ahead.deployment)})"
    return StackBlocker(kind=_K.LANE, message=message, deployment_number=ahead.number, since=waits.created_at)


def _by_run(waits: WaitingDeployment) -> StackBlocker:
    run = waits.run
    if run is None or run.status in UNTAKEN:
        return _run_blocker(_K.RUNNER, waits, None if run is None else run.pending_since)
    return _run_blocker(_K.RUN, waits, run.claimed_at)


def _run_blocker(kind: BlockerKind, waits: WaitingDeployment, since: datetime | None) -> StackBlocker:
    group = None if waits.run is None else waits.run.group
    return StackBlocker(kind=kind, message=state_of(waits), runner_group=group, since=since)


def _untaken(run: WaitingRun) -> str:
    if run.status is RunStatus.ASSIGNED:
        return f"promised to a runner of group {run.group}, which has not taken it over"
    if run.group_fault is not None:
        return f"waiting for a runner of group {run.group}: {run.group_fault}"
    return f"waiting for a runner of group {run.group}{_since(run.pending_since)}"


def _until_taken(run: WaitingRun, deadlines: StackDeadlines) -> Deadline:
    if run.status is RunStatus.ASSIGNED and run.assigned_until is not None:
        return Deadline(run.assigned_until, "Then the promise lapses, and it waits for another runner.")
    at = None if run.pending_since is None else run.pending_since + timedelta(seconds=deadlines.startup)
    return Deadline(at, "Then it fails, because no runner took it over.")


def _policy(start: datetime | None, seconds: int | None, waits: str) -> Deadline:
    if seconds is None or start is None:
        return Deadline(None, f"No end: the policy of the stack sets none for what {waits}.")
    return Deadline(
        start + timedelta(seconds=seconds), "Then it is skipped by itself: so says the policy of the stack."
    )


def _after(run: WaitingRun | None, seconds: float) -> datetime | None:
    return None if run is None or run.claimed_at is None else run.claimed_at + timedelta(seconds=seconds)


def _since(moment: datetime | None) -> str:
    return "" if moment is None else f" since {moment:%Y-%m-%d %H:%M} UTC"
