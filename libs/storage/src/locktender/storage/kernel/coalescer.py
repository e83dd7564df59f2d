"""Single guarded writes: gathered into batches, answered one by one, and every miss named."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, TypeVar
from uuid import UUID

from sqlalchemy import Table, select

from locktender.contracts.kernel.errors import LeaseLost, LocktenderError, NotFound, WrongState
from locktender.storage.kernel.batching import Batcher
from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.guarded import Guarded, unnested
from locktender.storage.kernel.statement import Statement

S = TypeVar("S", bound=StrEnum)


class Coalescer(Generic[S]):
    """The only way a single guarded write is made."""

    def __init__(self, database: Database, guarded: Guarded[S], **shared: object) -> None:
        self._guarded = guarded
        self._writes = Batcher(database, guarded.statement, guarded.columns, **shared)
        self._states = Batcher(database, state_statement(guarded.aggregate.table), ("id",))

    async def write(self, *, id: UUID, **row: object) -> Row:  # noqa: A002 - the column is called id
        """Move one row and return it as it is after the statement.

        Raises:
            NotFound: there is no such row.
            WrongState: the row is in another state, or the transition's own condition does not hold.
            LeaseLost: the row is at another epoch.
            Conflict: the new values break a uniqueness rule.
            OutcomeUnknown: the database went away; the row may have moved. In all other cases nothing changed.
        """
        moved = await self._writes.write(id, id=id, **row)
        if moved is None:
            raise self._reason(id, row, await self._states.write(id, id=id))
        return moved

    def _reason(self, key: UUID, asked: Mapping[str, object], row: Row | None) -> LocktenderError:
        if row is None:
            return NotFound(self._guarded.aggregate.name, key)
        if self._guarded.fenced and row["lease_epoch"] != asked["epoch"]:
            return LeaseLost(key, int(str(asked["epoch"])), row["lease_epoch"])
        return WrongState(key, self._guarded.step.name, row["status"])


def state_statement(table: Table) -> Statement:
    """What the rows are now: the reason why a write missed."""
    rows = unnested("asked", {"id": table.c.id.type})
    return Statement(
        f"{table.name}.state",
        select(table.c.id, table.c.status, table.c.lease_epoch).join(rows, rows.c.id == table.c.id),
    )
