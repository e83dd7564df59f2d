"""What idempotency keys have made: the record is the deployments themselves."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import asyncpg
from sqlalchemy import Text, select

from locktender.contracts.kernel.errors import Conflict
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.tables import stack, stack_deployment

RULE: Final = "uq_stack_deployment_idempotency"

_s, _d = stack.c, stack_deployment.c
_KNOWN = Statement(
    "stack_deployment.known_request",
    select(_d.number, _d.request_digest, _s.name.label("stack"))
    .join(stack, _s.id == _d.stack_id)
    .where(
        _d.workspace == parameter("workspace", Text()),
        _d.created_by == parameter("by", Text()),
        _d.idempotency_key == parameter("key", Text()),
    ),
)


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """What a key has made before. The stack of this name may be another one by now."""

    stack: str
    number: int
    digest: bytes


class RequestRecord:
    """Finds what a key has made, and makes a deployment once a key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def known(self, workspace: str, by: str, key: str) -> KnownRequest | None:
        """What the key of this person has made."""
        row = await self._database.fetch_one(_KNOWN, workspace=workspace, by=by, key=key)
        return None if row is None else KnownRequest(row["stack"], row["number"], row["request_digest"])

    async def make(self, work: Callable[[Transaction], Awaitable[Row]]) -> Row:
        """Run the transaction that makes a deployment; its row.

        Raises:
            Conflict: the key was used before. Nothing was made.
            Exception: whatever `work` or `Database.transact` raise.
        """
        try:
            return await self._database.transact(work)
        except asyncpg.UniqueViolationError as error:
            if error.constraint_name != RULE:
                raise
            raise Conflict(RULE) from error
