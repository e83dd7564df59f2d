"""Versions of states between the record and the object store: bytes first, then the row that makes them count."""

import hashlib
from collections.abc import Awaitable, Callable
from uuid import UUID

import structlog

from locktender.api.stacks.states.content import StateContent
from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.integrations.objects.store import ObjectStore
from locktender.storage.kernel.database import Database, OutcomeUnknown, Row, Transaction
from locktender.storage.stacks.states import NewState

_log = structlog.stdlib.get_logger(__name__)

Record = Callable[[Transaction, NewState], Awaitable[bool]]
"""Makes a version count, or refuses. False: what counts already is the same."""


class StateDamaged(LocktenderError):
    """The object is readable, and is not the one that the row names. Nothing was given out."""


class StateKeeping:
    """Writes and reads versions. A refused write leaves nothing behind that anybody would find."""

    def __init__(self, *, database: Database, store: ObjectStore) -> None:
        self._database = database
        self._store = store

    async def write(self, stack_id: UUID, content: StateContent, record: Record) -> NewState | None:
        """Keep a version, if `record` lets it through. None: the same content counts already.

        Raises:
            LocktenderError: whatever `record` raises; nothing has changed.
            OutcomeUnknown: it may count or not. A repeat finds out.
        """
        new = content.placed(stack_id)
        await self._store.put(new.object_key, content.data, once=True)

        async def work(tx: Transaction) -> bool:
            return await record(tx, new)

        try:
            fresh = await self._database.transact(work)
        except OutcomeUnknown:
            raise
        except LocktenderError:
            await self._forget(new)
            raise
        if not fresh:
            await self._forget(new)
            return None
        return new

    async def read(self, version: Row) -> bytes:
        """The content of a version.

        Raises:
            StateDamaged, ObjectMissing, ObjectUnreadable: the store no longer has what was written.
        """
        data = await self._store.get(version["object_key"])
        if hashlib.sha256(data).hexdigest() != version["sha256"]:
            raise StateDamaged(f"the state version {version['id']} is not what was written; restore the object store")
        return data

    async def _forget(self, new: NewState) -> None:
        try:
            await self._store.delete(new.object_key)
        except Unavailable as error:
            _log.warning("a version that does not count was left in the store", key=new.object_key, reason=str(error))
