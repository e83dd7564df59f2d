"""Two kinds of load: as fast as so many clients can, one job after the other each; and so many jobs a second."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

Enqueue = Callable[[int], Awaitable[object]]
"""Creates one job. The argument is the moment of the call, in nanoseconds of the machine's monotonic clock, which all
processes share (Linux)."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a load did: how many jobs it created, from when, until when."""

    jobs: int
    began: float
    ended: float


async def closed(clients: Sequence[Enqueue], seconds: float) -> Sent:
    """Every client creates one job after the other, for that long."""
    began = time.monotonic()
    until, counts = began + seconds, [0] * len(clients)

    async def client(place: int, enqueue: Enqueue) -> None:
        while time.monotonic() < until:
            await enqueue(time.monotonic_ns())
            counts[place] += 1

    async with asyncio.TaskGroup() as group:
        for place, enqueue in enumerate(clients):
            group.create_task(client(place, enqueue))
    return Sent(sum(counts), began, time.monotonic())


async def paced(clients: Sequence[Enqueue], rate: float, seconds: float) -> Sent:
    """`rate` jobs a second, whether or not earlier ones were answered, so that a slow answer delays nobody.

    The gaps vary by half, so that no poller keeps step with them.
    """
    began, sent = time.monotonic(), 0
    due = began
    async with asyncio.TaskGroup() as group:
        while due < began + seconds:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            enqueue = clients[sent % len(clients)]
            group.create_task(_call(enqueue))
            sent += 1
            due += random.uniform(0.5, 1.5) / rate  # noqa: S311 - no secret
    return Sent(sent, began, time.monotonic())


async def _call(enqueue: Enqueue) -> None:
    await enqueue(time.monotonic_ns())


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float, pause: float = 0.02) -> float:
    """The monotonic time at which `condition` was first seen to hold.

    Raises:
        TimeoutError: it did not within `seconds`.
    """
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - the condition is another process's
            await asyncio.sleep(pause)
    return time.monotonic()
