"""The same race on many subjects."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def at_once(race: Callable[[T], Awaitable[None]], subjects: Sequence[T], most: int = 25) -> None:
    """One race on each subject, at most `most` at the same time."""
    room = asyncio.Semaphore(most)

    async def one(subject: T) -> None:
        async with room:
            await race(subject)

    async with asyncio.TaskGroup() as group:
        for subject in subjects:
            group.create_task(one(subject))
