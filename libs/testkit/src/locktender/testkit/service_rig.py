"""Whole services inside the test's own process, and crashes of them at a named place."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from nats.js.errors import NotFoundError

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.contracts.kernel.ids import new_owner
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.runtime.connect import connect_bus
from locktender.runtime.health import Health
from locktender.runtime.race import first_of
from locktender.runtime.service import Service
from locktender.runtime.settings import ProcessSettings
from locktender.runtime.stop import Stop

S = TypeVar("S", bound=ProcessSettings)


@dataclass(frozen=True, slots=True)
class Running(Generic[S]):
    """A service that runs, and the way to make it die."""

    service: Service[S]
    _dead: asyncio.Event

    def crash(self) -> None:
        """End it here and now: nothing is finished and nothing given back."""
        self._dead.set()


@asynccontextmanager
async def running(
    name: str,
    main: Callable[[Service[S]], Awaitable[None]],
    settings: S,
    *,
    faults: FaultPoints = NO_FAULTS,
    clock: Clock | None = None,
) -> AsyncGenerator[Running[S]]:
    """Run `main` as `run_service` would, until the block ends; then stop it in good order.

    Raises:
        ExceptionGroup: what `main` raised.
    """
    stop = Stop()
    real: Clock = clock or SystemClock()
    bus = await connect_bus(settings, name, clock=real, on_closed=stop.request)
    try:
        service = Service(name, new_owner(settings.instance), stop, real, bus, settings, Health(stop), faults)
        dead = asyncio.Event()

        async def body() -> None:
            await main(service)

        async with asyncio.TaskGroup() as group:
            group.create_task(first_of(body(), dead.wait()))
            try:
                yield Running(service, dead)
            finally:
                stop.request()
    finally:
        await bus.close()


class StopAt:
    """Fault points of which one is never left, as if the process had been frozen there."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.reached = asyncio.Event()

    async def reach(self, name: str) -> None:
        """Does not return at the chosen place."""
        if name == self._place:
            self.reached.set()
            await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as a stream holds it."""

    seq: int
    subject: str
    headers: dict[str, str]
    body: bytes


async def stored(bus: Bus, stream: str) -> list[Stored]:
    """Every message of a stream, in order; none when there is no such stream. For a few hundred of them."""
    try:
        state = (await bus.jetstream.stream_info(stream)).state
    except NotFoundError:
        return []
    messages: list[Stored] = []
    for seq in range(max(state.first_seq, 1), state.last_seq + 1):
        try:
            message = await bus.jetstream.get_msg(stream, seq)
        except NotFoundError:
            continue
        headers: dict[str, str] = message.headers or {}  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]  # bare in the client
        messages.append(Stored(seq, message.subject or "", headers, message.data or b""))
    return messages
