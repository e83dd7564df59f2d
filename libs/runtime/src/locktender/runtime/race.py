"""Waiting for whichever comes first, without leaving anything behind."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from locktender.contracts.kernel.clock import Clock
from locktender.runtime.stop import Stop


async def first_of(*waits: Coroutine[Any, Any, object]) -> int:
    """Index of the first wait to finish; the others are cancelled, and have ended when this returns.

    Raises:
        ExceptionGroup: what a wait raised, if one failed before any finished.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(wait) for wait in waits]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        winner = next(index for index, task in enumerate(tasks) if task.done())
        for task in tasks:
            task.cancel()
    return winner


async def pause(seconds: float, *, clock: Clock, stop: Stop) -> bool:
    """Sleep on `clock`, or until a stop is requested. True when it was slept to the end."""
    if stop.requested:
        return False
    return await first_of(stop.wait(), clock.sleep(seconds)) == 1
