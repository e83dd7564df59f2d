"""I05: one deployment at a time works on a stack, and it and its run tell the same story."""

from typing import Any

from sqlalchemy import ColumnElement, Select, Text, and_, cast, exists, func, or_, select

from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, STACK_RUN, DeploymentStatus, RunStatus
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import constant
from locktender.storage.stacks.reconcile import AGREEING
from locktender.storage.stacks.tables import stack, stack_deployment, stack_run, stack_state
from locktender.storage.verify.check import check, overdue, recent

_s, _d, _r, _v = stack.c, stack_deployment.c, stack_run.c, stack_state.c

_in_lane = _d.mode != constant(DeploymentMode.PLAN_UNLOCKED.value)
_active = in_states(_d.status, STACK_DEPLOYMENT.active)
_queued = _d.status == constant(DeploymentStatus.QUEUED.value)
_works = and_(_active, _in_lane, ~_queued)


def _stacks(broken: ColumnElement[bool], detail: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    return (
        select(cast(_s.id, Text).label("subject"), detail.label("detail"))
        .where(_s.deleted_at.is_(None), broken)
        .order_by(_s.id)
    )


def _deployments(broken: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    return (
        select(cast(_d.id, Text).label("subject"), func.concat(constant("it is "), _d.status).label("detail"))
        .join(stack, _s.id == _d.stack_id)
        .where(broken)
        .order_by(_d.created_at, _d.id)
    )


def _runs(broken: ColumnElement[bool], since: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    detail = func.concat(_r.status, constant(", since "), since).label("detail")
    return select(cast(_r.id, Text).label("subject"), detail).where(broken).order_by(since)


_held_by = func.concat(constant("held by "), _s.lane_holder)
_free = func.concat(constant("the lane is free since "), _s.updated_at)
_holds = exists().where(_d.id == _s.lane_holder, _d.stack_id == _s.id, _active, _in_lane)
_heir = exists().where(_d.stack_id == _s.id, _queued, _in_lane)
_open = in_states(_r.status, STACK_RUN.active)
_leased = in_states(_r.status, STACK_RUN.leased)
_pending = _r.status == constant(RunStatus.PENDING.value)
_assigned = _r.status == constant(RunStatus.ASSIGNED.value)

CHECKS = (
    check(
        "I05", "the lane is held by what does not work",
        _stacks(and_(_s.lane_holder.is_not(None), ~_holds), _held_by),
    ),
    check(
        "I05", "the lane is free, and a deployment waits for it",
        _stacks(and_(_s.lane_holder.is_(None), _heir), _free),
    ),
    check(
        "I05", "it works on its stack without the lane",
        _deployments(and_(_works, _s.lane_holder.is_distinct_from(_d.id))),
    ),
    check("I05", "the deployment and its run tell different stories", _deployments(and_(_active, ~AGREEING))),
    check(
        "I05", "the run goes on, and its deployment has ended",
        _runs(
            and_(_open, exists().where(_d.id == _r.deployment_id, in_states(_d.status, STACK_DEPLOYMENT.terminal))),
            _r.created_at,
        ),
    ),
    check(
        "I04", "files of a run were removed, and its deployment has not ended",
        _deployments(
            and_(
                _active,
                exists().where(
                    _r.deployment_id == _d.id,
                    or_(_r.plan_removed_at.is_not(None), _r.artifacts_removed_at.is_not(None)),
                ),
            )
        ),
    ),
    check(
        "I03", "a state was written under an epoch that its run never had",
        select(cast(_v.id, Text).label("subject"), func.concat(constant("epoch "), _v.epoch).label("detail"))
        .outerjoin(stack_run, _r.id == _v.run_id)
        .where(recent(_v.created_at), _v.run_id.is_not(None), or_(_r.id.is_(None), _v.epoch > _r.lease_epoch))
        .order_by(_v.created_at),
    ),
    check(
        "I06", "the lease of the run has passed and nobody took it from the runner",
        _runs(and_(_leased, overdue(_r.lease_expires_at, "sweep")), _r.lease_expires_at),
    ),
    check(
        "I06", "the run was promised, and neither taken over nor taken back",
        _runs(and_(_assigned, overdue(_r.assigned_expires_at, "sweep")), _r.assigned_expires_at),
    ),
    check(
        "I06", "no runner took the run over in time",
        _runs(and_(or_(_pending, _assigned), overdue(_r.first_pending_at, "startup")), _r.first_pending_at),
    ),
)  # fmt: skip
"""The ways in which the work on stacks can go on untruly."""
