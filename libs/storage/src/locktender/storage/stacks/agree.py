"""A deployment and its run that tell different stories, brought back to one."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, assert_never

from locktender.contracts.stacks.flow import STACK_RUN, DeploymentStatus, RunStatus
from locktender.contracts.stacks.vocabulary import RunFailureReason, RunMode, StageKind
from locktender.contracts.stacks.wire import RunFailure
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.stacks import transitions
from locktender.storage.stacks.cancel import end_cancelled
from locktender.storage.stacks.complete import end_unfinished, failure_json, leave
from locktender.storage.stacks.create import add_stage
from locktender.storage.stacks.held import OPEN_STAGE
from locktender.storage.stacks.told import Told

_D, _R = DeploymentStatus, RunStatus

AGREES: Final[Mapping[DeploymentStatus, frozenset[RunStatus]]] = {
    _D.QUEUED: frozenset({_R.QUEUED}),
    _D.PENDING: frozenset({_R.PENDING, _R.ASSIGNED}),
    _D.PLANNING: frozenset({_R.RUNNING}),
    _D.APPLYING: frozenset({_R.PENDING, _R.ASSIGNED, _R.RUNNING}),
    _D.REQUESTED_CANCELLATION: frozenset({_R.REQUESTED_CANCELLATION}),
    _D.CANCELLING: frozenset({_R.CANCELLING}),
}
"""What the open run of a deployment may be. One that waits for a person has none, but a confirmation stage."""

_ASKED = frozenset({_D.REQUESTED_CANCELLATION, _D.CANCELLING})
_STOPPING = frozenset({_R.REQUESTED_CANCELLATION, _R.CANCELLING})


class Repair(StrEnum):
    """What brings the two together again. One step; what then still differs is the next step's."""

    END = "end"
    """There is no run: the deployment is over, cancelled where that was asked for."""
    CONFIRMATION = "confirmation"
    """A person is waited for, and could not answer."""
    DROP_RUN = "drop-run"
    """A person is waited for, and a run is open."""
    CANCEL = "cancel"
    """A cancel was asked of a run that nobody has."""
    ASK_RUN = "ask-run"
    """A cancel was asked, and the run does not know."""
    FOLLOW = "follow"
    """The deployment moves one step to where its run is."""
    FAIL = "fail"
    """No story fits both: the run is taken away and the deployment fails."""


def decide(deployment: DeploymentStatus, run: RunStatus | None) -> Repair:
    """For a pair that does not agree."""
    if run is None:
        return Repair.CONFIRMATION if deployment is _D.WAITING else Repair.END
    if deployment is _D.WAITING:
        return Repair.DROP_RUN
    leased = run in STACK_RUN.leased
    if deployment in _ASKED and not leased:
        return Repair.CANCEL
    if (deployment, run) == (_D.REQUESTED_CANCELLATION, _R.RUNNING):
        return Repair.ASK_RUN
    follows = (
        (deployment is _D.QUEUED and run is not _R.QUEUED)
        or (deployment is _D.PENDING and leased)
        or (deployment in {_D.PLANNING, _D.APPLYING} and run in _STOPPING)
        or (deployment, run) == (_D.REQUESTED_CANCELLATION, _R.CANCELLING)
    )
    return Repair.FOLLOW if follows else Repair.FAIL


async def agree(tx: Transaction, owner: Row, deployment: Row, run: Row | None) -> Repair:
    """Repair a locked deployment and its locked open run, if it has one. The caller advances the lane."""
    key, status = deployment["id"], DeploymentStatus(deployment["status"])
    repair = decide(status, None if run is None else RunStatus(run["status"]))
    told = Told("reaper", "a repair", {"repair": repair.value})
    if run is None:
        if repair is Repair.CONFIRMATION:
            await add_stage(tx, key, StageKind.CONFIRMATION, None)
        else:
            await _end(tx, deployment, told)
        return repair
    match repair:
        case Repair.CANCEL:
            await end_cancelled(tx, key, run, told)
        case Repair.ASK_RUN:
            await transitions.RUN_REQUEST_CANCEL.one(tx, run["id"])
        case Repair.FOLLOW:
            await _follow(tx, deployment, run, told)
        case Repair.DROP_RUN:
            await drop(tx, owner, run)
            await add_stage(tx, key, StageKind.CONFIRMATION, None)
        case Repair.FAIL:
            message = f"The deployment was {status} while its run was {run['status']}."
            await end_unfinished(tx, owner, run, told, RunFailure(reason=RunFailureReason.INTERNAL, message=message))
        case Repair.END | Repair.CONFIRMATION:
            raise AssertionError("only for a deployment without a run")
        case _:
            assert_never(repair)
    return repair


async def drop(tx: Transaction, owner: Row, run: Row) -> Row:
    """End an open run that its deployment has no use for, and the open stage.

    A runner that works on it is fenced off, and what it did to the world is in doubt.
    """
    status = RunStatus(run["status"])
    if status in STACK_RUN.leased:
        failure = RunFailure(reason=RunFailureReason.INTERNAL, message="The deployment does not wait for the run.")
        ended = await transitions.RUN_LOSE.one(tx, run["id"], failure=failure_json(failure))
    elif status is RunStatus.ASSIGNED:
        ended = await transitions.RUN_CANCEL.one(tx, run["id"])
    else:
        ended = await transitions.RUN_DISCARD.one(tx, run["id"])
    stage = await tx.fetch_one(OPEN_STAGE, id=run["deployment_id"])
    if stage is not None:
        await transitions.STAGE_CANCEL.one(tx, stage["id"])
    await leave(tx, owner, ended, {})
    return ended


async def _end(tx: Transaction, deployment: Row, told: Told) -> None:
    if deployment["status"] in _ASKED:
        await end_cancelled(tx, deployment["id"], None, told)
        return
    stage = await tx.fetch_one(OPEN_STAGE, id=deployment["id"])
    if stage is not None:
        await transitions.STAGE_FAIL.one(tx, stage["id"])
    failure = RunFailure(reason=RunFailureReason.INTERNAL, message="The run of the deployment is gone.")
    await transitions.FAIL.one(tx, deployment["id"], failure=failure_json(failure), **told.columns())


async def _follow(tx: Transaction, deployment: Row, run: Row, told: Told) -> None:
    key, words = deployment["id"], told.columns()
    match DeploymentStatus(deployment["status"]):
        case DeploymentStatus.QUEUED:
            await transitions.PROMOTE.one(tx, key, **words)
        case DeploymentStatus.PENDING if RunMode(run["mode"]).is_plan_style:
            await transitions.BEGIN_PLANNING.one(tx, key, **words)
        case DeploymentStatus.PENDING:
            await transitions.BEGIN_APPLYING.one(tx, key, **words)
        case DeploymentStatus.REQUESTED_CANCELLATION:
            await transitions.ACKNOWLEDGE.one(tx, key, **words)
        case _:
            await transitions.REQUEST_CANCEL.one(tx, key, cancel_requested_by=told.actor, **words)
