"""A sweep over rows of stacks: it finds what is due, and mends each in a transaction of its own under the stack's lock.

What is due is asked twice: first without any lock, for many rows, and again under the lock, for the one. A row that
cannot be mended, or whose stack somebody works on at this moment, is passed over and keeps no other from its turn.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, ColumnElement, Table, Uuid, func, select

from locktender.contracts.kernel.errors import Unavailable
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.tables import stack

_ROUNDS: Final = 5
_AWAY_AFTER: Final = 3
"""Rows in a row for which the database was not there, after which the sweep gives up."""

Facts: TypeAlias = Mapping[str, object]
Mend: TypeAlias = Callable[[Transaction, Row, Row], Awaitable[Facts]]
"""Called with the stack's locked row and the locked row that is due; what there is to say about it."""

_LOCK_IF_FREE = Statement(
    "stack.lock_if_free",
    select(*stack.c).where(stack.c.id == parameter("stack_id", Uuid())).with_for_update(skip_locked=True),
)


class Due:
    """The two questions about one kind of rows. `condition` may have parameters; `order` is who comes first."""

    def __init__(self, name: str, table: Table, condition: ColumnElement[bool], order: ColumnElement[object]) -> None:
        of = table.c.id if table is stack else table.c.stack_id
        self.many = Statement(
            f"{table.name}.{name}",
            select(table.c.id, of.label("stack_id"))
            .where(condition, table.c.id != func.all(parameter("passed", ARRAY(Uuid()))))
            .order_by(order)
            .limit(parameter("limit", BigInteger())),
        )
        self.one = Statement(
            f"{table.name}.{name}_still",
            select(*table.c).where(table.c.id == parameter("id", Uuid()), condition).with_for_update(),
        )


@dataclass(frozen=True, slots=True)
class Mended:
    """One row that was dealt with."""

    id: UUID
    stack_id: UUID
    facts: Facts

    def __str__(self) -> str:
        return str(self.id)


@dataclass(frozen=True, slots=True)
class RowSweep:
    """One kind of rows and what is done about them.

    Attributes:
        name: what was wrong or due, kebab-case.
        given: values of the parameters of the condition.
        defect: it should never find anything; what it mends is a fault of ours, or of somebody with psql.
    """

    name: str
    due: Due
    mend: Mend
    given: Mapping[str, object] = field(default_factory=dict[str, object])
    defect: bool = False

    async def run(self, database: Database, limit: int, *, failed: Callable[[UUID, Exception], None]) -> list[Mended]:
        """Mend about `limit` rows. `failed` is told of each row that raised; the others are mended all the same.

        Raises:
            Unavailable: the database is away.
        """
        passed: list[UUID] = []
        mended: list[Mended] = []
        away = 0
        for _ in range(_ROUNDS):
            found = await database.fetch(self.due.many, limit=limit, passed=passed, **self.given)
            for row in found:
                passed.append(row["id"])
                try:
                    done = await database.transact(_One(self, row["id"], row["stack_id"]))
                except Unavailable as error:
                    away += 1
                    if away >= _AWAY_AFTER:
                        raise
                    failed(row["id"], error)
                except Exception as error:  # noqa: BLE001 - one row must not keep the others from their turn
                    failed(row["id"], error)
                else:
                    away = 0
                    mended += [] if done is None else [done]
            if len(found) < limit or len(mended) >= limit:
                break
        return mended


@dataclass(frozen=True, slots=True)
class _One:
    sweep: RowSweep
    id: UUID
    stack_id: UUID

    async def __call__(self, tx: Transaction) -> Mended | None:
        owner = await tx.fetch_one(_LOCK_IF_FREE, stack_id=self.stack_id)
        if owner is None:
            return None
        row = await tx.fetch_one(self.sweep.due.one, id=self.id, **self.sweep.given)
        if row is None:
            return None
        return Mended(self.id, self.stack_id, await self.sweep.mend(tx, owner, row))
