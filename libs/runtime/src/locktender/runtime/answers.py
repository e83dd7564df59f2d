"""What a worker tells the server about the messages it was given. None of it has authority, so none of it may raise.

An answer that gets lost costs a redelivery, which finds the row already claimed.
"""

import random
from collections.abc import Awaitable, Sequence

import structlog
from nats.aio.msg import Msg
from nats.errors import Error

from locktender.contracts.kernel.backoff import Backoff
from locktender.runtime.hint import deliveries

_log = structlog.stdlib.get_logger(__name__)

_DELAY = Backoff(first=0.5, ceiling=30.0)


async def acknowledge(messages: Sequence[Msg]) -> None:
    """The claim of these rows was committed."""
    for message in messages:
        await _send(message.ack())


async def give_back(messages: Sequence[Msg], *, delay: bool) -> None:
    """Deliver these again: at once, or after a time that grows with the deliveries so far (up to 30 s)."""
    for message in messages:
        seconds = _DELAY.delay(deliveries(message), random.random()) if delay else None  # noqa: S311 - spreads load
        await _send(message.nak(delay=seconds))


async def drop(messages: Sequence[Msg]) -> None:
    """Never deliver these again: they name no row."""
    for message in messages:
        _log.error("dropped a hint that names no row", subject=message.subject)
        await _send(message.term())


async def _send(answer: Awaitable[None]) -> None:
    try:
        await answer
    except (Error, OSError) as error:
        _log.debug("could not answer a message", reason=type(error).__name__)
