"""Sandbox clusters as fixtures, for `pytest_plugins` in the top conftest."""

from collections.abc import AsyncGenerator

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster


@pytest.fixture(scope="module")
async def sandbox() -> AsyncGenerator[SandboxCluster]:
    """One cluster for the tests of a module."""
    async with sandbox_cluster() as running:
        yield running


@pytest.fixture
async def cluster(sandbox: SandboxCluster) -> SandboxCluster:
    """The module's cluster, emptied for this test."""
    await sandbox.reset()
    return sandbox
