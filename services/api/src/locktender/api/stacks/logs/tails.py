"""From pieces of logs on the bus to the streams of this process that follow them."""

import asyncio
import math
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import UUID

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.stacks.events import OFFSET_HEADER
from locktender.runtime.bus import Bus

LOGS = "lt.log.*"
_PULSE_SECONDS = 0.25
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
            self.look()
        self._wake.set()

    def look(self) -> None:
        """The record has to be looked at: something was missed, or the run has ended."""
        self._pieces.clear()
        self._waiting = 0
        self._look = True
        self._wake.set()

    def ring(self) -> None:
        """The alarm is due."""
        self.alarm = math.inf
        self.look()

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
        self._group = group
        self._most = most
        self._feeds: dict[UUID, set[LogFeed]] = {}
        self._open = 0
        self._closed = False
        self._lock = asyncio.Lock()
        self._subscription: Subscription | None = None

    @property
    def connected(self) -> bool:
        """Whether pieces can arrive at this moment."""
        return self._bus.connected

    @property
    def streams(self) -> int:
        """How many feeds are open."""
        return self._open

    async def open(self, run_id: UUID) -> LogFeed:
        """A feed of every piece from now on. Whoever opens it releases it.

        Raises:
            Unavailable: too many streams, the process is stopping, or the bus takes no subscription.
        """
        if self._closed or self._open >= self._most:
            raise Unavailable("no further stream can be opened here")
        feed = LogFeed()
        self._feeds.setdefault(run_id, set()).add(feed)
        self._open += 1
        try:
            async with self._lock:
                if self._subscription is None:
                    self._subscription = await self._bus.subscribe(LOGS, self._hear)
        except BaseException:
            self.release(run_id, feed)
            raise
        return feed

    def release(self, run_id: UUID, feed: LogFeed) -> None:
        """Give a feed back. Returns at once; the subscription ends in the background."""
        feeds = self._feeds.get(run_id, set())
        if feed not in feeds:
            return
        feeds.discard(feed)
        self._open -= 1
        if not feeds:
            del self._feeds[run_id]
        if not self._open:
            self._group.create_task(self._leave())

    async def tell_ended(self, run_id: UUID) -> None:
        """Wake whoever follows the log of a run that has ended, in every process. May be lost."""
        with suppress(Unavailable):
            await self._bus.publish(subjects.run_log(run_id), b"")

    def look_at_everything(self) -> None:
        """Pieces may have been missed."""
        for feed in self._all():
            feed.look()

    def close(self) -> None:
        """End every stream at once, and open none any more."""
        self._closed = True
        for feed in self._all():
            feed.close()

    async def pulse(self, clock: Clock) -> None:
        """Wake every feed whose alarm is due, and all of them when the bus goes or comes back. Until cancelled."""
        connected = self.connected
        while True:
            await clock.sleep(_PULSE_SECONDS)
            now = clock.monotonic()
            for feed in self._all():
                if feed.alarm <= now:
                    feed.ring()
            if self.connected is not connected:
                connected = not connected
                self.look_at_everything()

    def _all(self) -> Iterator[LogFeed]:
        return iter([feed for feeds in self._feeds.values() for feed in feeds])

    async def _hear(self, message: Msg) -> None:
        if not self._feeds:
            return
        try:
            feeds = self._feeds.get(UUID(message.subject.rpartition(".")[2]))
            start = int((message.headers or {}).get(OFFSET_HEADER, "0"))
        except ValueError:
            return
        for feed in feeds or ():
            if message.data:
                feed.offer(Piece(start, message.data))
            else:
                feed.look()

    async def _leave(self) -> None:
        async with self._lock:
            if self._open or self._subscription is None:
                return
            subscription, self._subscription = self._subscription, None
        await self._bus.unsubscribe(subscription)


@asynccontextmanager
async def open_tails(bus: Bus, clock: Clock, *, most: int) -> AsyncGenerator[LogTails]:
    """Tails for the life of a process. Close them before the server drains."""
    async with asyncio.TaskGroup() as group:
        tails = LogTails(bus, group, most=most)
        forget = bus.on_reconnect(tails.look_at_everything)
        pulse = group.create_task(tails.pulse(clock))
        try:
            yield tails
        finally:
            forget()
            tails.close()
            pulse.cancel()
