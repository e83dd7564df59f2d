"""What one stream still has to look at. Small by construction: names of rows, never their content."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from locktender.contracts.deployments.events import TaskEvent

_MANY = 200
_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class News:
    """Rows that changed and rows that are gone. `everything`: something was missed, so look at all of it."""

    changed: frozenset[UUID] = frozenset()
    gone: frozenset[UUID] = frozenset()
    everything: bool = False

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone or self.everything)


EVERYTHING = News(everything=True)


class Feed:
    """Collects news for one stream until it takes them. An event after a tombstone cannot bring a row back."""

    def __init__(self, wants: Callable[[TaskEvent], bool]) -> None:
        self._wants = wants
        self._changed: set[UUID] = set()
        self._gone: set[UUID] = set()
        self._buried: dict[UUID, None] = {}
        self._everything = False
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
            self._everything = True
        self._wake.set()

    def look_at_everything(self) -> None:
        """Events may have been missed."""
        self._everything = True
        self._wake.set()

    def close(self) -> None:
        """End the stream."""
        self._closed = True
        self._wake.set()

    async def news(self, seconds: float) -> News:
        """What has come in, as soon as there is any; nothing after `seconds`, or when the feed is closed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()
        news = News(frozenset(self._changed), frozenset(self._gone), self._everything)
        self._changed.clear()
        self._gone.clear()
        self._everything = False
        return news

    def _bury(self, row_id: UUID) -> None:
        self._buried[row_id] = None
        if len(self._buried) > _REMEMBERED:
            del self._buried[next(iter(self._buried))]
