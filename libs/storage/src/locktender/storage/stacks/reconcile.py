"""Derived things that must always agree, compared and mended. Whatever is found here is a defect, and logged as one."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, and_, exists, false, func, or_, select

from locktender.contracts.stacks.flow import (
    STACK_DEPLOYMENT,
    STACK_RUN,
    STACK_STAGE,
    DeploymentStatus,
    RunStatus,
)
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import constant
from locktender.storage.stacks.agree import AGREES, agree, drop
from locktender.storage.stacks.create import start_unlocked
from locktender.storage.stacks.held import OPEN_RUN
from locktender.storage.stacks.lane import LATEST_FIELDS, advance, summarize
from locktender.storage.stacks.sweeping import Due, Facts, RowSweep
from locktender.storage.stacks.tables import stack, stack_deployment, stack_run, stack_stage

_s, _d, _r, _g = stack.c, stack_deployment.c, stack_run.c, stack_stage.c
_in_lane = _d.mode != constant(DeploymentMode.PLAN_UNLOCKED.value)
_queued = _d.status == constant(DeploymentStatus.QUEUED.value)

STUCK = Due(
    "stuck",
    stack,
    or_(
        _s.lane_holder.is_(None) & exists().where(_d.stack_id == _s.id, _queued, _in_lane),
        _s.lane_holder.is_not(None)
        & ~exists().where(_d.id == _s.lane_holder, in_states(_d.status, STACK_DEPLOYMENT.active)),
        exists().where(_r.deployment_id == _s.lane_holder, _r.status == constant(RunStatus.QUEUED.value)),
    ),
    _s.id,
)
NOT_STARTED = Due("looking_not_started", stack_deployment, _queued & ~_in_lane, _d.created_at)
ORPHANED = Due(
    "orphaned",
    stack_run,
    in_states(_r.status, STACK_RUN.active)
    & exists().where(_d.id == _r.deployment_id, in_states(_d.status, STACK_DEPLOYMENT.terminal)),
    _r.created_at,
)

_newest = (
    select(_d.id)
    .where(_d.stack_id == _s.id, _in_lane)
    .order_by(_d.created_at.desc(), _d.id.desc())
    .limit(1)
    .correlate(stack)
    .scalar_subquery()
)
_SUMMARY: Final[Mapping[str, ColumnElement[Any]]] = {
    name: _d[name.removeprefix("latest_deployment_")] for name in LATEST_FIELDS
}
OUTDATED = Due(
    "outdated_summary",
    stack,
    exists().where(_d.id == _newest, or_(*[_s[name].is_distinct_from(each) for name, each in _SUMMARY.items()])),
    _s.id,
)

_run_status = (
    select(_r.status)
    .where(_r.deployment_id == _d.id, in_states(_r.status, STACK_RUN.active))
    .correlate(stack_deployment)
    .scalar_subquery()
)
_has_stage = exists().where(_g.deployment_id == _d.id, in_states(_g.status, STACK_STAGE.active))
_agreeing = or_(
    and_(_d.status == constant(DeploymentStatus.WAITING.value), _run_status.is_(None), _has_stage),
    *[and_(_d.status == constant(status.value), in_states(_run_status, runs)) for status, runs in AGREES.items()],
)
AGREEING: Final = func.coalesce(_agreeing, false())
"""Whether an active deployment and its open run, or stage, tell the same story."""
DISAGREEING = Due(
    "disagreeing",
    stack_deployment,
    in_states(_d.status, STACK_DEPLOYMENT.active) & ~AGREEING,
    _d.created_at,
)


def reconcilers() -> tuple[RowSweep, ...]:
    """What looks for defects, in an order in which no repair stands in the way of another.

    A run that nothing waits for would keep the next one from starting; a lane that is given on starts what only looks
    as if it did not agree.
    """
    return (
        RowSweep("run-orphaned", ORPHANED, _end_orphan, defect=True),
        RowSweep("lane-stuck", STUCK, _unstick, defect=True),
        RowSweep("looking-not-started", NOT_STARTED, _start, defect=True),
        RowSweep("deployment-disagrees", DISAGREEING, _agree, defect=True),
        RowSweep("summary-outdated", OUTDATED, _summarize, defect=True),
    )


async def _unstick(tx: Transaction, owner: Row, _: Row) -> Facts:
    started = await advance(tx, owner["id"])
    return {"holder": _text(owner["lane_holder"]), "started": _text(started)}


async def _start(tx: Transaction, owner: Row, deployment: Row) -> Facts:
    run = await tx.fetch_one(OPEN_RUN, id=deployment["id"])
    if run is None or run["status"] != RunStatus.QUEUED:
        await agree(tx, owner, deployment, run)
    else:
        await start_unlocked(tx, deployment["id"], run["id"])
    return {"run": None if run is None else str(run["id"])}


async def _end_orphan(tx: Transaction, owner: Row, run: Row) -> Facts:
    ended = await drop(tx, owner, run)
    if run["state_locked"]:
        await advance(tx, owner["id"])
    return {"deployment": str(run["deployment_id"]), "was": run["status"], "now": ended["status"]}


async def _agree(tx: Transaction, owner: Row, deployment: Row) -> Facts:
    run = await tx.fetch_one(OPEN_RUN, id=deployment["id"])
    repair = await agree(tx, owner, deployment, run)
    await advance(tx, owner["id"])
    return {
        "was": deployment["status"],
        "run": None if run is None else str(run["id"]),
        "run_was": None if run is None else run["status"],
        "repair": repair.value,
    }


async def _summarize(tx: Transaction, owner: Row, _: Row) -> Facts:
    await summarize(tx, owner["id"])
    return {name: _text(owner[name]) for name in LATEST_FIELDS}


def _text(value: UUID | object | None) -> str | None:
    return None if value is None else str(value)
