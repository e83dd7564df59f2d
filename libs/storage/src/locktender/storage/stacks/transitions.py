"""Every move of a deployment, a stage and a run as one prepared statement."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Float, func, literal, null

from locktender.contracts.kernel.machine import Transition
from locktender.contracts.kernel.subjects import DEFAULT_GROUP, RUN_COMMAND_PREFIX
from locktender.contracts.stacks import flow
from locktender.contracts.stacks.flow import (
    STACK_DEPLOYMENT,
    STACK_RUN,
    STACK_STAGE,
    DeploymentStatus,
    RunStatus,
    StagePhase,
)
from locktender.storage.kernel.clock import db_now, in_seconds, seconds
from locktender.storage.kernel.guarded import Command
from locktender.storage.kernel.statement import parameter
from locktender.storage.stacks.moves import Move
from locktender.storage.stacks.tables import RUNS, STACKS, stack_deployment, stack_run, stack_stage

_r, _d = stack_run.c, stack_deployment.c

_FREE: dict[str, object] = {"token_hash": null(), "lease_seconds": null()}
_UNASSIGNED: dict[str, object] = {"assigned_runner_id": null(), "assigned_expires_at": null()}


_HINT = Command(RUN_COMMAND_PREFIX, "runner_group", only=DEFAULT_GROUP)


def _run(
    step: Transition[RunStatus],
    constants: Mapping[str, object] | None = None,
    *,
    sets: Sequence[str] = (),
    command: Command | None = None,
) -> Move[RunStatus]:
    return Move(stack_run, STACK_RUN, step, sets=sets, constants=constants, aggregate=RUNS, command=command)


def _stage(step: Transition[StagePhase]) -> Move[StagePhase]:
    return Move(stack_stage, STACK_STAGE, step)


def _deployment(
    step: Transition[DeploymentStatus], *sets: str, only_if: ColumnElement[bool] | None = None, **constants: object
) -> Move[DeploymentStatus]:
    leaves_waiting = DeploymentStatus.WAITING in step.sources and step.target is not None
    given = ({"waiting_since": null()} if leaves_waiting else {}) | constants
    return Move(
        stack_deployment, STACK_DEPLOYMENT, step, sets=sets, constants=given, only_if=only_if, aggregate=STACKS,
        returning=("prioritized_at", "origin", "created_by"),
    )  # fmt: skip


RUN_PROMOTE = _run(
    flow.RUN_PROMOTE,
    {"first_pending_at": func.coalesce(_r.first_pending_at, db_now()), "hinted_at": db_now()},
    command=_HINT,
)
RUN_ASSIGN = _run(
    flow.RUN_ASSIGN,
    {"assigned_expires_at": db_now() + seconds("assignment")},
    sets=("assigned_runner_id", "remote"),
)
RUN_UNASSIGN = _run(
    flow.RUN_UNASSIGN,
    {
        "assignment_attempts": _r.assignment_attempts + 1,
        "remote": literal(value=False),
        "hinted_at": db_now(),
        **_UNASSIGNED,
    },
    command=_HINT,
)
RUN_ACCEPT = _run(
    flow.RUN_ACCEPT,
    {"lease_seconds": func.ceil(parameter("ttl", Float())), "assigned_expires_at": null()},
    sets=("token_hash",),
)
RUN_RENEW = _run(flow.RUN_RENEW, {"lease_expires_at": db_now() + in_seconds(_r.lease_seconds)})
RUN_REQUEST_CANCEL = _run(flow.RUN_REQUEST_CANCEL)
RUN_ACKNOWLEDGE = _run(flow.RUN_ACKNOWLEDGE)

_OUTCOME = ("summary", "has_changes", "binding", "tool", "tool_version", "exit_code", "failure", "cancellation_reason")
RUN_SUCCEED = _run(flow.RUN_SUCCEED, _FREE, sets=_OUTCOME)
RUN_FAIL = _run(flow.RUN_FAIL, _FREE, sets=_OUTCOME)
RUN_END_CANCELLED = _run(flow.RUN_END_CANCELLED, _FREE, sets=_OUTCOME)
RUN_LOSE = _run(flow.RUN_LOSE, _FREE, sets=("failure",))
RUN_CANCEL = _run(flow.RUN_CANCEL, _UNASSIGNED)
RUN_DISCARD = _run(flow.RUN_DISCARD)
RUN_GIVE_UP = _run(flow.RUN_GIVE_UP, _UNASSIGNED, sets=("failure",))
RUN_REFUSE = _run(flow.RUN_REFUSE, _UNASSIGNED, sets=("failure",))

STAGE_START = _stage(flow.STAGE_START)
STAGE_REQUEST_CANCEL = _stage(flow.STAGE_REQUEST_CANCEL)
STAGE_ACKNOWLEDGE = _stage(flow.STAGE_ACKNOWLEDGE)
STAGE_FINISH = _stage(flow.STAGE_FINISH)
STAGE_FAIL = _stage(flow.STAGE_FAIL)
STAGE_CANCEL = _stage(flow.STAGE_CANCEL)
STAGE_SKIP = _stage(flow.STAGE_SKIP)

_START: dict[str, Any] = {"started_at": func.coalesce(_d.started_at, db_now())}
PROMOTE = _deployment(flow.PROMOTE)
BEGIN_PLANNING = _deployment(flow.BEGIN_PLANNING, **_START)
BEGIN_APPLYING = _deployment(flow.BEGIN_APPLYING, **_START)
NOTE_RUN = _deployment(flow.NOTE_RUN)
AWAIT = _deployment(flow.AWAIT, waiting_since=db_now())
AUTO_APPLY = _deployment(flow.AUTO_APPLY)
CONFIRM_APPLY = _deployment(flow.CONFIRM_APPLY)
CONFIRM_REPLAN = _deployment(flow.CONFIRM_REPLAN)
CONFIRM_SKIP = _deployment(flow.CONFIRM_SKIP)
SKIP = _deployment(flow.SKIP, "skipped_reason")
PRIORITIZE = _deployment(
    flow.PRIORITIZE, "prioritized_by", only_if=_d.prioritized_at.is_(None), prioritized_at=db_now()
)
DEPRIORITIZE = _deployment(
    flow.DEPRIORITIZE, only_if=_d.prioritized_at.is_not(None), prioritized_at=null(), prioritized_by=null()
)
REQUEST_CANCEL = _deployment(flow.REQUEST_CANCEL, "cancel_requested_by", cancel_requested_at=db_now())
ACKNOWLEDGE = _deployment(flow.ACKNOWLEDGE)
CANCEL = _deployment(flow.CANCEL)
FINISH = _deployment(flow.FINISH)
FAIL = _deployment(flow.FAIL, "failure")
