"""One subscription of the process that serves many streams, each by what it follows."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime.bus import Bus

_PULSE_SECONDS = 0.25


class Listener(Protocol):
    """What one stream waits on.

    Attributes:
        alarm: the moment, in seconds of the process's clock, at which the stream wants to be woken anyway.
    """

    alarm: float

    def missed(self) -> None:
        """Something may have happened unheard: the record has to be looked at. Never blocks."""
        ...

    def due(self) -> None:
        """The alarm has come. Never blocks."""
        ...

    def close(self) -> None:
        """End the stream."""
        ...


L = TypeVar("L", bound=Listener)


class Listeners(Generic[L]):
    """Who listens to what. There is no subscription while nobody does.

    Args:
        hear: called with each message while somebody listens.
        most: listeners at the same time.
    """

    def __init__(
        self, bus: Bus, group: asyncio.TaskGroup, subject: str, hear: Callable[[Msg], Awaitable[None]], *, most: int
    ) -> None:
        self._bus = bus
        self._group = group
        self._subject = subject
        self._hear = hear
        self._most = most
        self._by_key: dict[UUID, set[L]] = {}
        self._count = 0
        self._closed = False
        self._lock = asyncio.Lock()
        self._subscription: Subscription | None = None

    @property
    def connected(self) -> bool:
        """Whether messages can arrive at this moment."""
        return self._bus.connected

    @property
    def count(self) -> int:
        """How many listen."""
        return self._count

    def of(self, key: UUID) -> Collection[L]:
        """Who listens to this."""
        return self._by_key.get(key, ())

    async def add(self, key: UUID, listener: L) -> None:
        """Let it hear of everything from now on. Whoever adds it removes it.

        Raises:
            Unavailable: too many listen, the process is stopping, or the bus takes no subscription.
        """
        if self._closed or self._count >= self._most:
            raise Unavailable("no further stream can be opened here")
        self._by_key.setdefault(key, set()).add(listener)
        self._count += 1
        try:
            async with self._lock:
                if self._subscription is None:
                    self._subscription = await self._bus.subscribe(self._subject, self._hear_some)
        except BaseException:
            self.remove(key, listener)
            raise

    def remove(self, key: UUID, listener: L) -> None:
        """Forget it. Returns at once; the subscription ends in the background."""
        listeners = self._by_key.get(key, set())
        if listener not in listeners:
            return
        listeners.discard(listener)
        self._count -= 1
        if not listeners:
            del self._by_key[key]
        if not self._count:
            self._group.create_task(self._leave())

    def all_missed(self) -> None:
        """Messages may have been missed."""
        for listener in self._all():
            listener.missed()

    def close(self) -> None:
        """End every stream at once, and open none any more."""
        self._closed = True
        for listener in self._all():
            listener.close()

    async def pulse(self, clock: Clock) -> None:
        """Wake whose alarm is due, and everybody when the bus goes or comes back. Until cancelled."""
        connected = self.connected
        while True:
            await clock.sleep(_PULSE_SECONDS)
            now = clock.monotonic()
            for listener in self._all():
                if listener.alarm <= now:
                    listener.due()
            if self.connected is not connected:
                connected = not connected
                self.all_missed()

    def _all(self) -> list[L]:
        return [listener for listeners in self._by_key.values() for listener in listeners]

    async def _hear_some(self, message: Msg) -> None:
        if self._by_key:
            await self._hear(message)

    async def _leave(self) -> None:
        async with self._lock:
            if self._count or self._subscription is None:
                return
            subscription, self._subscription = self._subscription, None
        await self._bus.unsubscribe(subscription)


@asynccontextmanager
async def pulsing(listeners: Listeners[L], bus: Bus, clock: Clock, group: asyncio.TaskGroup) -> AsyncGenerator[None]:
    """Wake them for as long as the block lasts; they are closed at its end."""
    forget = bus.on_reconnect(listeners.all_missed)
    pulse = group.create_task(listeners.pulse(clock))
    try:
        yield
    finally:
        forget()
        listeners.close()
        pulse.cancel()
