"""One row moved inside a transaction: the guarded write of this context, where several rows move together."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, FromClause, Table, Text, Uuid, cast, select, update
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.kernel.errors import LeaseLost, NotFound, WrongState
from locktender.contracts.kernel.machine import Fence, Machine, Transition
from locktender.storage.kernel.clock import seconds
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.events import Aggregate
from locktender.storage.kernel.fencing import effect, guard
from locktender.storage.kernel.guarded import Command, moved_statement
from locktender.storage.kernel.statement import Statement, parameter

S = TypeVar("S", bound=StrEnum)

_FENCED = frozenset({Fence.HOLD, Fence.RELEASE})


class Move(Generic[S]):
    """One transition of one row. A move that is an event tells it in the same statement.

    Args:
        sets: columns that the caller gives values for.
        constants: columns with the same SQL expression every time.
        aggregate: where the event or the command goes; needed where there is one.
        command: a hint that goes out with the move.
    """

    def __init__(
        self,
        table: Table,
        machine: Machine[S],
        step: Transition[S],
        *,
        sets: Sequence[str] = (),
        constants: Mapping[str, object] | None = None,
        only_if: ColumnElement[bool] | None = None,
        returning: Sequence[str] = (),
        aggregate: Aggregate | None = None,
        command: Command | None = None,
        name: str | None = None,
    ) -> None:
        self._title = f"{table.name}.{name or step.name}"
        if aggregate is None and (step.event is not None or command is not None):
            raise ValueError(f"{self._title} is told and needs to know where")
        self._table, self._machine, self._step = table, machine, step
        self._fenced = step.fence in _FENCED
        self._sets, self._constants, self._only_if, self._returning = sets, dict(constants or {}), only_if, returning
        self._aggregate, self._command, self._name = aggregate, command, name

    @cached_property
    def statement(self) -> Statement:
        """The write, built at its first use."""
        table, aggregate, step = self._table, self._aggregate, self._step
        moved = update(table).where(table.c.id == parameter("id", Uuid()), self._condition()).values(self._values())
        if aggregate is None:
            return Statement(self._title, moved.returning(*table.c))
        if step.event is None:
            return moved_statement(
                step, aggregate, moved.returning(*table.c), command=self._command, name=self._name
            )  # fmt: skip
        told = [table.c[each] for each in dict.fromkeys((*aggregate.told, *self._returning))]
        return moved_statement(step, aggregate, moved.returning(*told, *told_columns()), name=self._name)

    def _condition(self) -> ColumnElement[bool]:
        epoch = parameter("epoch", BigInteger()) if self._fenced else None
        condition = guard(self._table, self._step, epoch)
        return condition if self._only_if is None else condition & self._only_if

    def _values(self) -> dict[str, object]:
        takes = self._step.fence is Fence.ACQUIRE
        effects = effect(
            self._table, self._machine, self._step,
            owner=parameter("owner", Text()) if takes else None, ttl=seconds("ttl") if takes else None,
        )  # fmt: skip
        given = {column: parameter(column, self._table.c[column].type) for column in self._sets}
        return effects | given | self._constants

    @cached_property
    def _state(self) -> Statement:
        return _state_of(self._table)

    async def maybe(self, tx: Transaction, id: UUID, **values: object) -> Row | None:  # noqa: A002 - the column's name
        """The moved row, or None where the guard did not let it through."""
        return await tx.fetch_one(self.statement, id=id, **values)

    async def one(self, tx: Transaction, id: UUID, **values: object) -> Row:  # noqa: A002 - the column's name
        """The moved row.

        Raises:
            NotFound: there is no such row.
            WrongState: the row is in another state, or the move's own condition does not hold.
            LeaseLost: the row is at another epoch.
        """
        moved = await self.maybe(tx, id, **values)
        if moved is not None:
            return moved
        row = await tx.fetch_one(self._state, id=id)
        if row is None:
            raise NotFound(self._table.name.replace("_", " "), id)
        epoch = values.get("epoch")
        if isinstance(epoch, int) and row["lease_epoch"] != epoch:
            raise LeaseLost(id, epoch, row["lease_epoch"])
        raise WrongState(id, self._step.name, row["status"])


def told_columns() -> list[ColumnElement[Any]]:
    """What the event of a write says, as arguments of the statement."""
    return [
        parameter("message", Text()).label("message"),
        cast(parameter("payload", JSONB()), JSONB).label("payload"),
        parameter("actor", Text()).label("actor"),
        cast(parameter("trace", JSONB()), JSONB).label("trace"),
    ]


def _state_of(table: Table) -> Statement:
    source: FromClause = table
    epoch = [source.c.lease_epoch] if "lease_epoch" in source.c else []
    return Statement(
        f"{table.name}.state", select(source.c.status, *epoch).where(source.c.id == parameter("id", Uuid()))
    )
