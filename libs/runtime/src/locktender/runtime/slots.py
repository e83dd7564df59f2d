"""How much may run at once."""

import asyncio


class Slots:
    """A bound on concurrency. Belongs to one event loop and, because a fetch reserves what is free, to one worker."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError("a worker needs at least one slot")
        self.size = size
        self._free = size
        self._freed = asyncio.Event()

    @property
    def free(self) -> int:
        """Slots that nothing occupies."""
        return self._free

    def take(self, count: int) -> None:
        """Occupy `count` slots; more than are free may be taken, and then none is free until as many are given back."""
        self._free -= count
        if self._free <= 0:
            self._freed.clear()

    def give_back(self, count: int) -> None:
        """Let `count` slots go."""
        self._free += count
        if self._free > 0:
            self._freed.set()

    async def wait_free(self) -> None:
        """Return once a slot is free."""
        if self._free <= 0:
            self._freed.clear()
            await self._freed.wait()
