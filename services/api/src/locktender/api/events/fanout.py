"""From events on the bus to the streams of this process."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from locktender.api.events.consumer import EventConsumer, Subscribed
from locktender.api.events.feeds import Feed
from locktender.contracts.deployments.events import TaskEvent
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime.bus import Bus

_PULSE_SECONDS = 0.25
"""How exactly a stream is woken at its alarm. One pulse serves all of them, and an idle stream costs none."""


@dataclass(slots=True)
class _Topic:
    feeds: set[Feed] = field(default_factory=set[Feed])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    subscribed: Subscribed | None = None


class Fanout:
    """Gives each stream a feed. A subject is subscribed to while at least one stream wants it, and only then.

    So a process without streams hears no events at all, and one that watches a single task hears those of that task.
    After a reconnect of the bus every feed is told to look at everything again.
    """

    def __init__(self, bus: Bus, consumer: EventConsumer, group: asyncio.TaskGroup, *, most: int) -> None:
        self._bus = bus
        self._consumer = consumer
        self._group = group
        self._most = most
        self._topics: dict[str, _Topic] = {}
        self._companions: list[asyncio.Task[None]] = []
        self._open = 0
        self._closed = False

    @property
    def connected(self) -> bool:
        """Whether events can arrive at this moment."""
        return self._bus.connected

    @property
    def streams(self) -> int:
        """How many feeds are open."""
        return self._open

    async def open(self, subject: str, wants: Callable[[TaskEvent], bool]) -> Feed:
        """A feed that hears of everything from now on. Whoever opens it releases it.

        Raises:
            Unavailable: too many streams, the process is stopping, or the bus takes no subscription.
        """
        if self._closed or self._open >= self._most:
            raise Unavailable("no further stream can be opened here")
        feed = Feed(wants)
        topic = self._topics.setdefault(subject, _Topic())
        topic.feeds.add(feed)
        self._open += 1
        try:
            async with topic.lock:
                if topic.subscribed is None:
                    topic.subscribed = await self._consumer.subscribe(subject, _told(topic))
        except BaseException:
            self.release(subject, feed)
            raise
        return feed

    def release(self, subject: str, feed: Feed) -> None:
        """Give a feed back. Returns at once; the subscription ends in the background."""
        topic = self._topics.get(subject)
        if topic is None or feed not in topic.feeds:
            return
        topic.feeds.discard(feed)
        self._open -= 1
        if not topic.feeds:
            self._group.create_task(self._end(subject, topic))

    def look_at_everything(self) -> None:
        """Tell every feed that events may have been missed."""
        for feed in self._feeds():
            feed.look_at_everything()

    def accompany(self, work: Coroutine[None, None, None]) -> None:
        """Run `work` in the background until the fan-out has ended; then it is cancelled."""
        self._companions.append(self._group.create_task(work))

    def close(self) -> None:
        """End every stream at once, and open none any more."""
        self._closed = True
        for feed in self._feeds():
            feed.close()

    def leave_companions(self) -> None:
        """End what runs in the background."""
        for companion in self._companions:
            companion.cancel()

    async def pulse(self, clock: Clock) -> None:
        """Wake every feed whose alarm is due, and all of them when the events stop or come back. Until cancelled."""
        connected = self.connected
        while True:
            await clock.sleep(_PULSE_SECONDS)
            now = clock.monotonic()
            for feed in self._feeds():
                if feed.alarm <= now:
                    feed.ring()
            if self.connected is not connected:
                connected = not connected
                self.look_at_everything()

    def _feeds(self) -> Iterator[Feed]:
        for topic in self._topics.values():
            yield from topic.feeds

    async def _end(self, subject: str, topic: _Topic) -> None:
        async with topic.lock:
            if topic.feeds:
                return
            if self._topics.get(subject) is topic:
                del self._topics[subject]
            subscribed, topic.subscribed = topic.subscribed, None
        if subscribed is not None:
            await subscribed.end()


@asynccontextmanager
async def open_fanout(
    bus: Bus, consumer: EventConsumer, clock: Clock, *, most: int
) -> AsyncGenerator[tuple[Fanout, asyncio.TaskGroup]]:
    """A fan-out, and the group that owns what it does in the background; both end with the context."""
    async with asyncio.TaskGroup() as group:
        fanout = Fanout(bus, consumer, group, most=most)
        forget = bus.on_reconnect(fanout.look_at_everything)
        fanout.accompany(fanout.pulse(clock))
        try:
            yield fanout, group
        finally:
            forget()
            fanout.close()
            fanout.leave_companions()


def _told(topic: _Topic) -> Callable[[TaskEvent, bool], None]:
    def tell(event: TaskEvent, tombstone: bool) -> None:  # noqa: FBT001 - the shape of a consumer's callback
        for feed in topic.feeds:
            feed.offer(event, tombstone=tombstone)

    return tell
