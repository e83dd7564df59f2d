"""A request that is under way when the run must end: worth a moment of patience, because its answer is the truth."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Answer(Generic[T]):
    """What a request came to."""

    def __init__(self, value: T | None, error: Exception | None) -> None:
        self._value = value
        self._error = error

    def get(self) -> T:
        """The value, or the error raised."""
        if self._error is not None:
            raise self._error
        return self._value  # pyright: ignore[reportReturnType]  # without an error there is a value


async def settling(request: Awaitable[T], *, patience: Callable[[], float], late: Callable[[Answer[T]], None]) -> T:
    """The result of `request`. If the caller is cancelled meanwhile, the answer may still come for `patience()` s.

    An answer in that time goes to `late`, and the cancellation goes on. Without one, the request is cancelled, and what
    it did is unknown.
    """
    async with asyncio.TaskGroup() as group:
        under_way = group.create_task(_answered(request))
        try:
            answer = await asyncio.shield(under_way)
        except asyncio.CancelledError:
            await asyncio.wait({under_way}, timeout=patience())
            if under_way.done() and not under_way.cancelled():
                late(under_way.result())
            raise
    return answer.get()


async def _answered(request: Awaitable[T]) -> Answer[T]:
    try:
        return Answer(await request, None)
    except Exception as error:  # noqa: BLE001 - carried to the caller, who decides
        return Answer(None, error)
