"""The guarded write: one statement moves any number of rows, records the events and fills the outbox.

The shape, for every transition of every machine:

    WITH locked AS (the callers' rows, from unnested arrays, each with its row locked in the order of the ids, so that
                    two batches cannot deadlock),
         moved  AS (UPDATE … WHERE status IN (literal sources) AND lease_epoch = locked.epoch RETURNING …),
         recorded AS (INSERT INTO … event SELECT FROM moved),
         told     AS (INSERT INTO outbox SELECT FROM moved)
    SELECT … FROM moved
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    FromClause,
    Text,
    Uuid,
    cast,
    column,
    func,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.dml import ReturningUpdate
from sqlalchemy.types import TypeEngine

from locktender.contracts.kernel.machine import Fence, Machine, Transition
from locktender.storage.kernel.clock import seconds
from locktender.storage.kernel.events import (
    Aggregate,
    OutboxRow,
    event_rows,
    outbox_commands,
    outbox_events,
    outbox_rows,
)
from locktender.storage.kernel.fencing import effect, guard
from locktender.storage.kernel.statement import Statement, constant, parameter

S = TypeVar("S", bound=StrEnum)

_TOLD = frozenset({"message", "payload", "actor", "trace"})
"""What the event part of a write carries; the caller knows it and is not sent it back."""

_FENCED = frozenset({Fence.HOLD, Fence.RELEASE})


def unnested(name: str, columns: Mapping[str, TypeEngine[Any]]) -> FromClause:
    """Equal-length array parameters, one for each column, as rows. The parameters bear the columns' names."""
    arrays = [parameter(key, ARRAY(kind)) for key, kind in columns.items()]
    rows = func.unnest(*arrays).table_valued(*[column(key, kind) for key, kind in columns.items()])
    return rows.render_derived(name)


@dataclass(frozen=True, slots=True)
class Command:
    """A hint that goes out with a move. Its subject is the prefix and what the moved row holds in the column.

    `only`: the value of the column that somebody listens for, where nobody does for the others.
    """

    prefix: str
    column: str
    only: str | None = None


class Guarded(Generic[S]):
    """One transition of one machine as a prepared statement over many rows.

    Args:
        sets: columns that this transition writes besides its effect, each an argument a row.
        constants: columns it writes with one SQL expression for all rows.
        command: a hint that the same statement sends for each row.
        name: of the statement, where a transition has more than one; default: the name of the transition.
    """

    def __init__(
        self,
        aggregate: Aggregate,
        machine: Machine[S],
        step: Transition[S],
        *,
        sets: Sequence[str] = (),
        constants: Mapping[str, object] | None = None,
        only_if: ColumnElement[bool] | None = None,
        command: Command | None = None,
        returning: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        table = aggregate.table
        self.aggregate, self.machine, self.step = aggregate, machine, step
        self.fenced = step.fence in _FENCED
        columns: dict[str, TypeEngine[Any]] = {"id": Uuid()}
        if self.fenced:
            columns["epoch"] = BigInteger()
        columns |= {name: table.c[name].type for name in sets}
        if step.event is not None:
            columns |= {"message": Text(), "payload": JSONB(), "actor": Text(), "trace": JSONB()}
        self.columns, self._types = tuple(columns), columns
        self._sets, self._constants, self._only_if = sets, dict(constants or {}), only_if
        self._command, self._returning, self._name = command, returning, name

    @cached_property
    def statement(self) -> Statement:
        """The write, built at its first use."""
        table = self.aggregate.table
        rows = unnested("input", self._types)
        locked = (
            select(*rows.c)
            .join(table, table.c.id == rows.c.id)
            .order_by(table.c.id)
            .with_for_update(of=table)
            .cte("locked")
        )
        values = _values(self.aggregate, self.machine, self.step) | {name: locked.c[name] for name in self._sets}
        condition = guard(table, self.step, locked.c.epoch if self.fenced else None)
        if self._only_if is not None:
            condition &= self._only_if
        carried = _carried(self.aggregate, locked, self.step, (*self._returning, *_told_of(self._command)))
        moved = (
            update(table)
            .where(table.c.id == locked.c.id, condition)
            .values(values | self._constants)
            .returning(*carried)
        )
        return moved_statement(self.step, self.aggregate, moved, command=self._command, name=self._name)


def sweep_statement(
    aggregate: Aggregate,
    machine: Machine[S],
    step: Transition[S],
    *,
    due: ColumnElement[bool],
    order: ColumnElement[Any],
    constants: Mapping[str, object] | None = None,
    command: Command | None = None,
    message: str = "",
    payload: ColumnElement[Any] | None = None,
) -> Statement:
    """A transition that finds its own rows: at most `limit` that are due, skipping rows that somebody works on."""
    table = aggregate.table
    nothing: ColumnElement[Any] = cast(constant("{}"), JSONB)
    chosen = (
        select(table.c.id)
        .where(guard(table, step, None), due)
        .order_by(order)
        .limit(parameter("limit", BigInteger()))
        .with_for_update(skip_locked=True)
        .cte("due")
    )
    extra: list[ColumnElement[Any]] = []
    if step.event is not None:
        extra = [
            constant(message).label("message"),
            (nothing if payload is None else payload).label("payload"),
            constant(step.actor.value).label("actor"),
            nothing.label("trace"),
        ]
    moved = (
        update(table)
        .where(table.c.id == chosen.c.id, guard(table, step, None), due)
        .values(_values(aggregate, machine, step) | dict(constants or {}))
        .returning(*_row(aggregate, _told_of(command)), *extra)
    )
    return moved_statement(step, aggregate, moved, command=command)


def moved_statement(
    step: Transition[S],
    aggregate: Aggregate,
    write: ReturningUpdate[*tuple[Any, ...]],
    *,
    command: Command | None = None,
    name: str | None = None,
) -> Statement:
    """Wrap a write that returns the moved rows with the event and outbox rows that belong to it."""
    moved = write.cte("moved")
    answer: OutboxRow = select(*[each for each in moved.c if each.name not in _TOLD])
    told: list[OutboxRow] = []
    if step.event is not None:
        answer = answer.add_cte(event_rows(aggregate, moved, step.event, moved.c.actor))
        told.append(outbox_events(aggregate, moved, step.event))
    if command is not None:
        subject = constant(command.prefix).concat(moved.c[command.column])
        hints = outbox_commands(moved, subject, step.name)
        told.append(hints if command.only is None else hints.where(moved.c[command.column] == constant(command.only)))
    if told:
        answer = answer.add_cte(outbox_rows(*told))
    return Statement(f"{aggregate.name}.{name or step.name}", answer)


def _values(aggregate: Aggregate, machine: Machine[S], step: Transition[S]) -> dict[str, object]:
    takes = step.fence is Fence.ACQUIRE
    return effect(
        aggregate.table,
        machine,
        step,
        owner=parameter("owner", Text()) if takes else None,
        ttl=seconds("ttl") if takes else None,
    )


def _told_of(command: Command | None) -> tuple[str, ...]:
    return () if command is None else (command.column,)


def _row(aggregate: Aggregate, returning: Sequence[str]) -> list[ColumnElement[Any]]:
    return [aggregate.table.c[name] for name in dict.fromkeys((*aggregate.told, *returning))]


def _carried(
    aggregate: Aggregate, rows: FromClause, step: Transition[S], returning: Sequence[str]
) -> list[ColumnElement[Any]]:
    carried = _row(aggregate, returning)
    if step.event is not None:
        carried += [rows.c.message, rows.c.payload, rows.c.actor, rows.c.trace]
    return carried
