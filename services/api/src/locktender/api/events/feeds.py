"""What one stream still has to look at. Small by construction: names of rows, never their content."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from locktender.contracts.deployments.events import TaskEvent

_MANY = 200
_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class News:
    """Rows that changed and rows that are gone.

    Attributes:
        everything: something may have been missed, so look at all of it.
        overflowed: the stream was so slow that what it missed was not kept; it has to begin anew.
    """

    changed: frozenset[UUID] = frozenset()
    gone: frozenset[UUID] = frozenset()
    everything: bool = False
    overflowed: bool = False

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone or self.everything)


EVERYTHING = News(everything=True)


class Feed:
    """Collects news for one stream until it takes them. An event after a tombstone cannot bring a row back.

    Attributes:
        alarm: the moment, in seconds of the process's clock, at which the stream wants to be woken anyway.
    """

    def __init__(self, wants: Callable[[TaskEvent], bool]) -> None:
        self.alarm = math.inf
        self._wants = wants
        self._changed: set[UUID] = set()
        self._gone: set[UUID] = set()
        self._buried: dict[UUID, None] = {}
        self._everything = False
        self._overflowed = False
        self._closed = False
        self._wake = asyncio.Event()

    @property
    def closed(self) -> bool:
        """Whether the stream has to end now."""
        return self._closed

    def offer(self, event: TaskEvent, *, tombstone: bool) -> None:
        """Take note of an event, if it concerns this stream."""
        if event.id in self._buried or not self._wants(event):
            return
        if tombstone:
            self._gone.add(event.id)
            self._changed.discard(event.id)
            self._bury(event.id)
        else:
            self._changed.add(event.id)
        if len(self._changed) + len(self._gone) > _MANY:
            self._changed.clear()
            self._gone.clear()
            self._everything = self._overflowed = True
        self._wake.set()

    def is_buried(self, row_id: UUID) -> bool:
        """Whether the row is known to be gone for good, whatever a read that began earlier says."""
        return row_id in self._buried

    def look_at_everything(self) -> None:
        """Events may have been missed."""
        self._everything = True
        self._wake.set()

    def ring(self) -> None:
        """Wake the stream, without any news: its alarm is due."""
        self.alarm = math.inf
        self._wake.set()

    def close(self) -> None:
        """End the stream."""
        self._closed = True
        self._wake.set()

    async def news(self) -> News:
        """What has come in, as soon as there is any; nothing when the alarm rang, or the feed is closed."""
        await self._wake.wait()
        self._wake.clear()
        news = News(frozenset(self._changed), frozenset(self._gone), self._everything, self._overflowed)
        self._changed.clear()
        self._gone.clear()
        self._everything = self._overflowed = False
        return news

    def _bury(self, row_id: UUID) -> None:
        self._buried[row_id] = None
        if len(self._buried) > _REMEMBERED:
            del self._buried[next(iter(self._buried))]
