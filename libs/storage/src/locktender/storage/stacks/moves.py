"""One row moved inside a transaction: the guarded write of this context, where several rows move together."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
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
        takes = step.fence is Fence.ACQUIRE
        self._table, self._step = table, step
        self._fenced = step.fence in _FENCED
        values = effect(
            table, machine, step,
            owner=parameter("owner", Text()) if takes else None, ttl=seconds("ttl") if takes else None,
        )  # fmt: skip
        values |= {column: parameter(column, table.c[column].type) for column in sets} | dict(constants or {})
        condition = guard(table, step, parameter("epoch", BigInteger()) if self._fenced else None)
        if only_if is not None:
            condition &= only_if
        moved = update(table).where(table.c.id == parameter("id", Uuid()), condition).values(values)
        title = f"{table.name}.{name or step.name}"
        if aggregate is None:
            if step.event is not None or command is not None:
                raise ValueError(f"{title} is told and needs to know where")
            self.statement = Statement(title, moved.returning(*table.c))
        elif step.event is None:
            self.statement = moved_statement(step, aggregate, moved.returning(*table.c), command=command, name=name)
        else:
            told = [table.c[each] for each in dict.fromkeys((*aggregate.told, *returning))]
            self.statement = moved_statement(step, aggregate, moved.returning(*told, *told_columns()), name=name)
        self._state = _state_of(table)

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
