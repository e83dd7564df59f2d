"""Events from the bus, typed. FastStream reads and validates them, over the connection that the process has anyway."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from faststream.nats import NatsBroker, NatsMessage
from nats.aio.client import Client
from nats.errors import Error

from locktender.contracts.deployments.events import TaskEvent
from locktender.contracts.kernel.envelope import TOMBSTONE_HEADER
from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime.bus import Bus

Tell = Callable[[TaskEvent, bool], None]
"""Takes an event, and whether it is the last of its row. Must not block."""

_FLUSH_SECONDS = 2


class _SharedBroker(NatsBroker):
    """A broker on a connection that somebody else made, keeps alive and closes.

    Its own would give up reconnecting after two minutes, and would know neither our inbox nor our callbacks.
    """

    def __init__(self, client: Client) -> None:
        # Its log lines about each message are of level debug, which no service shows; failures are errors.
        super().__init__(logger=logging.getLogger("locktender.events"), log_level=logging.DEBUG)
        self._client = client

    async def _connect(self) -> Client:
        self.config.connect(self._client)
        return self._client


class Subscribed:
    """A running subscription."""

    def __init__(self, subscriber: Any) -> None:
        self._subscriber = subscriber

    async def end(self) -> None:
        """Hear nothing any more. Never raises."""
        with suppress(Error, OSError, TimeoutError):
            await self._subscriber.stop()


class EventConsumer:
    """Subscribes to subjects of deployment events. Core subscriptions: what is missed while away, is missed."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._broker = _SharedBroker(bus.client)

    async def subscribe(self, subject: str, tell: Tell) -> Subscribed:
        """Call `tell` for each event; the server knows the subscription on return, unless it is away.

        A message that is no such event is logged and skipped.

        Raises:
            Unavailable: the connection is closed.
        """

        async def on_event(event: TaskEvent, message: NatsMessage) -> None:
            tell(event, TOMBSTONE_HEADER in message.headers)

        try:
            await self._broker.connect()
            subscriber = self._broker.subscriber(subject, persistent=False, no_reply=True)
            subscriber(on_event)
            await subscriber.start()
            if self._bus.connected:
                await self._bus.client.flush(timeout=_FLUSH_SECONDS)
        except (Error, OSError, TimeoutError) as error:
            raise Unavailable("NATS did not take a subscription") from error
        return Subscribed(subscriber)
