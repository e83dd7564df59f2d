"""The clock of the machine."""

import asyncio
from datetime import UTC, datetime

from locktender.contracts.kernel.clock import Clock

STAMP = "%Y-%m-%dT%H:%M:%SZ"


class LoopClock:
    """A `Clock` on the running event loop and the system's wall time."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the clock that gets injected everywhere else

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def stamp(clock: Clock) -> str:
    """The present as Kubernetes writes it: UTC, whole seconds."""
    return clock.now().strftime(STAMP)
