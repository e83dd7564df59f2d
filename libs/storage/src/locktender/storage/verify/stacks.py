"""I01 and I04 of stacks and of their deployments: what is recorded, and what was told, one after another."""

from typing import Any

from sqlalchemy import CTE, ColumnElement, Select, Text, and_, cast, exists, func, or_, select

from locktender.contracts.stacks.events import CREATED
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import constant
from locktender.storage.kernel.tables import outbox
from locktender.storage.stacks.tables import stack, stack_deployment, stack_event
from locktender.storage.verify.check import check, recent

_e, _d, _s, _o = stack_event.c, stack_deployment.c, stack.c, outbox.c


def _before(column: ColumnElement[Any], of: ColumnElement[Any], by: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.lag(column).over(partition_by=of, order_by=by)


def _history() -> CTE:
    """The events of the deployments in the window, each beside the one before it."""
    return (
        select(
            _e.deployment_id, _e.revision, _e.kind,
            _before(_e.revision, _e.deployment_id, _e.revision).label("last_revision"),
            _before(_e.status, _e.deployment_id, _e.revision).label("last_status"),
        )
        .join(stack_deployment, _d.id == _e.deployment_id)
        .where(recent(_d.updated_at))
        .cte("history")
    )  # fmt: skip


def _telling() -> CTE:
    """What was told of stacks themselves, each beside what was told before. Their events are recorded nowhere else."""
    return (
        select(
            _o.aggregate, _o.revision, _o.type,
            _before(_o.revision, _o.aggregate, _o.revision).label("last_revision"),
        )
        .where(recent(_o.created_at), _o.revision.is_not(None), _o.type.like(constant("locktender.stack.%")))
        .cte("telling")
    )  # fmt: skip


_h, _t = _history().c, _telling().c


def _steps(broken: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    return (
        select(
            cast(_h.deployment_id, Text).label("subject"),
            func.concat(constant("revision "), _h.revision, constant(", "), _h.kind).label("detail"),
        )
        .where(broken)
        .order_by(_h.deployment_id, _h.revision)
    )


def _rows(broken: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Deployments beside the latest of their events."""
    return (
        select(cast(_d.id, Text).label("subject"), func.concat(constant("it is "), _d.status).label("detail"))
        .join(stack_event, and_(_e.deployment_id == _d.id, _e.revision == _d.revision), isouter=True)
        .where(recent(_d.updated_at), broken)
        .order_by(_d.id)
    )


_gap = or_(
    and_(_h.last_revision.is_(None), or_(_h.revision != constant(1), _h.kind != constant(CREATED))),
    _h.revision != _h.last_revision + constant(1),
)
_beyond = exists().where(_e.deployment_id == _d.id, _e.revision > _d.revision).correlate(stack_deployment)
_its_row = and_(_o.aggregate == cast(_e.deployment_id, Text), _o.revision == _e.revision, recent(_o.created_at))
_last_told = and_(_o.aggregate == cast(_s.id, Text), _o.revision == _s.revision)

CHECKS = (
    check("I01", "an event of the deployment is missing from the record", _steps(_gap)),
    check(
        "I01", "the deployment and its latest event differ",
        _rows(or_(_e.revision.is_(None), _e.status != _d.status)),
    ),
    check("I01", "the record is ahead of the deployment", _rows(_beyond)),
    check("I04", "something happened after the end", _steps(in_states(_h.last_status, STACK_DEPLOYMENT.terminal))),
    check(
        "I01", "a recorded event of the deployment has no outbox row",
        select(
            cast(_e.deployment_id, Text).label("subject"),
            func.concat(constant("revision "), _e.revision, constant(", "), _e.kind).label("detail"),
        )
        .where(recent(_e.created_at), ~exists().where(_its_row))
        .order_by(_e.deployment_id, _e.revision),
    ),
    check(
        "I01", "an event of the deployment was told that is not recorded",
        select(_o.aggregate.label("subject"), func.concat(constant("revision "), _o.revision).label("detail"))
        .where(
            recent(_o.created_at),
            _o.revision.is_not(None),
            exists().where(cast(_d.id, Text) == _o.aggregate),
            ~exists().where(cast(_e.deployment_id, Text) == _o.aggregate, _e.revision == _o.revision),
        )
        .order_by(_o.seq),
    ),
    check(
        "I01", "a change of the stack was not told",
        select(
            _t.aggregate.label("subject"),
            func.concat(
                constant("between revisions "), _t.last_revision, constant(" and "), _t.revision
            ).label("detail"),
        )
        .where(_t.revision != _t.last_revision + constant(1))
        .order_by(_t.aggregate, _t.revision),
    ),
    check(
        "I01", "the latest change of the stack was not told",
        select(cast(_s.id, Text).label("subject"), func.concat(constant("revision "), _s.revision).label("detail"))
        .where(recent(_s.updated_at), _s.revision > constant(1), ~exists().where(_last_told))
        .order_by(_s.id),
    ),
)  # fmt: skip
"""The ways in which the record of stacks can be untrue."""
