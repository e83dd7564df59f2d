"""Nothing imports from here; rigs that tests share live in `locktender.testkit`."""

import pytest

pytest_plugins = [
    "locktender.testkit.server_fixtures",
    "locktender.testkit.fixtures",
    "locktender.testkit.cluster_fixtures",
]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """All asynchronous tests run on asyncio, as the services do."""
    return "asyncio"
