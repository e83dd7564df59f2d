"""From pieces of logs on the bus to the streams of this process that follow them."""

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import UUID

from nats.aio.msg import Msg

from locktender.api.stacks.listeners import Listeners, pulsing
from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.stacks.events import OFFSET_HEADER
from locktender.runtime.bus import Bus

LOGS = "lt.log.*"
_MOST_WAITING = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a log, as it came. Nothing in it: look at the record."""

    start: int
    data: bytes


class LogFeed:
    """Collects the pieces of one log for one stream. What a slow stream leaves lying is dropped; the record has it.

    Attributes:
        alarm: the moment, in seconds of the process's clock, at which the stream wants to be woken anyway.
    """

    def __init__(self) -> None:
        self.alarm = math.inf
        self._pieces: list[Piece] = []
        self._waiting = 0
        self._look = False
        self._closed = False
        self._wake = asyncio.Event()

    @property
    def closed(self) -> bool:
        """Whether the stream has to end now."""
        return self._closed

    def offer(self, piece: Piece) -> None:
        """Take a piece. Never blocks."""
        self._waiting += len(piece.data)
        self._pieces.append(piece)
        if self._waiting > _MOST_WAITING:
            self.missed()
        self._wake.set()

    def missed(self) -> None:
        """The record has to be looked at: something was missed, or the run has ended."""
        self._pieces.clear()
        self._waiting = 0
        self._look = True
        self._wake.set()

    def due(self) -> None:
        """The alarm has come."""
        self.alarm = math.inf
        self.missed()

    def close(self) -> None:
        """End the stream."""
        self._closed = True
        self._wake.set()

    async def news(self) -> list[Piece] | None:
        """The pieces that came, as soon as there are any; None where the record has to be looked at."""
        await self._wake.wait()
        self._wake.clear()
        pieces, self._pieces, self._waiting = self._pieces, [], 0
        look, self._look = self._look, False
        return None if look else pieces


class LogTails:
    """Gives each stream a feed. One subscription serves all of them, and there is none while nobody follows a log."""

    def __init__(self, bus: Bus, group: asyncio.TaskGroup, *, most: int) -> None:
        self._bus = bus
        self.feeds: Listeners[LogFeed] = Listeners(bus, group, LOGS, self._hear, most=most)

    @property
    def connected(self) -> bool:
        """Whether pieces can arrive at this moment."""
        return self.feeds.connected

    @property
    def streams(self) -> int:
        """How many feeds are open."""
        return self.feeds.count

    async def open(self, run_id: UUID) -> LogFeed:
        """A feed of every piece from now on. Whoever opens it releases it.

        Raises:
            Unavailable: too many streams, the process is stopping, or the bus takes no subscription.
        """
        feed = LogFeed()
        await self.feeds.add(run_id, feed)
        return feed

    def release(self, run_id: UUID, feed: LogFeed) -> None:
        """Give a feed back. Returns at once."""
        self.feeds.remove(run_id, feed)

    async def tell_ended(self, run_id: UUID) -> None:
        """Wake whoever follows the log of a run that has ended, in every process. May be lost."""
        with suppress(Unavailable):
            await self._bus.publish(subjects.run_log(run_id), b"")

    def close(self) -> None:
        """End every stream at once, and open none any more."""
        self.feeds.close()

    async def _hear(self, message: Msg) -> None:
        try:
            run_id = UUID(message.subject.rpartition(".")[2])
            start = int((message.headers or {}).get(OFFSET_HEADER, "0"))
        except ValueError:
            return
        for feed in self.feeds.of(run_id):
            if message.data:
                feed.offer(Piece(start, message.data))
            else:
                feed.missed()


@asynccontextmanager
async def open_tails(bus: Bus, clock: Clock, *, most: int) -> AsyncGenerator[LogTails]:
    """Tails for the life of a process. Close them before the server drains."""
    async with asyncio.TaskGroup() as group:
        tails = LogTails(bus, group, most=most)
        async with pulsing(tails.feeds, bus, clock, group):
            yield tails
