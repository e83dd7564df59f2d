"""Which runs have told what a stack is made of. What they told is in the object store."""

from typing import Any, Final
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, Select, Text, Uuid, or_, select, true

from locktender.contracts.stacks.flow import RunStatus
from locktender.contracts.stacks.inventory import TELLS_GRAPH, TELLS_STATE
from locktender.contracts.stacks.vocabulary import RunMode
from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks.tables import stack, stack_deployment, stack_run, stack_state

NEXT_FEW: Final = 6
"""Runs that are looked at for one that told. An apply tells no graph, so this is three deployments at least."""

_s, _d, _r, _v = stack.c, stack_deployment.c, stack_run.c, stack_state.c
_named: Final = (
    _s.workspace == parameter("workspace", Text()),
    _s.name == parameter("name", Text()),
    _s.deleted_at.is_(None),
)
_succeeded: Final = _r.status == constant(RunStatus.SUCCESS.value)
_touched: Final = or_(_succeeded, _r.mode == constant(RunMode.APPLY.value))
"""An apply that ended otherwise has changed what there is all the same."""
_STATE: Final = (_touched,)
_GRAPH: Final = (_succeeded, in_states(_d.origin, TELLS_GRAPH))


def _few(
    stack_id: ColumnElement[Any], conditions: tuple[ColumnElement[bool], ...], *columns: ColumnElement[Any]
) -> Select[*tuple[Any, ...]]:
    """The runs of a stack that are looked at, newest first."""
    return (
        select(*columns)
        .select_from(stack_run)
        .join(stack_deployment, _d.id == _r.deployment_id)
        .where(_r.stack_id == stack_id, _r.analysed, _r.completed_at.is_not(None), in_states(_d.mode, TELLS_STATE))
        .where(*conditions)
        .order_by(_r.completed_at.desc())
        .limit(NEXT_FEW)
        .correlate_except(stack_run, stack_deployment)
    )


def read_from(run_id: ColumnElement[Any], stack_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether the inventory of the stack may be read from this run now."""
    return or_(run_id.in_(_few(stack_id, _STATE, _r.id)), run_id.in_(_few(stack_id, _GRAPH, _r.id)))


def _newest(name: str, conditions: tuple[ColumnElement[bool], ...]) -> Statement:
    shown = (_r.id, _r.mode, _r.completed_at, _r.binding, _d.number, _d.commit_sha)
    told = _few(_s.id, conditions, *shown).lateral("told")
    written = (
        select(_v.created_at)
        .where(_v.stack_id == _s.id)
        .order_by(_v.created_at.desc(), _v.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    columns: list[ColumnElement[Any]] = [
        _s.id.label("stack_id"), _s.workspace, _s.uncertain_since, _s.state_lineage, _s.state_serial,
        written.label("state_written_at"),
        told.c.id.label("run_id"), told.c.mode.label("run_mode"), told.c.completed_at, told.c.binding,
        told.c.number, told.c.commit_sha,
    ]  # fmt: skip
    return Statement(
        name,
        select(*columns).select_from(stack.outerjoin(told, true())).where(*_named).order_by(told.c.completed_at.desc()),
    )


TOLD_STATE: Final = _newest("stack_run.told_state", _STATE)
TOLD_GRAPH: Final = _newest("stack_run.told_graph", _GRAPH)
_RUN: Final = Statement(
    "stack_run.told",
    select(
        _r.id, _r.workspace, _r.stack_id, _r.analysed, _r.summary, _r.artifacts_removed_at,
        _d.completed_at.label("ended_at"),
    )
    .join(stack_deployment, _d.id == _r.deployment_id)
    .join(stack, _s.id == _r.stack_id)
    .where(_r.id == parameter("id", Uuid()), _d.number == parameter("number", BigInteger()), *_named),
)  # fmt: skip


async def told_state(database: Database, workspace: str, name: str) -> list[Row]:
    """The stack with each of the runs that last touched or saw its state and left an analysis, newest first.

    One row without a run where there is none; no row where there is no such stack.
    """
    return await database.fetch(TOLD_STATE, workspace=workspace, name=name)


async def told_graph(database: Database, workspace: str, name: str) -> list[Row]:
    """The same for runs of the configuration itself."""
    return await database.fetch(TOLD_GRAPH, workspace=workspace, name=name)


async def told_run(database: Database, workspace: str, name: str, number: int, run_id: UUID) -> Row | None:
    """A run, where it belongs to this deployment of this stack; whether it left an analysis, and still has it."""
    return await database.fetch_one(_RUN, workspace=workspace, name=name, number=number, id=run_id)
