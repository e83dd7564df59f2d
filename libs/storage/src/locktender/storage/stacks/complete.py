"""The end of a run, and what its deployment does next: the workflow, the stage, the lane, in one transaction."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy import Uuid, and_, null, update

from locktender.contracts.kernel.errors import LeaseLost
from locktender.contracts.kernel.lease import Epoch
from locktender.contracts.stacks.analysis import PlanSummary
from locktender.contracts.stacks.flow import STACK_RUN, RunStatus
from locktender.contracts.stacks.policy import (
    Approval,
    Next,
    after_run,
    decide_approval,
    final_run_status,
    loses_certainty,
    restores_certainty,
)
from locktender.contracts.stacks.vocabulary import ActivityKind, AutoApproveMode, DeploymentMode, RunMode, StageKind
from locktender.contracts.stacks.wire import Done, Narrowing, RunFailure
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks import transitions
from locktender.storage.stacks.create import add_run, add_stage
from locktender.storage.stacks.held import DEPLOYMENT, OPEN_STAGE, held_run, required
from locktender.storage.stacks.lane import advance
from locktender.storage.stacks.stacks import doubt_stack, trust_stack
from locktender.storage.stacks.tables import stack
from locktender.storage.stacks.told import Told, act

_id = parameter("id", Uuid())

_UNLOCK = Statement(
    "stack.unlock_of_run",
    update(stack)
    .where(and_(stack.c.id == _id, stack.c.state_lock_run_id == parameter("run_id", Uuid())))
    .values(state_lock=null(), state_lock_run_id=null(), state_locked_at=null())
    .returning(stack.c.id),
)
_summaries: TypeAdapter[PlanSummary] = TypeAdapter(PlanSummary)


@dataclass(frozen=True, slots=True)
class Ended:
    """What the end of a run came to."""

    run: Row
    what: Next
    deployment: Row


async def report(tx: Transaction, run_id: UUID, epoch: Epoch, done: Done, trace: Mapping[str, str]) -> Ended:
    """A runner says that its run has ended.

    Raises:
        NotFound: there is no such run.
        LeaseLost: another epoch, or the run has ended. Nothing is changed by a stale report.
    """
    owner, run = await held_run(tx, run_id)
    current = RunStatus(run["status"])
    if run["lease_epoch"] != epoch or current not in STACK_RUN.leased:
        raise LeaseLost(run_id, epoch, run["lease_epoch"])
    final = final_run_status(current, done.outcome)
    move = {
        RunStatus.SUCCESS: transitions.RUN_SUCCEED,
        RunStatus.FAILURE: transitions.RUN_FAIL,
        RunStatus.CANCELLED: transitions.RUN_END_CANCELLED,
    }[final]
    ended = await move.one(
        tx, run_id, epoch=epoch,
        summary=None if done.summary is None else done.summary.model_dump_json(by_alias=True),
        has_changes=done.has_changes,
        binding=None if done.binding is None else done.binding.model_dump_json(by_alias=True),
        tool=done.tool, tool_version=done.tool_version, exit_code=done.exit_code,
        failure=failure_json(done.failure) if final is RunStatus.FAILURE else None,
        cancellation_reason=done.cancellation_reason if final is RunStatus.CANCELLED else None,
    )  # fmt: skip
    requested = current is RunStatus.REQUESTED_CANCELLATION
    return await settle(tx, owner, ended, Told("runner", trace=trace), cancel_requested=requested)


async def end_unfinished(tx: Transaction, owner: Row, run: Row, told: Told, failure: RunFailure) -> Ended:
    """End a run that its runner will not end: silent past its lease, never started, or never to be started.

    The caller has found out why, on the locked row. A lost apply is not repeated: its stack is uncertain from now on.
    """
    status = RunStatus(run["status"])
    text = failure_json(failure)
    if status in STACK_RUN.leased:
        ended = await transitions.RUN_LOSE.one(tx, run["id"], failure=text)
    elif failure.reason == "startup-timeout":
        ended = await transitions.RUN_GIVE_UP.one(tx, run["id"], failure=text)
    else:
        ended = await transitions.RUN_REFUSE.one(tx, run["id"], failure=text)
    return await settle(tx, owner, ended, told, cancel_requested=False)


async def settle(tx: Transaction, owner: Row, run: Row, told: Told, *, cancel_requested: bool) -> Ended:
    """Take a deployment where the end of its run leads: stage, deployment, what comes next, certainty, lane."""
    deployment = await required(tx, DEPLOYMENT, run["deployment_id"])
    mode, run_mode, final = DeploymentMode(deployment["mode"]), RunMode(run["mode"]), RunStatus(run["status"])
    summary = None if run["summary"] is None else _summaries.validate_json(run["summary"])
    approval = Approval(apply=False)
    if mode is DeploymentMode.PLAN and run_mode is RunMode.PLAN and final is RunStatus.SUCCESS:
        approval = decide_approval(
            AutoApproveMode(owner["auto_approve"]), summary, uncertain=owner["uncertain_since"] is not None
        )
    has_changes = run["has_changes"] is not False
    what = after_run(
        mode, run_mode, final, cancel_requested=cancel_requested, has_changes=has_changes, approval=approval
    )
    await _end_stage(tx, deployment["id"], final, what)
    await leave(tx, owner, run, told.trace)
    if restores_certainty(mode, what):
        await trust_stack(tx, owner["id"], told.trace)
    moved = await _follow(tx, owner, deployment, run, what, told, approval, summary)
    if mode.uses_lane:
        await advance(tx, owner["id"])
    return Ended(run, what, moved)


async def leave(tx: Transaction, owner: Row, run: Row, trace: Mapping[str, str]) -> None:
    """What a run that has ended leaves to its stack: no lock on the state, and doubt where its effects are unknown."""
    await tx.fetch(_UNLOCK, id=owner["id"], run_id=run["id"])
    if loses_certainty(RunMode(run["mode"]), RunStatus(run["status"])):
        await doubt_stack(tx, owner["id"], run["id"], trace)


async def _follow(
    tx: Transaction,
    owner: Row,
    deployment: Row,
    run: Row,
    what: Next,
    told: Told,
    approval: Approval,
    summary: PlanSummary | None,
) -> Row:
    """Move the deployment, and make the stage and the run that come next."""
    key, payload = deployment["id"], dict(told.payload) | {"runId": str(run["id"]), "run": run["status"]}
    words = Told(told.actor, told.message, payload, told.trace).columns()
    match what:
        case Next.FINISH:
            return await transitions.FINISH.one(tx, key, **words)
        case Next.FAIL:
            return await transitions.FAIL.one(tx, key, failure=run["failure"] or _UNSAID, **words)
        case Next.CANCEL:
            return await transitions.CANCEL.one(tx, key, **words)
        case Next.AWAIT:
            moved = await transitions.AWAIT.one(tx, key, **words)
            await add_stage(tx, key, StageKind.CONFIRMATION, None)
            if approval.suppressed is not None:
                details = {"mode": owner["auto_approve"], "reason": approval.suppressed.value}
                await act(tx, key, ActivityKind.AUTO_APPROVE_SUPPRESSED, None, details=details)
            return moved
        case Next.APPLY:
            moved = await transitions.AUTO_APPLY.one(tx, key, **words)
            await add_run(tx, owner, deployment, RunMode.APPLY, Narrowing(), plan_run_id=run["id"])
            details = {"mode": owner["auto_approve"]} | _counted(None if approval.blind else summary)
            await act(tx, key, ActivityKind.AUTO_APPLIED, None, details=details)
            return moved
        case _:
            assert_never(what)


def _counted(summary: PlanSummary | None) -> dict[str, object]:
    """What an automatic approval saw. A plan that nobody measured has no numbers, not zeros."""
    if summary is None:
        return {"blind": True}
    return {"destroy": summary.counts.delete, "replace": summary.counts.replace}


async def _end_stage(tx: Transaction, deployment_id: UUID, final: RunStatus, what: Next) -> None:
    stage = await tx.fetch_one(OPEN_STAGE, id=deployment_id)
    if stage is None:
        return
    if what is Next.FAIL:
        await transitions.STAGE_FAIL.one(tx, stage["id"])
    elif final is RunStatus.SUCCESS:
        await transitions.STAGE_FINISH.one(tx, stage["id"])
    else:
        await transitions.STAGE_CANCEL.one(tx, stage["id"])


def failure_json(failure: RunFailure | None) -> str | None:
    """A failure as the row keeps it."""
    return None if failure is None else failure.model_dump_json(by_alias=True)


_UNSAID = json.dumps({"reason": "internal", "message": "The runner did not say why the run failed."})
