"""Nothing imports from here; rigs that tests share live in `locktender.testkit`."""

import gc
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that say that they take long come first: at the end, no process is left alone with one of them."""
    items.sort(key=_takes, reverse=True)


def pytest_collection_finish() -> None:
    """What collecting has made stays to the end: thousands of tests need not have it searched for garbage."""
    gc.freeze()


def _takes(item: pytest.Item) -> float:
    file = item.getparent(pytest.Module)
    said = file and file.get_closest_marker("takes")
    return float(said.kwargs["seconds"]) if said else 0.0


# How long an example takes says more about what else the machine does than about us.
settings.register_profile("patient", deadline=None)
# New examples are for `make chaos` to find; a change is judged by the same ones each time.
settings.register_profile("steady", settings.get_profile("patient"), derandomize=True)
settings.load_profile("patient" if os.environ.get("LOCKTENDER_CHAOS") == "long" else "steady")
