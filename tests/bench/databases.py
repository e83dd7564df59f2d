"""Connections that measure and look, apart from everything that is measured."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeAlias

import asyncpg

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@asynccontextmanager
async def connected(dsn: str) -> AsyncGenerator[Connection]:
    """A superuser's connection."""
    connection = await asyncpg.connect(dsn, timeout=10)
    try:
        yield connection
    finally:
        await connection.close(timeout=10)
