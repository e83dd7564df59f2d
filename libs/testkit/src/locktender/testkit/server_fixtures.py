"""The test servers as fixtures, for `pytest_plugins = ["locktender.testkit.server_fixtures"]` in the top conftest."""

from collections.abc import Generator

import pytest

from locktender.testkit import servers


def pytest_report_header() -> str:
    """Say on which rung of the ladder this run stands."""
    return f"locktender servers: postgres {servers.database_rung()}, nats {servers.nats_rung()}"


@pytest.fixture(scope="session")
def postgres_server() -> Generator[servers.PostgresServer]:
    """One PostgreSQL for the session (for the worker, under xdist)."""
    with servers.postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def nats_server() -> Generator[servers.NatsServer]:
    """One NATS server for the session (for the worker, under xdist)."""
    with servers.nats_server() as server:
        yield server
