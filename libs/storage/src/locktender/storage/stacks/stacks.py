"""Stacks themselves: made, changed, forgotten. Each write raises the revision and tells the world, in one statement."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, FromClause, Text, Uuid, cast, delete, null, select, true, update
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from locktender.contracts.kernel.errors import Conflict, LocktenderError
from locktender.contracts.stacks.events import (
    CONTEXT,
    STACK_CERTAIN,
    STACK_CREATED,
    STACK_DELETED,
    STACK_UNCERTAIN,
    STACK_UPDATED,
)
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.events import Aggregate, outbox_events, outbox_rows
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks.lane import locked
from locktender.storage.stacks.tables import stack, stack_deployment, stack_event, stack_variable

_s, _d = stack.c, stack_deployment.c
_id: Final = parameter("id", Uuid())

STACK = Aggregate(name="stack", context=CONTEXT, table=stack, events=stack_event, facts=("project", "name"))
"""Told to the world, and recorded nowhere else: the row is all that there is."""

CHANGEABLE: Final = (
    "project", "description", "source", "engine", "runner_group", "labels", "auto_approve",
    "confirmation_timeout_seconds", "queued_timeout_seconds", "supersede_after_seconds", "git_token",
)  # fmt: skip
"""The columns that an update may give other values."""
_NEW: Final = ("id", "workspace", "name", *CHANGEABLE, "created_by")
_JSON: Final = frozenset({"source", "labels"})


class NameTaken(Conflict):
    """Another stack of the workspace has the name."""

    def __init__(self, name: str) -> None:
        super().__init__("uq_stack_name")
        self.name = name


class StackBusy(LocktenderError):
    """A deployment of the stack has not ended."""

    def __init__(self, number: int, status: str) -> None:
        super().__init__(f"deployment #{number} of the stack is {status}")
        self.number = number
        self.status = status


@dataclass(frozen=True, slots=True)
class NewStack:
    """A stack to be made. Durations are in seconds; None: no limit. `git_token` is sealed."""

    id: UUID
    workspace: str
    project: str
    name: str
    description: str
    source: Mapping[str, object]
    engine: str
    runner_group: str
    labels: tuple[str, ...]
    auto_approve: str
    created_by: str
    confirmation_timeout_seconds: int | None = None
    queued_timeout_seconds: int | None = None
    supersede_after_seconds: int | None = None
    git_token: bytes | None = field(default=None, repr=False)


def _told(state: str, *, reason: str | None = None) -> list[ColumnElement[Any]]:
    """What the event says besides the row. Stacks have no status, so the world is told whether there still is one."""
    payload: dict[str, str] = {} if reason is None else {"reason": reason}
    return [
        constant(state).label("status"),
        cast(constant(json.dumps(payload)), JSONB).label("payload"),
        cast(parameter("trace", JSONB()), JSONB).label("trace"),
    ]


def _telling(
    name: str, write: ReturningInsert[*tuple[Any, ...]] | ReturningUpdate[*tuple[Any, ...]], kind: str
) -> Statement:
    """The write, whose rows are answered, and the event of each."""
    moved: FromClause = write.cte("moved")
    events = outbox_rows(outbox_events(STACK, moved, kind, tombstone=kind == STACK_DELETED))
    return Statement(f"stack.{name}", select(*[moved.c[column.name] for column in stack.c]).add_cte(events))


def _raised(
    name: str,
    kind: str,
    values: dict[str, Any],
    *,
    state: str = "live",
    reason: str | None = None,
    only_if: ColumnElement[bool] | None = None,
) -> Statement:
    raised = (
        update(stack)
        .where(_s.id == _id, _s.deleted_at.is_(None), true() if only_if is None else only_if)
        .values({"revision": _s.revision + 1, "updated_at": db_now(), **values})
        .returning(*stack.c, *_told(state, reason=reason))
    )
    return _telling(name, raised, kind)


_CREATE = _telling(
    "create",
    insert(stack)
    .values({name: parameter(name, stack.c[name].type) for name in _NEW})
    .on_conflict_do_nothing(index_elements=[_s.workspace, _s.name], index_where=_s.deleted_at.is_(None))
    .returning(*stack.c, *_told("live")),
    STACK_CREATED,
)
_UPDATE = _raised("update", STACK_UPDATED, {name: parameter(name, stack.c[name].type) for name in CHANGEABLE})
_TOUCH = _raised("touch", STACK_UPDATED, {}, reason="variables")
_DOUBT = _raised(
    "doubt", STACK_UNCERTAIN, {"uncertain_since": db_now(), "uncertain_run_id": parameter("run_id", Uuid())}
)
_TRUST = _raised(
    "trust",
    STACK_CERTAIN,
    {"uncertain_since": null(), "uncertain_run_id": null()},
    only_if=_s.uncertain_since.is_not(None),
)
_DELETE = _raised("delete", STACK_DELETED, {"deleted_at": db_now(), "git_token": null()}, state="deleted")
_OPEN = Statement(
    "stack.busy",
    select(_d.number, _d.status)
    .where(_d.stack_id == _id, in_states(_d.status, STACK_DEPLOYMENT.active))
    .order_by(_d.created_at, _d.id)
    .limit(1),
)
_FORGET_VARIABLES = Statement(
    "stack_variable.forget",
    delete(stack_variable).where(stack_variable.c.stack_id == _id).returning(stack_variable.c.name),
)
_FIND = Statement(
    "stack.find",
    select(_s.id).where(
        _s.workspace == parameter("workspace", Text()), _s.name == parameter("name", Text()), _s.deleted_at.is_(None)
    ),
)


async def find_stack(tx: Transaction, workspace: str, name: str) -> UUID | None:
    """The id that the name stands for now."""
    row = await tx.fetch_one(_FIND, workspace=workspace, name=name)
    return None if row is None else row["id"]


async def create_stack(tx: Transaction, new: NewStack, trace: Mapping[str, str]) -> Row:
    """A new stack. One that was deleted may have had the same name; they have nothing else in common.

    Raises:
        NameTaken: a stack of the workspace has the name.
    """
    values: dict[str, object] = {name: getattr(new, name) for name in _NEW}
    values |= {"source": json.dumps(dict(new.source)), "labels": json.dumps(new.labels)}
    row = await tx.fetch_one(_CREATE, **values, trace=json.dumps(dict(trace)))
    if row is None:
        raise NameTaken(new.name)
    return row


async def update_stack(tx: Transaction, stack_id: UUID, changes: Mapping[str, object], trace: Mapping[str, str]) -> Row:
    """Give columns other values; JSON ones as objects. Where nothing differs, nothing is written or told.

    Deployments that are there already keep what they were made with.

    Raises:
        NotFound: there is no such stack, or it was deleted.
        ValueError: a column is none that can be changed.
    """
    if unknown := changes.keys() - set(CHANGEABLE):
        raise ValueError(f"{sorted(unknown)} cannot be changed")
    row = await locked(tx, stack_id)
    if all(_stored(row, name) == changes[name] for name in changes):
        return row
    values = {name: row[name] for name in CHANGEABLE}
    values |= {name: json.dumps(value) if name in _JSON else value for name, value in changes.items()}
    return _required(await tx.fetch_one(_UPDATE, id=stack_id, **values, trace=json.dumps(dict(trace))))


async def touch_stack(tx: Transaction, stack_id: UUID, trace: Mapping[str, str]) -> Row:
    """Tell that the variables of a locked stack changed."""
    return _required(await tx.fetch_one(_TOUCH, id=stack_id, trace=json.dumps(dict(trace))))


async def doubt_stack(tx: Transaction, stack_id: UUID, run_id: UUID, trace: Mapping[str, str]) -> None:
    """Tell that nobody knows what this run did to the world of a locked stack."""
    _required(await tx.fetch_one(_DOUBT, id=stack_id, run_id=run_id, trace=json.dumps(dict(trace))))


async def trust_stack(tx: Transaction, stack_id: UUID, trace: Mapping[str, str]) -> None:
    """Tell that a locked stack is known again. Where it was never in doubt, nothing is written or told."""
    await tx.fetch(_TRUST, id=stack_id, trace=json.dumps(dict(trace)))


async def delete_stack(tx: Transaction, stack_id: UUID, trace: Mapping[str, str]) -> Row:
    """Forget a stack with its variables and its token. Its name is free, its record stays, its states do for a while.

    Raises:
        NotFound: there is no such stack, or it was deleted.
        StackBusy: a deployment has not ended, looking ones included.
    """
    await locked(tx, stack_id)
    working = await tx.fetch_one(_OPEN, id=stack_id)
    if working is not None:
        raise StackBusy(working["number"], working["status"])
    await tx.fetch(_FORGET_VARIABLES, id=stack_id)
    return _required(await tx.fetch_one(_DELETE, id=stack_id, trace=json.dumps(dict(trace))))


def _stored(row: Row, name: str) -> object:
    return json.loads(row[name]) if name in _JSON else row[name]


def _required(row: Row | None) -> Row:
    if row is None:
        raise AssertionError("a locked stack is there")
    return row
