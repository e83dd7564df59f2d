"""A cancel, in the shape that fits what is true at this moment."""

from collections.abc import Mapping
from typing import assert_never
from uuid import UUID

from locktender.contracts.kernel.errors import WrongState
from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus
from locktender.contracts.stacks.policy import CancelShape, cancel_shape
from locktender.contracts.stacks.vocabulary import ActivityKind, DeploymentMode
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.stacks import transitions
from locktender.storage.stacks.held import DEPLOYMENT, OPEN_RUN, OPEN_STAGE, held_deployment, required
from locktender.storage.stacks.lane import advance
from locktender.storage.stacks.skip import end_skipped
from locktender.storage.stacks.told import Told, act


async def request_cancel(
    tx: Transaction, deployment_id: UUID, actor: str, trace: Mapping[str, str]
) -> tuple[CancelShape, Row]:
    """Skip, end at once or ask the runner, whatever the locked rows call for; and the deployment afterwards.

    Asking twice, or for something that is over, changes nothing and is no error.

    Raises:
        NotFound: there is no such deployment.
        WrongState: it and its run tell different stories, which the reaper mends.
    """
    owner, deployment = await held_deployment(tx, deployment_id)
    run = await tx.fetch_one(OPEN_RUN, id=deployment_id)
    shape = cancel_shape(DeploymentStatus(deployment["status"]), None if run is None else RunStatus(run["status"]))
    told = Told(actor, payload={} if run is None else {"runId": str(run["id"])}, trace=trace)
    match shape:
        case CancelShape.ALREADY | CancelShape.OVER:
            return shape, deployment
        case CancelShape.SKIP:
            if not await end_skipped(tx, deployment, told):
                raise WrongState(deployment_id, "skip", f"{deployment['status']} with a run that a runner has")
            await act(tx, deployment_id, ActivityKind.SKIPPED, actor)
        case CancelShape.AT_ONCE:
            await end_cancelled(tx, deployment_id, run, told)
            await act(tx, deployment_id, ActivityKind.CANCELLATION_REQUESTED, actor)
        case CancelShape.REQUEST:
            await ask(tx, deployment_id, run, told)
            await act(tx, deployment_id, ActivityKind.CANCELLATION_REQUESTED, actor)
        case _:
            assert_never(shape)
    if DeploymentMode(deployment["mode"]).uses_lane:
        await advance(tx, owner["id"])
    return shape, await required(tx, DEPLOYMENT, deployment_id)


async def end_cancelled(tx: Transaction, deployment_id: UUID, run: Row | None, told: Told) -> None:
    """Cancel a deployment whose run nobody has taken over. The caller advances the lane."""
    if run is not None:
        await transitions.RUN_CANCEL.one(tx, run["id"])
    stage = await tx.fetch_one(OPEN_STAGE, id=deployment_id)
    if stage is not None:
        await transitions.STAGE_CANCEL.one(tx, stage["id"])
    await transitions.CANCEL.one(tx, deployment_id, **told.columns())


async def ask(tx: Transaction, deployment_id: UUID, run: Row | None, told: Told) -> None:
    """Ask the runner of a running run to stop: run, stage and deployment together."""
    if run is not None:
        await transitions.RUN_REQUEST_CANCEL.one(tx, run["id"])
    stage = await tx.fetch_one(OPEN_STAGE, id=deployment_id)
    if stage is not None:
        await transitions.STAGE_REQUEST_CANCEL.one(tx, stage["id"])
    await transitions.REQUEST_CANCEL.one(tx, deployment_id, cancel_requested_by=told.actor, **told.columns())
