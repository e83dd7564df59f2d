"""How a deployment ended, in a sentence. Pure."""

from typing import assert_never

from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus
from locktender.contracts.stacks.policy import CancelledEnding, cancelled_ending
from locktender.contracts.stacks.vocabulary import CancellationReason, DeploymentMode, RunMode, SkippedReason, stage_of
from locktender.contracts.stacks.wire import RunFailure
from locktender.storage.kernel.database import Row

_SKIPPED = {
    SkippedReason.SUPERSEDED: "A newer deployment took its place.",
    SkippedReason.CONFIRMATION_TIMEOUT: "Nobody confirmed it in time.",
    SkippedReason.QUEUED_TIMEOUT: "It waited too long behind others.",
    SkippedReason.RETRACTED: "What it was for is no longer wanted.",
    SkippedReason.PULL_REQUEST_CLOSED: "Its pull request was closed.",
}
_LOST = "What it changed by then is unknown until a refresh."


def cancelled_as(row: Row) -> CancelledEnding | None:
    """In which of the four ways it was cancelled; None where it was not."""
    if row["status"] != DeploymentStatus.CANCELLED or row["run_id"] is None:
        return None
    return cancelled_ending(
        stage_of(RunMode(row["run_mode"])),
        RunStatus(row["run_status"]),
        by_deadline=row["run_cancellation_reason"] == CancellationReason.RUN_DEADLINE,
        started=row["run_started_at"] is not None,
    )


def ending_of(row: Row, failure: RunFailure | None) -> str | None:
    """The end in a sentence; None where there is none yet."""
    match DeploymentStatus(row["status"]):
        case DeploymentStatus.FINISHED:
            return _finished(row)
        case DeploymentStatus.FAILED:
            message = "It failed." if failure is None else failure.message
            lost = row["run_status"] == RunStatus.TIMED_OUT and RunMode(row["run_mode"]).mutates
            return f"{message} {_LOST}" if lost else message
        case DeploymentStatus.CANCELLED:
            how = cancelled_as(row)
            return "It was cancelled." if how is None else how.sentence
        case DeploymentStatus.SKIPPED:
            reason = row["skipped_reason"]
            return "Somebody skipped it." if reason is None else _SKIPPED[SkippedReason(reason)]
        case _:
            return None


def _finished(row: Row) -> str:
    if row["run_mode"] is None:
        return "It is finished."
    mode = RunMode(row["run_mode"])
    match mode:
        case RunMode.APPLY:
            return "What was planned was applied."
        case RunMode.RAW:
            return "The command came to its end."
        case RunMode.PLAN | RunMode.DESTROY | RunMode.REFRESH:
            if row["run_has_changes"] is False:
                return "There was nothing to change."
            looking = row["mode"] == DeploymentMode.PLAN_UNLOCKED
            return "It looked, and applies nothing." if looking else f"The {mode} came to its end."
        case _:
            assert_never(mode)
