"""Nothing imports from here; rigs that tests share live in `locktender.testkit`."""

import os

import pytest
from hypothesis import settings

pytest_plugins = [
    "locktender.testkit.server_fixtures",
    "locktender.testkit.fixtures",
    "locktender.testkit.cluster_fixtures",
]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """All asynchronous tests run on asyncio, as the services do."""
    return "asyncio"


# New examples are for `make chaos` to find; a change is judged by the same ones each time.
settings.register_profile("steady", derandomize=True)
if os.environ.get("LOCKTENDER_CHAOS") != "long":
    settings.load_profile("steady")
