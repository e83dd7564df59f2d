"""Template runs whose process is killed at each of their own dangerous places: what is true afterwards."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.deployments.models import ApplyState
from locktender.contracts.deployments.policy import settled
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.runner import Seen, TaskBench, task_bench
from locktender.testkit.servers import NatsServer

pytestmark = pytest.mark.takes(seconds=25)

CORE = "/api/v1/namespaces/default"
PASSWORD = {"admin_password": "open sesame"}
SHOP = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: shop}
spec:
  defaults:
    app_name: {type: string, value: 'shop-${{ random(8) }}'}
  inputs:
    admin_password: {type: password, required: true}
---
apiVersion: v1
kind: Secret
metadata: {name: '${{ defaults.app_name }}'}
stringData: {admin: '${{ inputs.admin_password }}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: '${{ defaults.app_name }}'}
---
apiVersion: v1
kind: Service
metadata: {name: '${{ defaults.app_name }}'}
spec: {selector: {app: x}, ports: [{port: 80}]}
"""


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[TaskBench]:
    async with task_bench(db, nats_server) as made:
        yield made


@asynccontextmanager
async def runner(bench: TaskBench, faults: str = "") -> AsyncGenerator[asyncio.subprocess.Process]:
    """The runner as a process, with short leases; killed when the block ends, if it still lives."""
    seed = bench.nats.seeds.get("runner")
    environment = {
        "PATH": os.defpath,
        "LOCKTENDER_DATABASE_URL": bench.db.dsn,
        "LOCKTENDER_NATS_URL": bench.nats.url,
        "LOCKTENDER_LEASE_TTL_SECONDS": "2",
        "LOCKTENDER_RENEW_SECONDS": "0.5",
        "LOCKTENDER_INSTANCE_KEY": "the key of all instances",
        "LOCKTENDER_FAULTS": faults,
    }
    if seed:
        environment["LOCKTENDER_NATS_SEED_FILE"] = str(seed)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "locktender.testkit.faulty", "runner", env=environment, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def killed(bench: TaskBench, task: UUID, faults: str) -> Seen:
    """The task after its runner was killed, once the engine has judged it or it waits for a person."""
    async with runner(bench, faults) as process, asyncio.timeout(30):
        assert await process.wait() == -signal.SIGKILL

    async def judged() -> bool:
        await bench.writes.sweep("interrupted", 10)
        return (await bench.seen(task)).status in {"failed", "blocked"}

    await eventually(judged, 20)
    return await bench.seen(task)


async def redeployed(bench: TaskBench, cluster: SandboxCluster, predecessor: UUID) -> Seen:
    """A redeploy by a runner that nobody kills."""
    async with runner(bench):
        task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=PASSWORD, predecessor=predecessor)
        return await bench.ended(task)


async def identity(bench: TaskBench, task: UUID) -> dict[str, Any] | None:
    found = await bench.db.admin.fetchval("select identity from locktender.deployment_task where id = $1", task)
    return None if found is None else json.loads(found)


async def instances(cluster: SandboxCluster, resource: str = "secrets") -> list[str]:
    _, found = await cluster.request("GET", f"{CORE}/{resource}")
    return [item["metadata"]["name"] for item in found["items"] if item["metadata"]["name"].startswith("shop-")]


async def effects(cluster: SandboxCluster) -> list[Any]:
    return [entry for entry in await cluster.ledger() if entry["task"] and not entry["dryRun"]]


async def test_before_the_park_is_recorded_the_run_was_simply_interrupted(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
    seen = await killed(bench, task, "runner.before-park=kill")
    assert seen.failure["reason"] == "interrupted"
    assert seen.row.task.asked is None
    assert await identity(bench, task) is None
    assert await cluster.ledger() == []


async def test_once_the_park_is_recorded_the_run_needs_nobody_and_goes_on_elsewhere(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
    seen = await killed(bench, task, "runner.after-park=kill")
    assert seen.status == "blocked"
    assert [field.key for field in seen.asked.inputs] == ["admin_password"]
    async with runner(bench):
        await bench.submit(task, PASSWORD, kubeconfig=cluster.kubeconfig)
        ended = await bench.ended(task)
    assert ended.status == "completed"
    assert await instances(cluster) == [ended.row.task.instance]


async def test_a_run_that_dies_with_its_answers_tells_of_an_interruption(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
    await killed(bench, task, "runner.after-park=kill")
    await bench.submit(task, PASSWORD, kubeconfig=cluster.kubeconfig)
    async with runner(bench, "runner.after-claim=kill") as process, asyncio.timeout(30):
        assert await process.wait() == -signal.SIGKILL
    await eventually(lambda: bench.writes.sweep("interrupted", 10), 20)
    seen = await bench.seen(task)
    assert seen.failure["reason"] == "interrupted"
    assert await identity(bench, task) is None
    ended = await redeployed(bench, cluster, task)
    assert ended.status == "completed"


async def test_before_the_name_is_recorded_nothing_is_there_to_be_inherited(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=PASSWORD)
    seen = await killed(bench, task, "runner.before-allocate=kill")
    assert seen.failure["reason"] == "interrupted"
    assert await identity(bench, task) is None
    assert await effects(cluster) == []
    assert {card.apply for card in settled(seen.timeline, TaskStatus.FAILED).cards} == {ApplyState.NOT_APPLIED}


async def test_once_the_name_is_recorded_a_redeploy_goes_on_under_it(bench: TaskBench, cluster: SandboxCluster) -> None:
    task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=PASSWORD)
    seen = await killed(bench, task, "runner.after-allocate=kill")
    kept = await identity(bench, task)
    assert seen.failure["reason"] == "interrupted"
    assert kept is not None
    assert await effects(cluster) == []
    ended = await redeployed(bench, cluster, task)
    assert ended.status == "completed"
    assert ended.row.task.instance == kept["instance"]
    assert await instances(cluster) == [kept["instance"]]


@pytest.mark.parametrize("nth", [1, 2])
async def test_a_death_amid_the_cleanup_leaves_no_card_that_claims_anything(
    bench: TaskBench, cluster: SandboxCluster, nth: int
) -> None:
    refused = {"verb": "patch", "resource": "services"}
    await cluster.faults(refused | {"count": 1}, refused | {"status": 422, "message": "no such colour"})
    task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=PASSWORD)
    seen = await killed(bench, task, f"runner.during-cleanup=kill@{nth}")
    assert seen.failure["reason"] == "interrupted"
    assert seen.kinds[-2:] == ["cleanup-started", "engine-resolved"]
    assert [card.apply for card in seen.timeline.cards] == [
        ApplyState.APPLYING, ApplyState.APPLYING, ApplyState.REFUSED,
    ]  # fmt: skip
    assert len(await instances(cluster)) + len(await instances(cluster, "configmaps")) == 3 - nth
    await cluster.faults()
    kept = await identity(bench, task)
    assert kept is not None
    ended = await redeployed(bench, cluster, task)
    assert ended.status == "completed"
    for resource in ("secrets", "configmaps", "services"):
        assert await instances(cluster, resource) == [kept["instance"]]
