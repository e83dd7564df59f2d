"""I01 to I04 of single tasks: what their recorded events say, one after another and beside the row."""

from typing import Any

from sqlalchemy import CTE, ColumnElement, Select, Text, and_, cast, exists, func, or_, select

from locktender.contracts.deployments.events import CREATED
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.contracts.kernel.machine import Actor, Fence
from locktender.storage.deployments.tables import deployment_event, deployment_plan, deployment_task
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import constant
from locktender.storage.verify.check import check, recent

_e, _p, _t = deployment_event.c, deployment_plan.c, deployment_task.c

_ACQUIRING = [constant(s.event) for s in DEPLOYMENT_TASK.transitions if s.fence is Fence.ACQUIRE and s.event]
_UNSUCCESSFUL_CANCEL = DEPLOYMENT_TASK.terminal - {TaskStatus.CANCELLED}


def _history() -> CTE:
    """The events of the tasks in the window, each beside the one before it."""
    return (
        select(
            _e.task_id, _e.revision, _e.kind, _e.status, _e.epoch, _e.actor,
            _before(_e.revision).label("last_revision"),
            _before(_e.status).label("last_status"),
            _before(_e.epoch).label("last_epoch"),
        )
        .join(deployment_task, _t.id == _e.task_id)
        .where(recent(_t.updated_at))
        .cte("history")
    )  # fmt: skip


def _before(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The value in the task's previous event."""
    return func.lag(column).over(partition_by=_e.task_id, order_by=_e.revision)


_h = _history().c


def _steps(broken: ColumnElement[bool], *detail: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    return (
        select(
            cast(_h.task_id, Text).label("subject"),
            func.concat(constant("revision "), _h.revision, constant(", "), _h.kind, *detail).label("detail"),
        )
        .where(broken)
        .order_by(_h.task_id, _h.revision)
    )


def _rows(broken: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Tasks beside the latest of their events."""
    return (
        select(cast(_t.id, Text).label("subject"), func.concat(constant("it is "), _t.status).label("detail"))
        .join(deployment_event, and_(_e.task_id == _t.id, _e.revision == _t.revision), isouter=True)
        .where(recent(_t.updated_at), broken)
        .order_by(_t.id)
    )


def _plans(broken: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    return (
        select(cast(_t.id, Text).label("subject"), func.concat(constant("epoch "), _p.epoch).label("detail"))
        .join(deployment_plan, _p.task_id == _t.id)
        .where(recent(_t.updated_at), broken)
        .order_by(_t.id)
    )


_gap = or_(
    and_(_h.last_revision.is_(None), or_(_h.revision != constant(1), _h.kind != constant(CREATED))),
    _h.revision != _h.last_revision + constant(1),
)
_beyond = exists().where(_e.task_id == _t.id, _e.revision > _t.revision).correlate(deployment_task)
_other = deployment_event.alias("other")
_taken_twice = and_(
    _h.kind.in_(_ACQUIRING),
    exists().where(
        _other.c.task_id == _h.task_id,
        _other.c.revision < _h.revision,
        _other.c.epoch == _h.epoch,
        _other.c.kind.in_(_ACQUIRING),
    ),
)
_never_taken = and_(
    _h.actor == constant(Actor.RUNNER.value),
    ~exists().where(
        _other.c.task_id == _h.task_id,
        _other.c.revision <= _h.revision,
        _other.c.epoch == _h.epoch,
        _other.c.kind.in_(_ACQUIRING),
    ),
)

CHECKS = (
    check("I01", "an event is missing from the record", _steps(_gap)),
    check("I01", "the row and its latest event differ", _rows(or_(_e.task_id.is_(None), _e.status != _t.status))),
    check("I01", "the record is ahead of the row", _rows(_beyond)),
    check("I02", "an epoch was given twice", _steps(_taken_twice, constant(", epoch "), _h.epoch)),
    check(
        "I02", "a runner wrote under an epoch that nobody took",
        _steps(_never_taken, constant(", epoch "), _h.epoch),
    ),
    check("I03", "a write came under an epoch that had passed", _steps(_h.epoch < _h.last_epoch)),
    check("I03", "the row stands below the epoch of its latest event", _rows(_e.epoch > _t.lease_epoch)),
    check("I03", "a plan was recorded under an epoch that nobody held", _plans(_p.epoch > _t.lease_epoch)),
    check("I04", "something happened after the end", _steps(in_states(_h.last_status, DEPLOYMENT_TASK.terminal))),
    check(
        "I04", "a cancel was accepted, yet the task did not end cancelled",
        _rows(and_(_t.cancel_requested_at.is_not(None), in_states(_t.status, _UNSUCCESSFUL_CANCEL))),
    ),
)  # fmt: skip
"""The ways in which a history can be untrue."""
