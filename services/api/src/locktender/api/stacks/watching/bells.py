"""From events of stacks on the bus to the streams of this process that follow deployments."""

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID

from nats.aio.msg import Msg
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from locktender.api.stacks.listeners import Listeners, pulsing
from locktender.contracts.kernel.clock import Clock
from locktender.runtime.bus import Bus

EVENTS_OF_STACKS = "lt.evt.*.stacks.>"


class _Event(BaseModel):
    """What is read of an event: whose it is. Events of stacks themselves name only themselves."""

    model_config = ConfigDict(defer_build=True, extra="ignore", frozen=True)

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

    def missed(self) -> None:
        """Something may have changed. Never blocks."""
        self._rang = True
        self._wake.set()

    def due(self) -> None:
        """The alarm has come."""
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
        self.hung: Listeners[Bell] = Listeners(bus, group, EVENTS_OF_STACKS, self._hear, most=most)

    @property
    def connected(self) -> bool:
        """Whether events can arrive at this moment."""
        return self.hung.connected

    @property
    def streams(self) -> int:
        """How many bells are hung."""
        return self.hung.count

    async def hang(self, stack_id: UUID) -> Bell:
        """A bell that hears of everything from now on. Whoever hangs it takes it down.

        Raises:
            Unavailable: too many streams, the process is stopping, or the bus takes no subscription.
        """
        bell = Bell()
        await self.hung.add(stack_id, bell)
        return bell

    def take_down(self, stack_id: UUID, bell: Bell) -> None:
        """Give a bell back. Returns at once."""
        self.hung.remove(stack_id, bell)

    def close(self) -> None:
        """End every stream at once, and open none any more."""
        self.hung.close()

    async def _hear(self, message: Msg) -> None:
        try:
            event = _Event.model_validate_json(message.data)
        except ValidationError:
            return
        for bell in self.hung.of(event.stack_id or event.id):
            bell.missed()


@asynccontextmanager
async def open_bells(bus: Bus, clock: Clock, *, most: int) -> AsyncGenerator[tuple[Bells, asyncio.TaskGroup]]:
    """Bells for the life of a process, and the group of what goes on in the background. Close them before the drain."""
    async with asyncio.TaskGroup() as group:
        bells = Bells(bus, group, most=most)
        async with pulsing(bells.hung, bus, clock, group):
            yield bells, group
