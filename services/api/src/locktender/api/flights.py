"""Reads that many wait for, made once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class _Flight(Generic[V]):
    waiting: list[asyncio.Future[V]] = field(default_factory=list["asyncio.Future[V]"])


class Flights(Generic[K, V]):
    """At most one read of a key at a time.

    Whoever asks while one is under way gets the next: the one under way may have begun before what they heard of. So
    any number of callers costs one read, and one trailing read.
    """

    def __init__(self, group: asyncio.TaskGroup, read: Callable[[K], Awaitable[V]]) -> None:
        self._group = group
        self._read = read
        self._flights: dict[K, _Flight[V]] = {}

    async def read(self, key: K) -> V:
        """A value read after this call was made. Raises what the read raises."""
        answer: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight()
            flight.waiting.append(answer)
            self._group.create_task(self._fly(key, flight))
        else:
            flight.waiting.append(answer)
        return await answer

    async def _fly(self, key: K, flight: _Flight[V]) -> None:
        try:
            while flight.waiting:
                waiting, flight.waiting = flight.waiting, []
                await self._answer(key, waiting)
        finally:
            del self._flights[key]
            for answer in flight.waiting:
                answer.cancel()

    async def _answer(self, key: K, waiting: list["asyncio.Future[V]"]) -> None:
        try:
            value = await self._read(key)
        except Exception as error:  # noqa: BLE001 - whoever asked gets it
            for answer in waiting:
                if not answer.done():
                    answer.set_exception(error)
        else:
            for answer in waiting:
                if not answer.done():
                    answer.set_result(value)
