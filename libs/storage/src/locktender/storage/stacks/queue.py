"""What waits in a workspace, in the order in which it is served: behind a lane, or for a runner."""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Integer,
    Text,
    case,
    cast,
    func,
    literal,
    null,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.kernel.subjects import DEFAULT_GROUP
from locktender.contracts.stacks.flow import STACK_RUN, DeploymentStatus, RunStatus
from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks.facts import ENTRY_COLUMNS, OWN, entries
from locktender.storage.stacks.pool_tables import stack_runner_group
from locktender.storage.stacks.tables import stack_deployment, stack_run

FARTHEST: Final = 5000
"""Runs whose places are told: the first ones, all groups together."""

_d, _r, _g = stack_deployment.c, stack_run.c, stack_runner_group.c
_workspace: Final = parameter("workspace", Text())
_limit: Final = parameter("limit", BigInteger())


def _line(row: Any) -> list[ColumnElement[Any]]:
    """The order of both layers."""
    return [row.prioritized_at.asc().nulls_last(), row.created_at, row.id]


def _groups_of_workspace() -> Any:
    return select(_g.name).where(_g.workspace == _workspace).union_all(select(constant(DEFAULT_GROUP)))


def _places() -> FromClause:
    """The place of each run in the line of its group. The group that is ours has one line for all workspaces.

    All lines have the same order, so that cutting them off together leaves the places before right.
    """
    first = (
        select(_r.id, _r.workspace, _r.runner_group, _r.prioritized_at, _r.created_at)
        .where(_r.status == constant(RunStatus.PENDING.value), _r.runner_group.in_(_groups_of_workspace()))
        .order_by(*_line(_r))
        .limit(FARTHEST)
        .subquery("first")
        .c
    )
    shared = case((first.runner_group == constant(DEFAULT_GROUP), constant("")), else_=first.workspace)
    place = func.row_number().over(partition_by=[first.runner_group, shared], order_by=_line(first))
    return select(first.id, place.label("place")).subquery("places")


def _waiting() -> FromClause:
    """Which deployments wait: those that say so, and the confirmed ones whose run no runner has."""
    said = (
        select(_d.id)
        .where(_d.workspace == _workspace, _d.status.in_([constant("queued"), constant("pending")]))
        .order_by(*_line(_d))
        .limit(_limit)
    )
    confirmed = (
        select(_d.id)
        .select_from(stack_run.join(stack_deployment, _d.id == _r.deployment_id))
        .where(
            _r.status == constant(RunStatus.PENDING.value),
            _r.runner_group.in_(_groups_of_workspace()),
            _r.workspace == _workspace,
            _d.status == constant(DeploymentStatus.APPLYING.value),
        )
        .order_by(*_line(_r))
        .limit(_limit)
    )
    return union_all(said, confirmed).subquery("waiting")


def _queue() -> Statement:
    waiting, places = _waiting(), _places()
    return Statement(
        "stack_deployment.queue",
        select(*ENTRY_COLUMNS, places.c.place)
        .select_from(entries().join(waiting, waiting.c.id == _d.id).outerjoin(places, places.c.id == OWN.run.c.id))
        .order_by(*_line(_d))
        .limit(_limit),
    )


def _groups() -> Statement:
    running = (
        select(func.count())
        .where(in_states(_r.status, STACK_RUN.leased), _r.workspace == _workspace)
        .select_from(stack_run)
    )
    theirs = select(
        _g.name, _g.labels, _g.capacity, running.where(_r.runner_group == _g.name).scalar_subquery().label("running")
    ).where(_g.workspace == _workspace)
    ours = select(
        constant(DEFAULT_GROUP).label("name"), cast(constant("[]"), JSONB).label("labels"),
        cast(null(), Integer).label("capacity"),
        running.where(_r.runner_group == constant(DEFAULT_GROUP)).scalar_subquery().label("running"),
    )  # fmt: skip
    return Statement("stack_runner_group.load", union_all(ours, theirs).order_by(literal(1, literal_execute=True)))


QUEUE: Final = _queue()
LOAD: Final = _groups()


async def waiting(database: Database, workspace: str, *, limit: int) -> list[Row]:
    """At most `limit` waiting deployments, first come first. `place`: of its run in the line of its group."""
    return await database.fetch(QUEUE, workspace=workspace, limit=limit)


async def load(database: Database, workspace: str) -> list[Row]:
    """The runner groups of a workspace and ours, by name, with the runs that they execute for the workspace now."""
    return await database.fetch(LOAD, workspace=workspace)
