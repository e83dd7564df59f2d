"""Databases as fixtures, for `pytest_plugins` in the top conftest; they stand on the servers of `server_fixtures`."""

from collections.abc import AsyncGenerator, Generator

import pytest

from locktender.testkit.database import TestDatabase, migrated_database, migrated_template
from locktender.testkit.servers import PostgresServer


@pytest.fixture(scope="session")
def database_template(postgres_server: PostgresServer) -> Generator[str]:
    """One migrated database for the session, to copy from."""
    with migrated_template(postgres_server) as name:
        yield name


@pytest.fixture
async def db(postgres_server: PostgresServer, database_template: str) -> AsyncGenerator[TestDatabase]:
    """A migrated database for this test alone."""
    async with migrated_database(postgres_server, database_template) as database:
        yield database


@pytest.fixture(scope="module")
async def module_db(postgres_server: PostgresServer, database_template: str) -> AsyncGenerator[TestDatabase]:
    """A migrated database for the tests of one module, which must not disturb each other's rows."""
    async with migrated_database(postgres_server, database_template) as database:
        yield database
