"""One after the other, for the same task."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID


@dataclass(slots=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class Turns:
    """A lock for each task that somebody uses at the moment, and for no other."""

    def __init__(self) -> None:
        self._turns: dict[UUID, _Turn] = {}

    @asynccontextmanager
    async def of(self, task_id: UUID) -> AsyncGenerator[None]:
        """The turn of one caller; others with the same task wait. Only within this process."""
        turn = self._turns.setdefault(task_id, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[task_id]
