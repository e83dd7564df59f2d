"""One pull consumer's stream of messages, with one request for more outstanding at a time.

The client's own `fetch` asks twice for a batch, hides why it got nothing, and cannot be left half done; here the
messages of a request are handed over as they come, while the rest of it still waits at the server.
"""

import asyncio
import json
from collections import deque
from contextlib import suppress
from enum import Enum

import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime.bus import Bus

_log = structlog.stdlib.get_logger(__name__)

EXPIRES_SECONDS = 5.0
"""How long a request waits at the server. Short, because one that a restart swallowed is only missed by its end."""

_SLACK_SECONDS = 1.0


class Ending(Enum):
    """How a request came to its end."""

    FILLED = "filled"
    """As many messages came as were asked for."""
    EXPIRED = "expired"
    """Its time ran out at the server."""
    LOST = "lost"
    """It got no end: the connection or the server was gone in between."""
    INTERRUPTED = "interrupted"
    """We ended it ourselves."""
    MISSING = "missing"
    """There is no such consumer or stream, or no JetStream, at this moment."""


class Pull:
    """Requests to one durable consumer. Binds to it by name and never creates or changes it."""

    def __init__(self, bus: Bus, stream: str, consumer: str, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock
        self._request_subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = ""
        self._subscription: Subscription | None = None
        self._arrived: deque[Msg] = deque()
        self._changed = asyncio.Event()
        self._serial = 0
        self._wanted = 0
        self._gives_up_at = 0.0
        self._ending: Ending | None = Ending.EXPIRED
        self._remove_hook = bus.on_reconnect(self._reconnected)

    @property
    def outstanding(self) -> int:
        """Messages that the open request may still bring."""
        return self._wanted if self._ending is None else 0

    async def open(self) -> None:
        """Listen on a fresh inbox; what was outstanding on an earlier one is forgotten.

        Raises:
            Unavailable: the connection is closed.
        """
        await self._unsubscribe()
        self._inbox = self._bus.client.new_inbox()
        self._ending = Ending.EXPIRED
        self._subscription = await self._bus.subscribe(f"{self._inbox}.*", self._on_message)

    async def request(self, count: int) -> None:
        """Ask for `count` messages, to come within 5 s. The request before it must have ended.

        Raises:
            Unavailable: the connection is closed, or its buffer full.
        """
        self._serial += 1
        self._wanted, self._ending = count, None
        self._gives_up_at = self._clock.monotonic() + EXPIRES_SECONDS + _SLACK_SECONDS
        body = json.dumps({"batch": count, "expires": int(EXPIRES_SECONDS * 1e9)}).encode()
        try:
            await self._bus.publish(self._request_subject, body, reply=f"{self._inbox}.{self._serial}")
        except Unavailable:
            self._ending = Ending.LOST
            raise

    async def arrivals(self) -> tuple[list[Msg], Ending | None]:
        """What has come since the last call, waiting for something to come or for the request to end.

        Returns:
            The messages, and how the request ended; None while it is still open.
        """
        while not self._arrived and self._ending is None:
            self._changed.clear()
            remaining = self._gives_up_at - self._clock.monotonic()
            if remaining <= 0:
                self._end(Ending.LOST)
                break
            try:
                async with asyncio.timeout(remaining):
                    await self._changed.wait()
            except TimeoutError:
                self._end(Ending.LOST)
        return self.leftover(), self._ending

    def interrupt(self) -> None:
        """End the open request here; whoever waits for arrivals goes on at once."""
        self._end(Ending.INTERRUPTED)

    def leftover(self) -> list[Msg]:
        """What has come and was not handed over yet."""
        messages = list(self._arrived)
        self._arrived.clear()
        return messages

    async def close(self) -> list[Msg]:
        """Stop listening; every message that was on its way to us is returned. Never raises."""
        self._remove_hook()
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            try:
                async with asyncio.timeout(2):
                    await subscription.drain()
            except (Error, OSError, TimeoutError):
                _log.debug("the server is gone; what it had on its way will be delivered again")
        self._end(Ending.LOST)
        return self.leftover()

    async def _unsubscribe(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is None:
            return
        # Whatever is wrong with it, it is replaced.
        with suppress(Error, OSError):
            await subscription.unsubscribe()

    async def _on_message(self, message: Msg) -> None:
        status = (message.headers or {}).get("Status")
        if status is None:
            self._arrived.append(message)
            self._wanted -= 1
            if self._wanted <= 0:
                self._end(Ending.FILLED)
        elif message.subject == f"{self._inbox}.{self._serial}":
            self._on_status(status)
        self._changed.set()

    def _on_status(self, status: str) -> None:
        if status == "100":
            return
        if status == "408":
            self._end(Ending.EXPIRED)
        elif status == "503":
            self._end(Ending.MISSING)
        else:
            # 409 and the like: the consumer was deleted, its leader moved, the server stops. The next request tells.
            self._end(Ending.LOST)

    def _reconnected(self) -> None:
        # The server forgot the request together with the old connection.
        self._end(Ending.LOST)

    def _end(self, ending: Ending) -> None:
        if self._ending is None:
            self._ending = ending
        self._changed.set()
