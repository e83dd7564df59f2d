"""What can be asked about stacks and their deployments. Reads never write; each answer is one statement: one moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    DateTime,
    Select,
    Text,
    Uuid,
    case,
    func,
    null,
    or_,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from locktender.contracts.stacks.vocabulary import ActivityKind
from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks.facts import AHEAD_COLUMNS, ENTRY_COLUMNS, entries, with_ahead
from locktender.storage.stacks.tables import stack, stack_activity, stack_deployment, stack_run, stack_stage

NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands in a position for a stack that never had a deployment."""

_s, _d, _g, _r, _a = stack.c, stack_deployment.c, stack_stage.c, stack_run.c, stack_activity.c
_workspace: Final = parameter("workspace", Text())
_limit: Final = parameter("limit", BigInteger())
_here: Final = (_s.workspace == _workspace, _s.deleted_at.is_(None))
_named: Final = (*_here, _s.name == parameter("name", Text()))

_STACK_COLUMNS: Final = [
    *[column for column in stack.c if column.name not in {"git_token", "deleted_at"}],
    _s.git_token.is_not(None).label("has_git_token"),
    *AHEAD_COLUMNS,
]


class StackSort(StrEnum):
    """In which order stacks are listed."""

    CREATED = "created"
    """Newest first."""
    ACTIVITY = "activity"
    """The one with the newest deployment first; those without one come last."""
    NAME = "name"


class Place(NamedTuple):
    """Where a page goes on: after this row. For stacks by activity, `at` is of the newest deployment, or `NEVER`."""

    at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class StackFilter:
    """Which stacks. Empty and None: all.

    Attributes:
        statuses: of the newest deployment that uses the lane.
        search: a part of the name.
    """

    statuses: tuple[str, ...] = ()
    project: str | None = None
    search: str | None = None


_RUN_SHOWN: Final = (
    "id", "mode", "status", "runner_group", "labels", "assignment_attempts", "lease_epoch", "targets", "excludes",
    "replaces", "has_changes", "summary", "binding", "tool", "tool_version", "exit_code", "failure",
    "cancellation_reason", "plan_run_id", "analysed", "log_end", "created_at", "first_pending_at",
    "assigned_expires_at", "started_at", "completed_at",
)  # fmt: skip
_DECIDING: Final = frozenset(
    {
        ActivityKind.CONFIRMED_APPLY,
        ActivityKind.CONFIRMED_REPLAN,
        ActivityKind.CONFIRMED_SKIP,
        ActivityKind.SKIPPED,
        ActivityKind.AUTO_APPLIED,
    }
)


