"""Many live workloads cost a sandbox cluster nothing while nothing happens."""

import asyncio
import time
from typing import Any

from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.controllers.loop import ControllerLoop
from locktender.embedded.cluster.controllers.pace import Pace
from locktender.embedded.cluster.writes import Author
from locktender.testkit.cluster_rig import deployment

MANY = 60
SOMEBODY = Author("somebody")


def budget(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}}}


def service(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}}


async def test_many_ready_deployments_are_idle() -> None:
    cluster = Cluster()
    kinds = {
        "deployments.apps": deployment,
        "services": service,
        "poddisruptionbudgets.policy": budget,
    }
    async with asyncio.TaskGroup() as group:
        controllers = group.create_task(ControllerLoop(cluster, Pace(factor=0.01)).run())
        await asyncio.sleep(0)
        for number in range(MANY):
            for kind, body in kinds.items():
                cluster.writer.create(cluster.registry.named(kind), "default", body(f"web-{number}"), SOMEBODY)
            await asyncio.sleep(0)
        async with asyncio.timeout(60):
            while sum(row.get("status", {}).get("readyReplicas", 0) for row in rows(cluster)) < MANY:  # noqa: ASYNC110 - the controllers tell nobody
                await asyncio.sleep(0.05)
        version = await settled(cluster)
        began = time.process_time()
        await asyncio.sleep(1)
        spent = time.process_time() - began
        controllers.cancel()

    assert cluster.store.version == version
    assert spent < 0.05


def rows(cluster: Cluster) -> list[dict[str, Any]]:
    return cluster.store.select("deployments.apps")


async def settled(cluster: Cluster) -> int:
    """The version once nothing has changed for a moment."""
    async with asyncio.timeout(20):
        while True:
            version = cluster.store.version
            await asyncio.sleep(0.3)
            if version == cluster.store.version:
                return version
