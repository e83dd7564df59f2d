"""A clock that moves only when a test says so."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count

_START = datetime(2030, 1, 1, tzinfo=UTC)
_TURNS = 20


class FakeClock:
    """Implements `locktender.contracts.kernel.clock.Clock`. Time stands still between two advances.

    A sleeper wakes when the clock reaches its moment; sleepers wake in the order of their moments. Not thread-safe.
    """

    def __init__(self, start: datetime = _START) -> None:
        self._start = start
        self._elapsed = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def monotonic(self) -> float:
        """Seconds that the test let pass."""
        return self._elapsed

    def now(self) -> datetime:
        """The start plus the seconds that the test let pass."""
        return self._start + timedelta(seconds=self._elapsed)

    async def sleep(self, seconds: float) -> None:
        """Return once the clock was moved on by `seconds`; at once, after a turn of the loop, for zero or less."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), wake))
        await wake

    @property
    def asleep(self) -> int:
        """How many tasks sleep on this clock now."""
        return sum(not wake.done() for _, _, wake in self._sleepers)

    def advance(self, seconds: float) -> None:
        """Move on by `seconds` in one jump and wake whoever is due. The woken run when the caller next awaits."""
        self._jump(self._elapsed + seconds)

    async def elapse(self, seconds: float) -> None:
        """Move on by `seconds` and let the woken work: whoever sleeps again within that time wakes again."""
        end = self._elapsed + seconds
        await _settle()
        while (due := self._next_due()) is not None and due <= end:
            self._jump(due)
            await _settle()
        self._jump(end)
        await _settle()

    async def until_asleep(self, tasks: int = 1) -> None:
        """Return when at least `tasks` tasks sleep on this clock.

        Raises:
            TimeoutError: that did not happen within five real seconds.
        """
        async with asyncio.timeout(5):
            while self.asleep < tasks:  # noqa: ASYNC110 - the sleepers are unaware of who watches
                await asyncio.sleep(0)

    def _next_due(self) -> float | None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def _jump(self, to: float) -> None:
        if to < self._elapsed:
            raise ValueError("a clock does not go back")
        self._elapsed = to
        while (due := self._next_due()) is not None and due <= to:
            heapq.heappop(self._sleepers)[2].set_result(None)


async def _settle() -> None:
    """Give woken tasks some turns of the loop, enough for a chain of a few awaits."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)
