"""Closing that is not left half done."""

import asyncio
from collections.abc import Coroutine
from typing import Any

_SECONDS = 2.0


async def to_the_end(closing: Coroutine[Any, Any, None]) -> None:
    """Run `closing` although the caller is cancelled meanwhile, for two seconds more at most; then let that go on.

    A pool that is interrupted while it closes forgets its other connections without closing them.
    """
    async with asyncio.TaskGroup() as group:
        under_way = group.create_task(closing)
        try:
            await asyncio.shield(under_way)
        except asyncio.CancelledError:
            await asyncio.wait({under_way}, timeout=_SECONDS)
            raise
