"""The connection to NATS: what every process does with it, and no more."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error, NoRespondersError
from nats.js import JetStreamContext

from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.errors import Unavailable
from locktender.runtime.loop import Waker

_log = structlog.stdlib.get_logger(__name__)

POKE_GAP = 0.002
"""Seconds between two pokes of one subject; those in between become one."""

_CLOSE_SECONDS = 2.0

Handler = Callable[[Msg], Awaitable[None]]


class NoResponders(Unavailable):
    """Nobody listens on the subject of a request."""


class Bus:
    """A NATS connection that reconnects for ever. Made by `connect_bus`; belongs to one event loop.

    While the connection is down, publishing goes into a buffer of 8 MiB that is sent after the reconnect, and
    requests wait for their timeout. Core messages (pokes, publishes) may be lost; nothing may depend on them.
    """

    def __init__(self, client: Client, *, on_closed: Callable[[], None] | None = None) -> None:
        self._client = client
        self._on_closed = on_closed
        self._closing = False
        self._closed_by_server = False
        self._reconnect_hooks: list[Callable[[], None]] = []
        self._unsent: set[str] = set()
        self._unsent_any = asyncio.Event()
        self._jetstream: JetStreamContext | None = None
        # Owned by this object from here to `close`, which waits for its end.
        self._pokes = asyncio.get_running_loop().create_task(self._send_pokes())

    @property
    def client(self) -> Client:
        """The raw client, for protocols that are not ours (`nats.micro`)."""
        return self._client

    @property
    def jetstream(self) -> JetStreamContext:
        """The raw JetStream context; its calls have a timeout of 5 s."""
        if self._jetstream is None:
            self._jetstream = JetStreamContext(self._client, timeout=5.0)
        return self._jetstream

    @property
    def connected(self) -> bool:
        """Whether the server can be reached at this moment."""
        return self._client.is_connected

    @property
    def dead(self) -> bool:
        """Whether the connection ended for good although nobody here closed it: the process should end, too."""
        return self._closed_by_server

    async def check(self) -> None:
        """A health check.

        Raises:
            Unavailable: the server cannot be reached at this moment.
        """
        if not self.connected:
            raise Unavailable("no connection to NATS")

    def poke(self, service: str) -> None:
        """Wake `service` before its next poll. Returns at once, never raises; may be lost.

        The first poke leaves with the next turn of the event loop; those of the following 2 ms leave as one.
        """
        self._unsent.add(subjects.poke(service))
        self._unsent_any.set()

    async def on_poke(self, service: str, waker: Waker) -> None:
        """Wake `waker` at every poke of `service`, and after a reconnect, when pokes may have been missed."""

        async def wake(_message: Msg) -> None:
            waker.wake()

        await self.subscribe(subjects.poke(service), wake)
        self.on_reconnect(waker.wake)

    def on_reconnect(self, hook: Callable[[], None]) -> Callable[[], None]:
        """Call `hook` after every reconnect. Returns what takes it off again."""
        self._reconnect_hooks.append(hook)

        def remove() -> None:
            with suppress(ValueError):
                self._reconnect_hooks.remove(hook)

        return remove

    async def publish(
        self, subject: str, payload: bytes, *, headers: dict[str, str] | None = None, reply: str = ""
    ) -> None:
        """Send a core message; nobody may be listening.

        Raises:
            Unavailable: the connection is closed, or the buffer of a reconnecting one is full.
        """
        try:
            await self._client.publish(subject, payload, reply=reply, headers=headers)
        except Error as error:
            raise Unavailable(f"NATS did not take a message: {_reason(error)}") from error

    async def subscribe(self, subject: str, handle: Handler, *, queue: str = "") -> Subscription:
        """Call `handle` for every message, one after the other; a connected server knows the subscription on return.

        What `handle` raises is logged. The subscription outlives reconnects.

        Raises:
            Unavailable: the connection is closed.
        """

        async def guarded(message: Msg) -> None:
            try:
                await handle(message)
            except Exception:  # noqa: BLE001 - one bad message must not end the subscription, and the log has its stack
                _log.exception("handling a message failed", subject=subject)

        try:
            subscription = await self._client.subscribe(  # pyright: ignore[reportUnknownMemberType]  # one of its parameters
                subject, queue=queue, cb=guarded
            )
        except (Error, OSError) as error:
            raise Unavailable(f"NATS did not take a subscription: {_reason(error)}") from error
        # If the connection is lost at this moment, the reconnect makes the subscription known.
        with suppress(Error, OSError, TimeoutError):
            if self.connected:
                await self._client.flush(timeout=2)
        return subscription

    async def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription after handling what has arrived. Takes at most 2 s, never raises."""
        with suppress(Error, OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await subscription.drain()

    async def request(
        self,
        subject: str,
        payload: bytes,
        timeout: float,  # noqa: ASYNC109 - the client's own deadline, in seconds
        *,
        headers: dict[str, str] | None = None,
    ) -> bytes:
        """The body of the first reply. See `ask`."""
        return (await self.ask(subject, payload, timeout, headers=headers)).data

    async def ask(self, subject: str, payload: bytes, timeout: float, *, headers: dict[str, str] | None = None) -> Msg:  # noqa: ASYNC109 - the client's own deadline, in seconds
        """The first reply, with its headers.

        Raises:
            NoResponders: the server says that nobody listens (right after a restart it may speak too early).
            Unavailable: no reply within `timeout` seconds. A refused permission looks the same; the log has it.
        """
        try:
            return await self._client.request(subject, payload, timeout=timeout, headers=headers)
        except NoRespondersError as error:
            raise NoResponders(f"nobody answers on {subject}") from error
        except (Error, TimeoutError, OSError) as error:
            raise Unavailable(f"no answer on {subject} within {timeout:g} s: {_reason(error)}") from error

    async def close(self) -> None:
        """Send what is buffered and end the connection. Takes at most a few seconds, never raises."""
        self._closing = True
        self._pokes.cancel()
        await asyncio.wait([self._pokes])
        await close_client(self._client)

    async def reconnected(self) -> None:
        """Told by the client: the connection is back."""
        _log.info("connected to NATS again")
        for hook in tuple(self._reconnect_hooks):
            hook()

    async def disconnected(self) -> None:
        """Told by the client: the connection is gone."""
        if not self._closing:
            _log.warning("connection to NATS lost, trying to reconnect")

    async def closed(self) -> None:
        """Told by the client: there will be no other attempt."""
        if self._closing:
            return
        self._closed_by_server = True
        _log.error("connection to NATS closed for good")
        if self._on_closed is not None:
            self._on_closed()

    async def _send_pokes(self) -> None:
        while True:
            await self._unsent_any.wait()
            self._unsent_any.clear()
            unsent, self._unsent = self._unsent, set()
            for subject in unsent:
                with suppress(Error, OSError):
                    await self._client.publish(subject)
            await asyncio.sleep(POKE_GAP)


async def close_client(client: Client) -> None:
    """Close a client in any state. Its own `close` may raise or hang while the server is down."""
    with suppress(Error, OSError, TimeoutError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            if client.is_connected:
                await client.flush(timeout=1)
    # It asserts that it was connected once.
    with suppress(Error, OSError, TimeoutError, AssertionError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await client.close()


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
