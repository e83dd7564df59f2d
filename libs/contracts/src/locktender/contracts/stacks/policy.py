"""What follows from what, without effects: the workflow of a deployment, automatic approval, the shapes of a cancel."""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from locktender.contracts.stacks.analysis import PlanSummary
from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus
from locktender.contracts.stacks.vocabulary import AutoApproveMode, DeploymentMode, RunMode, StageKind
from locktender.contracts.stacks.wire import Outcome


class SuppressReason(StrEnum):
    """Why a stack that approves by itself did not."""

    DESTRUCTIVE = "destructive"
    INCOMPLETE = "incomplete"
    """The plan was not wholly measured, so a zero is no evidence."""
    UNCERTAIN = "uncertain"
    """An apply of this stack was lost; only a refresh tells what it did."""


@dataclass(frozen=True, slots=True)
class Approval:
    """What the stack's setting says to one plan.

    Attributes:
        apply: go on without a person.
        blind: it does so without knowing the counts.
        suppressed: why not, where the setting asks for it in general. None for a stack that asks for persons.
    """

    apply: bool
    blind: bool = False
    suppressed: SuppressReason | None = None


def decide_approval(mode: AutoApproveMode, summary: PlanSummary | None, *, uncertain: bool) -> Approval:
    """Automatic approval of a plan with changes. A count is evidence only where everything was measured."""
    if mode is AutoApproveMode.MANUAL:
        return Approval(apply=False)
    if uncertain:
        return Approval(apply=False, suppressed=SuppressReason.UNCERTAIN)
    measured = summary is not None and summary.counts_complete
    if mode is AutoApproveMode.AUTO:
        return Approval(apply=True, blind=not measured)
    if summary is None or not measured:
        return Approval(apply=False, suppressed=SuppressReason.INCOMPLETE)
    if summary.destructive:
        return Approval(apply=False, suppressed=SuppressReason.DESTRUCTIVE)
    return Approval(apply=True)


def final_run_status(current: RunStatus, reported: Outcome) -> RunStatus:
    """What a run ends as. A confirmed cancel is irrevocable; an unconfirmed one does not undo a success."""
    if current is RunStatus.CANCELLING:
        return RunStatus.CANCELLED
    match reported:
        case Outcome.SUCCESS:
            return RunStatus.SUCCESS
        case Outcome.FAILURE:
            return RunStatus.FAILURE
        case Outcome.CANCELLED:
            return RunStatus.CANCELLED
        case _:
            assert_never(reported)


class Next(StrEnum):
    """What a deployment does when a run of it has ended."""

    FINISH = "finish"
    FAIL = "fail"
    CANCEL = "cancel"
    AWAIT = "await"
    """Ask a person whether the plan is applied."""
    APPLY = "apply"
    """Apply it at once: the stack says so."""


def after_run(
    deployment: DeploymentMode,
    run: RunMode,
    ended: RunStatus,
    *,
    cancel_requested: bool,
    has_changes: bool,
    approval: Approval,
) -> Next:
    """The workflow. `cancel_requested`: the run was asked to stop and had not confirmed when it ended."""
    match ended:
        case RunStatus.FAILURE | RunStatus.TIMED_OUT | RunStatus.STARTUP_TIMEOUT:
            return Next.FAIL
        case RunStatus.CANCELLED | RunStatus.DISCARDED:
            return Next.CANCEL
        case RunStatus.SUCCESS:
            pass
        case _:
            raise ValueError(f"a run that is {ended} has not ended")
    if not run.is_plan_style:
        return Next.FINISH
    return Next.CANCEL if cancel_requested else _after_plan(deployment, has_changes=has_changes, approval=approval)


def _after_plan(deployment: DeploymentMode, *, has_changes: bool, approval: Approval) -> Next:
    if not has_changes or deployment is DeploymentMode.PLAN_UNLOCKED:
        return Next.FINISH
    return Next.APPLY if deployment is DeploymentMode.PLAN and approval.apply else Next.AWAIT


class CancelShape(StrEnum):
    """What a cancel has to do."""

    SKIP = "skip"
    """Nothing has begun, or a person is being waited for: the deployment is skipped."""
    AT_ONCE = "at-once"
    """No runner has the run: the request is the cancellation."""
    REQUEST = "request"
    """A runner has it: it is asked, confirms, stops."""
    ALREADY = "already"
    """Asked before."""
    OVER = "over"
    """Ended before."""


def cancel_shape(deployment: DeploymentStatus, run: RunStatus | None) -> CancelShape:
    """Decided by the status of the run, never by when it started: so it cannot misfire on a live one."""
    match deployment:
        case (
            DeploymentStatus.FINISHED | DeploymentStatus.FAILED | DeploymentStatus.CANCELLED | DeploymentStatus.SKIPPED
        ):
            return CancelShape.OVER
        case DeploymentStatus.QUEUED | DeploymentStatus.WAITING:
            return CancelShape.SKIP
        case DeploymentStatus.REQUESTED_CANCELLATION | DeploymentStatus.CANCELLING:
            return CancelShape.ALREADY
        case DeploymentStatus.PENDING | DeploymentStatus.PLANNING | DeploymentStatus.APPLYING:
            return CancelShape.REQUEST if run is RunStatus.RUNNING else CancelShape.AT_ONCE
        case _:
            assert_never(deployment)


class CancelledEnding(StrEnum):
    """The four ways in which a deployment can have ended cancelled."""

    APPLY_WITHHELD = "apply-withheld"
    DEADLINE = "deadline"
    NEVER_STARTED = "never-started"
    STOPPED = "stopped"

    @property
    def sentence(self) -> str:
        """For people."""
        match self:
            case CancelledEnding.APPLY_WITHHELD:
                return "The plan was complete before it could be stopped; it is not applied."
            case CancelledEnding.DEADLINE:
                return "The run reached its deadline and was stopped."
            case CancelledEnding.NEVER_STARTED:
                return "No runner had taken the run."
            case CancelledEnding.STOPPED:
                return "The runner stopped the tool."
            case _:
                assert_never(self)


def cancelled_ending(kind: StageKind, run: RunStatus, *, by_deadline: bool, started: bool) -> CancelledEnding:
    """Which of the four, from what is stored of the last run. The first two also have a start."""
    plan_style = kind in {StageKind.PLAN_RUN, StageKind.DESTROY_RUN, StageKind.REFRESH_RUN}
    if plan_style and run is RunStatus.SUCCESS:
        return CancelledEnding.APPLY_WITHHELD
    if by_deadline:
        return CancelledEnding.DEADLINE
    return CancelledEnding.STOPPED if started else CancelledEnding.NEVER_STARTED


def loses_certainty(mode: RunMode, ended: RunStatus) -> bool:
    """Whether what a run did to the world is unknown now, so that only a refresh can tell."""
    return mode.mutates and ended is RunStatus.TIMED_OUT


def restores_certainty(deployment: DeploymentMode, what: Next) -> bool:
    """A refresh that came to its end has seen the world as it is."""
    return deployment is DeploymentMode.REFRESH and what is Next.FINISH
