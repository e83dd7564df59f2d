"""What stacks leave in the object store: what is due to be removed, and the notes that it is gone.

Every question is about one page of rows in a fixed order, and says where the next one begins. Ages are judged by the
database's clock. `age` is in seconds since the end of the deployment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CTE,
    BigInteger,
    ColumnElement,
    DateTime,
    Uuid,
    and_,
    case,
    delete,
    false,
    func,
    or_,
    select,
    true,
    tuple_,
    update,
)

from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, STACK_RUN
from locktender.contracts.stacks.vocabulary import RunMode
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.database import Database
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.inventory import read_from
from locktender.storage.stacks.tables import stack, stack_deployment, stack_run, stack_state

_s, _d, _r, _v = stack.c, stack_deployment.c, stack_run.c, stack_state.c
_limit = parameter("limit", BigInteger())
_ids = parameter("ids", ARRAY(Uuid()))
_long_ago = db_now() - seconds("age")
_over = in_states(_d.status, STACK_DEPLOYMENT.terminal)
_forgotten = and_(_s.deleted_at.is_not(None), _s.deleted_at <= _long_ago)


class Leaving(Enum):
    """What a run leaves. The value is the column that says since when it is gone."""

    PLAN = "plan_removed_at"
    """Its plan file, which nobody needs once the deployment is over."""
    RECORD = "artifacts_removed_at"
    """Its log and its analysis."""


@dataclass(frozen=True, slots=True)
class RunCursor:
    """The last run of a page."""

    at: datetime
    id: UUID


FIRST_RUN: Final = RunCursor(datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0))
FIRST_STACK: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class DueRun:
    """A run of which something is to be removed."""

    id: UUID
    workspace: str
    stack_id: UUID


@dataclass(frozen=True, slots=True)
class RunPage:
    """The runs of a page that are due. `after` is where the next page begins; None: this was the last one."""

    due: list[DueRun]
    after: RunCursor | None


@dataclass(frozen=True, slots=True)
class RemovedState:
    """A version of a state that is none any more. Its object is still there."""

    id: UUID
    stack_id: UUID
    object_key: str


def _looked_at(kept: ColumnElement[bool]) -> CTE:
    """The next runs that have ended and of which something is kept."""
    return (
        select(_r.id, _r.workspace, _r.stack_id, _r.deployment_id, _r.analysed, _r.created_at)
        .where(
            kept,
            in_states(_r.status, STACK_RUN.terminal),
            tuple_(_r.created_at, _r.id)
            > tuple_(parameter("after_at", DateTime(timezone=True)), parameter("after_id", Uuid())),
        )
        .order_by(_r.created_at, _r.id)
        .limit(_limit)
        .cte("looked_at")
    )


def _of(runs: CTE, is_so: ColumnElement[bool]) -> ColumnElement[bool]:
    """What is true of the deployment of a run, looked up row by row: there are few of them."""
    return select(is_so).where(_d.id == runs.c.deployment_id).scalar_subquery()


def _page(name: str, runs: CTE, due: ColumnElement[bool]) -> Statement:
    shown = (runs.c.id, runs.c.workspace, runs.c.stack_id, runs.c.created_at)
    return Statement(name, select(*shown, due.label("due")).order_by(runs.c.created_at, runs.c.id))


_plans = _looked_at(
    and_(_r.plan_removed_at.is_(None), in_states(_r.mode, frozenset(mode for mode in RunMode if mode.is_plan_style)))
)
_records = _looked_at(and_(_r.artifacts_removed_at.is_(None), _r.created_at <= _long_ago))
_stack_is_there = select(~_forgotten).where(_s.id == _records.c.stack_id).scalar_subquery()
# The inventory is only asked for about runs that it could be read from.
_needed = case(
    (and_(_records.c.analysed, _stack_is_there), read_from(_records.c.id, _records.c.stack_id)), else_=false()
)
PAGES: Final = {
    Leaving.PLAN: _page("stack_run.planned", _plans, _of(_plans, _over)),
    Leaving.RECORD: _page(
        "stack_run.recorded",
        _records,
        and_(_of(_records, and_(_over, _d.completed_at <= _long_ago)), ~_needed),
    ),
}
_MARKS: Final = {
    what: Statement(
        f"stack_run.mark_{what.value}",
        update(stack_run)
        .where(_r.id == func.any(_ids), _r[what.value].is_(None), in_states(_r.status, STACK_RUN.terminal))
        .values({what.value: db_now()})
        .returning(_r.id),
    )
    for what in Leaving
}
STACKS: Final = Statement(
    "stack.next_ids", select(_s.id).where(_s.id > parameter("after", Uuid())).order_by(_s.id).limit(_limit)
)
_older = (
    select(_v.id, _v.created_at)
    .where(_v.stack_id == _s.id)
    .order_by(_v.created_at.desc(), _v.id.desc())
    .offset(case((_forgotten, 0), else_=parameter("versions", BigInteger())))
    .correlate(stack)
    .lateral("older")
)
_outlived = (
    select(_older.c.id)
    .select_from(stack.join(_older, true()))
    .where(
        _s.id == func.any(_ids),
        _older.c.created_at <= _long_ago,
        or_(_forgotten, _older.c.id.is_distinct_from(_s.state_version_id)),
    )
    .limit(_limit)
    .cte("outlived")
)
REMOVE_STATES: Final = Statement(
    "stack_state.remove",
    delete(stack_state)
    .where(_v.id == func.any(func.array(select(_outlived.c.id).scalar_subquery())))
    .returning(_v.id, _v.stack_id, _v.object_key),
)


class StackRetention:
    """Retention of stacks over one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def runs(self, what: Leaving, *, age: float, after: RunCursor, limit: int) -> RunPage:
        """The due among the next `limit` runs that have ended and of which this is still there.

        A plan file is due when the deployment is over, whatever `age` is. A record is due when that was more than
        `age` seconds ago; unless the inventory of the stack may be read from it, and the stack is there, or was deleted
        less than `age` seconds ago.
        """
        rows = await self._database.fetch(PAGES[what], age=age, after_at=after.at, after_id=after.id, limit=limit)
        due = [DueRun(row["id"], row["workspace"], row["stack_id"]) for row in rows if row["due"]]
        return RunPage(due, RunCursor(rows[-1]["created_at"], rows[-1]["id"]) if len(rows) == limit else None)

    async def mark(self, what: Leaving, run_ids: Sequence[UUID]) -> int:
        """Note that this is gone of these runs; how many had no such note. It has to be gone."""
        return len(await self._database.fetch(_MARKS[what], ids=list(run_ids)))

    async def stacks(self, *, after: UUID, limit: int) -> list[UUID]:
        """The next stacks, deleted ones included, in the order of their ids."""
        return [row["id"] for row in await self._database.fetch(STACKS, after=after, limit=limit)]

    async def remove_states(
        self, stack_ids: Sequence[UUID], *, age: float, versions: int, limit: int
    ) -> list[RemovedState]:
        """Forget up to `limit` old versions of the states of these stacks.

        Kept are the one that counts, the newest `versions`, and what is younger than `age` seconds. Of a stack that was
        deleted more than `age` seconds ago nothing is kept.
        """
        rows = await self._database.fetch(REMOVE_STATES, ids=list(stack_ids), age=age, versions=versions, limit=limit)
        return [RemovedState(row["id"], row["stack_id"], row["object_key"]) for row in rows]
