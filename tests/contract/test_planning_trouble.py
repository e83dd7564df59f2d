"""What a plan says when the cluster is busy, broken, slow or away."""

from collections.abc import AsyncIterator

import pytest

from locktender.contracts.deployments.plan import PlannedAction, WarningCode
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeUnauthorized, KubeUnavailable
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.planning import codes, config_map, fresh_client, job, planned, secret, surveyed


@pytest.fixture(scope="module")
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster() as running:
        yield running


@pytest.fixture
async def client(cluster: SandboxCluster) -> AsyncIterator[KubeClient]:
    async with fresh_client(cluster) as opened:
        yield opened


async def test_one_answer_of_a_busy_cluster_does_not_end_the_survey(
    client: KubeClient, cluster: SandboxCluster
) -> None:
    await cluster.faults({"verb": "patch", "status": 429, "count": 2})
    found = await planned(client, config_map("one"), config_map("two"), config_map("three"))
    assert {document.action for document in found} == {PlannedAction.CREATE}


async def test_an_object_that_breaks_the_server_is_unknown_and_the_others_are_planned(
    client: KubeClient, cluster: SandboxCluster
) -> None:
    await cluster.faults({"verb": "patch", "name": "two", "status": 500})
    one_, two, three = await planned(client, config_map("one"), config_map("two"), config_map("three"))
    assert (one_.action, two.action, three.action) == (
        PlannedAction.CREATE,
        PlannedAction.UNKNOWN,
        PlannedAction.CREATE,
    )
    assert codes(two) == {WarningCode.NOT_DRY_RUN}


async def test_a_cluster_that_is_away_or_knows_nobody_is_an_error_for_the_caller(cluster: SandboxCluster) -> None:
    text = cluster.kubeconfig.replace(cluster.server, "https://127.0.0.1:9")
    async with KubeClient(read_kubeconfig(text)) as client:
        with pytest.raises(KubeUnavailable):
            await surveyed(client, config_map())
    async with KubeClient(read_kubeconfig(cluster.kubeconfig_for("wrong"))) as client:
        with pytest.raises(KubeUnauthorized):
            await surveyed(client, config_map())


async def test_when_time_is_over_what_was_not_asked_is_unknown(client: KubeClient, cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "patch", "resource": "secrets", "silent": True})
    map_, hidden = await planned(client, config_map(), secret(a="1"), seconds=1)
    assert (map_.action, hidden.action) == (PlannedAction.CREATE, PlannedAction.UNKNOWN)
    assert "1 s" in (hidden.message or "")
    await cluster.faults({"silent": True})
    with pytest.raises(KubeUnavailable):
        await surveyed(client, job(), seconds=0.3)


async def test_hundreds_of_documents_are_planned(client: KubeClient) -> None:
    found = await surveyed(client, *(config_map(f"c{number}") for number in range(200)), seconds=60)
    assert found.plan.summary.create == 200
