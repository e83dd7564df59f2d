"""A reader of server-sent events in the background of a test."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from locktender.testkit.api import RunningApi, ServerEvent
from locktender.testkit.nats_rig import eventually


class Listener:
    """Reads a stream, from `listen` on. What has come stands in `events`, without the first reconnect time."""

    def __init__(self, api: RunningApi, path: str, **headers: str) -> None:
        self._stream = api.stream(path, **headers)
        self.events: list[ServerEvent] = []
        self.ended = False

    async def listen(self) -> None:
        """Read until the stream ends."""
        async with aclosing(self._stream):
            async for event in self._stream:
                if event.name != "retry":
                    self.events.append(event)
        self.ended = True

    @property
    def names(self) -> list[str]:
        """The names of the events so far; comments are none."""
        return [event.name for event in self.events if event.name != "comment"]

    @property
    def last_id(self) -> str:
        """What a browser would send as `Last-Event-ID`."""
        return next((event.id for event in reversed(self.events) if event.id is not None), "")

    def told(self, name: str) -> list[Any]:
        """The data of every event of this name."""
        return [json.loads(event.data) for event in self.events if event.name == name]

    async def until(self, name: str, count: int = 1) -> ServerEvent:
        """The event of this name that comes as the `count`-th.

        Raises:
            TimeoutError: it did not come in time.
        """
        await eventually(lambda: self.names.count(name) >= count)
        return [event for event in self.events if event.name == name][count - 1]


@asynccontextmanager
async def listening(api: RunningApi, path: str, **headers: str) -> AsyncGenerator[Listener]:
    """A listener that reads for as long as the block lasts."""
    listener = Listener(api, path, **headers)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.listen())
        yield listener
        task.cancel()
