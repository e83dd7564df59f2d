"""Waiting for whichever comes first, whose outcome then counts alone; nothing is left behind."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def first_outcome(*waits: Coroutine[Any, Any, object]) -> int:
    """Index of the first wait to finish; the others are cancelled, and have ended when this returns.

    Raises:
        Exception: what the first wait to finish raised, as it is.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_outcome(wait)) for wait in waits]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        winner = next(index for index, task in enumerate(tasks) if task.done())
        for task in tasks:
            task.cancel()
    error = tasks[winner].result()
    if error is not None:
        raise error
    return winner


async def _outcome(wait: Coroutine[Any, Any, object]) -> Exception | None:
    """What `wait` raised. A group would otherwise wrap it."""
    try:
        await wait
    except Exception as error:  # noqa: BLE001 - raised again by the caller, as what it is
        return error
    return None
