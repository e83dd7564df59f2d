"""The schema's history. Each revision runs one SQL file; a test proves that their sum is the declared metadata."""

import asyncio
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, pool
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from locktender.contracts.kernel.errors import Unavailable

HERE = Path(__file__).parent
_DEADLINE = 120.0


def statements(name: str) -> list[str]:
    """The statements of a SQL file of this folder; a blank line after a semicolon ends one."""
    text = (HERE / "sql" / name).read_text()
    return [part.strip() for part in text.split(";\n\n") if part.strip()]


async def migrate(dsn: str) -> None:
    """Bring the database to the newest revision. Several processes wait for each other; running again does nothing.

    Not twice at a time in one process: Alembic keeps what it works on in a global.

    Raises:
        Unavailable: the database cannot be reached or refused the login.
    """
    engine = create_async_engine(
        dsn.replace("postgresql://", "postgresql+asyncpg://", 1),
        poolclass=pool.NullPool,
        connect_args={"server_settings": {"lock_timeout": "30000", "application_name": "locktender-migrate"}},
    )
    try:
        async with asyncio.timeout(_DEADLINE), engine.begin() as connection:
            await connection.run_sync(_upgrade)
    except (OSError, TimeoutError, DBAPIError) as error:
        raise Unavailable(f"the schema could not be brought up to date: {type(error).__name__}") from error
    finally:
        await engine.dispose()


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(HERE))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
