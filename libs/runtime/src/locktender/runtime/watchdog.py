"""Noticing a consumer that brings nothing although messages wait."""

from enum import Enum

from nats.errors import Error
from nats.js.api import ConsumerInfo

from locktender.contracts.kernel.clock import Clock
from locktender.runtime.bus import Bus


class Verdict(Enum):
    """What to do about a quiet consumer."""

    FINE = "fine"
    RESUBSCRIBE = "resubscribe"
    GIVE_UP = "give up"


class Watchdog:
    """Looks at the consumer after `seconds` without a message: first it asks for a new subscription, then for the end.

    Asks the server nothing while messages arrive. A consumer that is paused, or that waits for acknowledgements it
    is owed, is not stalled.
    """

    def __init__(self, bus: Bus, stream: str, consumer: str, clock: Clock, seconds: float) -> None:
        self._bus = bus
        self._stream = stream
        self._consumer = consumer
        self._clock = clock
        self._seconds = seconds
        self._quiet_since = clock.monotonic()
        self._strikes = 0

    def saw_messages(self) -> None:
        """Messages arrived."""
        self._quiet_since = self._clock.monotonic()
        self._strikes = 0

    def saw_nothing_possible(self) -> None:
        """Nothing could arrive: no connection, no consumer, no free slot."""
        self._quiet_since = self._clock.monotonic()

    async def look(self) -> Verdict:
        """Whether something must be done. Takes up to 5 s, and only after a quiet time."""
        if self._clock.monotonic() - self._quiet_since < self._seconds:
            return Verdict.FINE
        self._quiet_since = self._clock.monotonic()
        try:
            info = await self._bus.jetstream.consumer_info(self._stream, self._consumer)
        except (Error, TimeoutError, OSError):
            return Verdict.FINE
        if not _stalled(info):
            self._strikes = 0
            return Verdict.FINE
        self._strikes += 1
        return Verdict.RESUBSCRIBE if self._strikes == 1 else Verdict.GIVE_UP


def _stalled(info: ConsumerInfo) -> bool:
    limit = info.config.max_ack_pending or 0
    may_deliver = limit <= 0 or (info.num_ack_pending or 0) < limit
    return bool(info.num_pending) and may_deliver and not info.paused
