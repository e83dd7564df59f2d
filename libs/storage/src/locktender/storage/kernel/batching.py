"""Concurrent calls of one set-based statement, gathered into batches and answered one by one."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from locktender.contracts.kernel.errors import Conflict
from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.statement import Statement

BATCH = 200
"""Rows in one statement, at most."""

GATHER_SECONDS = 0.002
"""How long a batch gathers under load. A statement costs the server more than a row, so few large ones win."""

_IN_FLIGHT = 2
_OWN_FAULT = (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError)


@dataclass(slots=True)
class _Waiting:
    id: UUID
    row: Mapping[str, object]
    answer: asyncio.Future[Row | None]


class Batcher:
    """A batch of one at rest, of up to 200 rows under load.

    While fewer than two statements are in flight, what has arrived goes out at once; after a batch of more than one
    row, which is load, the next one first gathers for 2 ms. So nothing waits at rest, but for the first call after
    load, and load makes batches larger by itself. A row that breaks a constraint is tried again alone, so that it
    cannot fail its neighbours.

    `columns` are the array parameters of the statement, `shared` its scalar ones; rows are sent in the order of
    their ids, and the statement answers with one row, bearing `id`, for each that it touched.
    """

    def __init__(self, database: Database, statement: Statement, columns: Sequence[str], **shared: object) -> None:
        self._database = database
        self._statement = statement
        self._columns = tuple(columns)
        self._shared = shared
        self._waiting: deque[_Waiting] = deque()
        self._in_flight = 0
        self._loaded = False

    async def write(self, row_id: UUID, **row: object) -> Row | None:
        """The row that the statement answers for this call; None when it touched none.

        Raises:
            Conflict: the row breaks a uniqueness rule.
            OutcomeUnknown: the database went away; the row may have been written.
        """
        waiting = _Waiting(row_id, row, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._in_flight < _IN_FLIGHT:
            self._in_flight += 1
            self._database.start(self._drain())
        return await waiting.answer

    async def _drain(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(GATHER_SECONDS if self._loaded and len(self._waiting) < BATCH else 0)
                batch = self._next_batch()
                if batch:
                    self._loaded = len(batch) > 1
                    await self._run(batch)
        finally:
            self._in_flight -= 1

    def _next_batch(self) -> list[_Waiting]:
        """Up to 200 calls on different rows: two on one row in one statement would hide each other."""
        batch: dict[UUID, _Waiting] = {}
        later: list[_Waiting] = []
        while self._waiting and len(batch) < BATCH:
            waiting = self._waiting.popleft()
            if waiting.id in batch:
                later.append(waiting)
            else:
                batch[waiting.id] = waiting
        self._waiting.extendleft(reversed(later))
        return [batch[row_id] for row_id in sorted(batch)]

    async def _run(self, batch: list[_Waiting]) -> None:
        arrays: dict[str, Any] = {name: [waiting.row[name] for waiting in batch] for name in self._columns}
        try:
            rows = await self._database.fetch(self._statement, **arrays, **self._shared)
        except _OWN_FAULT as error:
            if len(batch) == 1:
                _refuse(batch[0], _named(error))
                return
            for waiting in batch:
                await self._run([waiting])
        except Exception as error:  # noqa: BLE001 - every caller gets the error; the drain lives on
            for waiting in batch:
                _refuse(waiting, error)
        else:
            answers = {row["id"]: row for row in rows}
            for waiting in batch:
                if not waiting.answer.done():
                    waiting.answer.set_result(answers.get(waiting.id))


def _refuse(waiting: _Waiting, error: Exception) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(error)


def _named(error: asyncpg.PostgresError) -> Exception:
    if isinstance(error, asyncpg.UniqueViolationError):
        return Conflict(str(error.constraint_name or "a unique rule"))
    return error