def _object(**members: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.jsonb_build_object(*[part for name, value in members.items() for part in (constant(name), value)])


def _stages() -> ColumnElement[Any]:
    run = case((_r.id.is_not(None), _object(**{name: _r[name] for name in _RUN_SHOWN})), else_=null())
    one = _object(
        id=_g.id, ordinal=_g.ordinal, kind=_g.kind, phase=_g.status, created_at=_g.created_at,
        completed_at=_g.completed_at, run=run,
    )  # fmt: skip
    return (
        select(func.jsonb_agg(aggregate_order_by(one, _g.ordinal)))
        .select_from(stack_stage.outerjoin(stack_run, _r.id == _g.run_id))
        .where(_g.deployment_id == _d.id)
        .correlate(stack_deployment)
        .scalar_subquery()
    )


def _decisions() -> ColumnElement[Any]:
    one = _object(kind=_a.kind, actor=_a.actor, stage_id=_a.stage_id, at=_a.created_at)
    return (
        select(func.jsonb_agg(aggregate_order_by(one, _a.created_at, _a.id)))
        .where(_a.deployment_id == _d.id, in_states(_a.kind, _DECIDING))
        .correlate(stack_deployment)
        .scalar_subquery()
    )


_STACK = Statement("stack.show", select(*_STACK_COLUMNS).select_from(with_ahead(stack)).where(*_named))
_STACK_BY_ID = Statement(
    "stack.show_by_id",
    select(*_STACK_COLUMNS).select_from(with_ahead(stack)).where(*_here, _s.id == parameter("id", Uuid())),
)
_STACK_ID = Statement("stack.id", select(_s.id, _s.project).where(*_named))
_DEPLOYMENT = Statement(
    "stack_deployment.show",
    select(*ENTRY_COLUMNS, _d.source, _stages().label("stages"), _decisions().label("decisions"))
    .select_from(entries())
    .where(*_named, _d.number == parameter("number", BigInteger())),
)


def _deployments(*, cursor: bool) -> Select[*tuple[Any, ...]]:
    query = (
        select(*ENTRY_COLUMNS)
        .select_from(entries())
        .where(
            _d.stack_id == parameter("stack_id", Uuid()),
            _d.status == func.any(parameter("statuses", ARRAY(Text()))),
            _d.mode == func.any(parameter("modes", ARRAY(Text()))),
        )
    )
    if cursor:
        query = query.where(tuple_(_d.created_at, _d.id) < _after())
    return query.order_by(_d.created_at.desc(), _d.id.desc()).limit(_limit)


def _after() -> ColumnElement[Any]:
    return tuple_(parameter("after_at", DateTime(timezone=True)), parameter("after_id", Uuid()))


def _stacks(order: "_Order", by: "_By", *, cursor: bool) -> Select[*tuple[Any, ...]]:
    """The page is chosen by an index first; only its rows are joined with who holds their lanes."""
    page = select(_s.id).where(*_here, *_filters(by))
    chosen = _ordered(page, order, cursor=cursor).limit(_limit).subquery("page")
    whole = select(*_STACK_COLUMNS).select_from(with_ahead(stack.join(chosen, chosen.c.id == _s.id)))
    return _ordered(whole, order, cursor=False)


def _filters(by: "_By") -> list[ColumnElement[bool]]:
    """Without filters there are none in the text either: a generic plan would expect them to leave almost nothing."""
    if by is _By.NOTHING:
        return []
    project, pattern = parameter("project", Text()), parameter("pattern", Text())
    common = [or_(project.is_(None), _s.project == project), or_(pattern.is_(None), _s.name.like(pattern))]
    if by is _By.STATUS:
        return [_s.latest_deployment_status == parameter("status", Text()), *common]
    statuses = parameter("statuses", ARRAY(Text()))
    return [or_(statuses.is_(None), _s.latest_deployment_status == func.any(statuses)), *common]


class _By(StrEnum):
    NOTHING = "all"
    STATUS = "in_status"
    """Exactly one, which has an index of its own."""
    ANYTHING = "filtered"


class _Order(StrEnum):
    CREATED = "created"
    NAME = "name"
    ACTIVE = "active"
    NEVER_ACTIVE = "never_active"


def _ordered(query: Select[*tuple[Any, ...]], order: _Order, *, cursor: bool) -> Select[*tuple[Any, ...]]:
    latest, after_id = _s.latest_deployment_created_at, parameter("after_id", Uuid())
    match order:
        case _Order.CREATED:
            query = query.order_by(_s.created_at.desc(), _s.id.desc())
            return query.where(tuple_(_s.created_at, _s.id) < _after()) if cursor else query
        case _Order.NAME:
            before = stack.alias("before")
            named = select(before.c.name).where(before.c.id == after_id).scalar_subquery()
            query = query.order_by(_s.name)
            return query.where(_s.name > named) if cursor else query
        case _Order.ACTIVE:
            query = query.where(latest.is_not(None)).order_by(latest.desc(), _s.id.desc())
            return query.where(tuple_(latest, _s.id) < _after()) if cursor else query
        case _Order.NEVER_ACTIVE:
            query = query.where(latest.is_(None)).order_by(latest.desc(), _s.id.desc())
            return query.where(_s.id < after_id) if cursor else query


_DEPLOYMENTS = {
    cursor: Statement("stack_deployment.list" + ("_on" if cursor else ""), _deployments(cursor=cursor))
    for cursor in (False, True)
}
_STACKS = {
    (order, by, cursor): Statement(
        f"stack.list_{order}_{by}{'_on' if cursor else ''}", _stacks(order, by, cursor=cursor)
    )
    for order in _Order
    for by in _By
    for cursor in (False, True)
}


class StackReads:
    """Questions about stacks. A workspace only ever sees its own rows, and no stack that was deleted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def stack(self, workspace: str, name: str) -> Row | None:
        """A stack with the holder of its lane, by its name."""
        return await self._database.fetch_one(_STACK, workspace=workspace, name=name)

    async def stack_by_id(self, workspace: str, stack_id: UUID) -> Row | None:
        """The same by its id."""
        return await self._database.fetch_one(_STACK_BY_ID, workspace=workspace, id=stack_id)

    async def stack_id(self, workspace: str, name: str) -> UUID | None:
        """The id that a name stands for now."""
        row = await self._database.fetch_one(_STACK_ID, workspace=workspace, name=name)
        return None if row is None else row["id"]

    async def project(self, workspace: str, name: str) -> str | None:
        """The project of a stack."""
        row = await self._database.fetch_one(_STACK_ID, workspace=workspace, name=name)
        return None if row is None else row["project"]

    async def stacks(
        self, workspace: str, chosen: StackFilter, sort: StackSort, *, limit: int, after: Place | None = None
    ) -> list[Row]:
        """At most `limit` stacks, from after the place."""
        match sort:
            case StackSort.CREATED:
                return await self._listed(_Order.CREATED, workspace, chosen, limit, after)
            case StackSort.NAME:
                return await self._listed(_Order.NAME, workspace, chosen, limit, after)
            case StackSort.ACTIVITY:
                return await self._by_activity(workspace, chosen, limit, after)

    async def deployment(self, workspace: str, name: str, number: int) -> Row | None:
        """A deployment with its steps, runs and decisions (JSON texts)."""
        return await self._database.fetch_one(_DEPLOYMENT, workspace=workspace, name=name, number=number)

    async def deployments(
        self,
        stack_id: UUID,
        *,
        statuses: Sequence[str],
        modes: Sequence[str],
        limit: int,
        after: Place | None = None,
    ) -> list[Row]:
        """At most `limit` deployments of a stack, newest first, from after the place."""
        values = {"stack_id": stack_id, "statuses": list(statuses), "modes": list(modes), "limit": limit}
        if after is not None:
            values |= {"after_at": after.at, "after_id": after.id}
        return await self._database.fetch(_DEPLOYMENTS[after is not None], **values)

    async def _by_activity(self, workspace: str, chosen: StackFilter, limit: int, after: Place | None) -> list[Row]:
        """First those that had a deployment. Two statements, so that each follows its index."""
        rows: list[Row] = []
        if after is None or after.at > NEVER:
            rows = await self._listed(_Order.ACTIVE, workspace, chosen, limit, after)
        if len(rows) < limit and not chosen.statuses:
            onward = after if after is not None and after.at == NEVER else None
            rows += await self._listed(_Order.NEVER_ACTIVE, workspace, chosen, limit - len(rows), onward)
        return rows

    async def _listed(
        self, order: _Order, workspace: str, chosen: StackFilter, limit: int, after: Place | None
    ) -> list[Row]:
        values: dict[str, object] = {"workspace": workspace, "limit": limit}
        by = _By.NOTHING
        if chosen != StackFilter():
            by = _By.STATUS if len(chosen.statuses) == 1 else _By.ANYTHING
            values |= {"project": chosen.project, "pattern": _pattern(chosen.search)}
            values |= {"status": next(iter(chosen.statuses), None), "statuses": list(chosen.statuses) or None}
        if after is not None:
            values |= {"after_at": after.at, "after_id": after.id}
        return await self._database.fetch(_STACKS[order, by, after is not None], **values)


def _pattern(search: str | None) -> str | None:
    """A part of a name as a pattern. Names have none of the characters that mean something in one, but `search` may."""
    if search is None:
        return None
    escaped = search.lower().replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"
