"""The clock that ships."""

import asyncio
import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's clocks. Satisfies `locktender.contracts.kernel.clock.Clock`."""

    def monotonic(self) -> float:
        """Seconds since some moment in the past; never goes back."""
        return time.monotonic()

    def now(self) -> datetime:
        """Wall time in UTC, for stamps that people read."""
        return datetime.now(UTC)  # noqa: TID251 - the one place that reads the wall clock

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; at once when they are not positive, but never without yielding."""
        await asyncio.sleep(max(seconds, 0.0))
