"""From events of stacks on the bus to the streams of this process that follow deployments."""

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime.bus import Bus

EVENTS_OF_STACKS = "lt.evt.*.stacks.>"
_PULSE_SECONDS = 0.25


class _Event(BaseModel):
    """What is read of an event: whose it is. Events of stacks themselves name only themselves."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: UUID
    stack_id: UUID | None = Field(default=None, alias="stackId")


class Bell:
    """Wakes one stream. However often it rings, there is one look to be taken.

    Attributes:
        alarm: the moment, in seconds of the process's clock, at which the stream wants to be woken anyway.
    """

    def __init__(self) -> None:
        self.alarm = math.inf
        self._rang = True
        self._closed = False
        self._wake = asyncio.Event()

    @property
    def closed(self) -> bool:
        """Whether the stream has to end now."""
        return self._closed

    def ring(self) -> None:
        """Something may have changed. Never blocks."""
        self._rang = True
        self._wake.set()

    def wake(self) -> None:
        """The alarm is due."""
        self.alarm = math.inf
        self._wake.set()

    def close(self) -> None:
        """End the stream."""
        self._closed = True
        self._wake.set()

    def rang(self) -> bool:
        """Whether it rang since this was asked before. A new bell has rung."""
        rang, self._rang = self._rang, False
        return rang

    async def woken(self) -> None:
        """Return when it rings, wakes or closes; at once if that happened since the last return."""
        await self._wake.wait()
        self._wake.clear()


class Bells:
    """Gives each stream a bell, which rings at every event of its stack: who is ahead is a part of what is shown.

    One subscription serves all of them, and there is none while nobody follows. Events may be lost; see `Lookout`.
    """

    def __init__(self, bus: Bus, group: asyncio.TaskGroup, *, most: int) -> None:
        self._bus = bus
        self._group = group
        self._most = most
        self._hung: dict[UUID, set[Bell]] = {}
        self._open = 0
        self._closed = False
        self._lock = asyncio.Lock()
        self._subscription: Subscription | None = None

    @property
    def connected(self) -> bool:
        """Whether events can arrive at this moment."""
        return self._bus.connected

    @property
    def streams(self) -> int:
        """How many bells are hung."""
        return self._open

    async def hang(self, stack_id: UUID) -> Bell:
        """A bell that hears of everything from now on. Whoever hangs it takes it down.

        Raises:
            Unavailable: too many streams, the process is stopping, or the bus takes no subscription.
        """
        if self._closed or self._open >= self._most:
            raise Unavailable("no further stream can be opened here")
        bell = Bell()
        self._hung.setdefault(stack_id, set()).add(bell)
        self._open += 1
        try:
            async with self._lock:
                if self._subscription is None:
                    self._subscription = await self._bus.subscribe(EVENTS_OF_STACKS, self._hear)
        except BaseException:
            self.take_down(stack_id, bell)
            raise
        return bell

    def take_down(self, stack_id: UUID, bell: Bell) -> None:
        """Give a bell back. Returns at once; the subscription ends in the background."""
        hung = self._hung.get(stack_id, set())
        if bell not in hung:
            return
        hung.discard(bell)
        self._open -= 1
        if not hung:
            del self._hung[stack_id]
        if not self._open:
            self._group.create_task(self._leave())

    def ring_all(self) -> None:
        """Events may have been missed."""
        for bell in self._all():
            bell.ring()

    def close(self) -> None:
        """End every stream at once, and open none any more."""
        self._closed = True
        for bell in self._all():
            bell.close()

    async def pulse(self, clock: Clock) -> None:
        """Wake every stream whose alarm is due, and ring for all when the bus goes or comes back. Until cancelled."""
        connected = self.connected
        while True:
            await clock.sleep(_PULSE_SECONDS)
            now = clock.monotonic()
            for bell in self._all():
                if bell.alarm <= now:
                    bell.wake()
            if self.connected is not connected:
                connected = not connected
                self.ring_all()

    def _all(self) -> list[Bell]:
        return [bell for hung in self._hung.values() for bell in hung]

    async def _hear(self, message: Msg) -> None:
        if not self._hung:
            return
        try:
            event = _Event.model_validate_json(message.data)
        except ValidationError:
            return
        for bell in self._hung.get(event.stack_id or event.id, ()):
            bell.ring()

    async def _leave(self) -> None:
        async with self._lock:
            if self._open or self._subscription is None:
                return
            subscription, self._subscription = self._subscription, None
        await self._bus.unsubscribe(subscription)


@asynccontextmanager
async def open_bells(bus: Bus, clock: Clock, *, most: int) -> AsyncGenerator[tuple[Bells, asyncio.TaskGroup]]:
    """Bells for the life of a process, and the group of what goes on in the background. Close them before the drain."""
    async with asyncio.TaskGroup() as group:
        bells = Bells(bus, group, most=most)
        forget = bus.on_reconnect(bells.ring_all)
        pulse = group.create_task(bells.pulse(clock))
        try:
            yield bells, group
        finally:
            forget()
            bells.close()
            pulse.cancel()
