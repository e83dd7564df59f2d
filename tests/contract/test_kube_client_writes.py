"""What the client's writes guarantee: preconditions, ownership that passes over, deletion of exactly one object."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.client import ABSENT, KubeClient, Outcome
from locktender.integrations.kube.errors import KubeConflict, KubeUnavailable, Outage
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.live import live_of
from locktender.integrations.kube.ownership import handover
from locktender.testkit.cluster import SandboxCluster

SETTINGS = ObjectRef(api_version="v1", kind="ConfigMap", name="settings")


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}


@pytest.fixture
async def client(cluster: SandboxCluster) -> AsyncIterator[KubeClient]:
    async with KubeClient(read_kubeconfig(cluster.kubeconfig)) as opened:
        yield opened


async def test_an_object_that_is_known_is_not_read_again(client: KubeClient, cluster: SandboxCluster) -> None:
    created = await client.apply(config_map(a="1"), known=ABSENT)
    assert created.outcome is Outcome.CREATED
    await cluster.faults({"verb": "get", "resource": "configmaps", "status": 500})
    assert (await client.apply(config_map(a="1"), known=created.live)).outcome is Outcome.UNCHANGED
    changed = await client.apply(config_map(a="2"), known=created.live)
    assert changed.outcome is Outcome.CHANGED
    assert changed.live == live_of(changed.body)


async def test_a_write_at_a_version_that_has_passed_is_refused(client: KubeClient) -> None:
    first = await client.apply(config_map(a="1"))
    await client.apply(config_map(a="2"))
    with pytest.raises(KubeConflict) as refused:
        await client.apply(config_map(a="3"), resource_version=first.live.resource_version)
    assert refused.value.causes == ()


async def test_a_write_is_given_up_after_its_seconds(client: KubeClient, cluster: SandboxCluster) -> None:
    await client.apply(config_map(a="1"))
    await cluster.faults({"verb": "patch", "latency": 20.0})
    with pytest.raises(KubeUnavailable, match=r"within 0.2 s") as silent:
        await client.apply(config_map(a="2"), seconds=0.2)
    assert silent.value.outage is Outage.TIMEOUT


async def test_the_server_is_asked_to_give_up_as_well() -> None:
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        if request.method == "GET":
            return httpx.Response(
                200, json={"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]}
            )
        headers = [
            ("warning", '299 - "v1 ConfigMap is \\"old\\""'),
            ("warning", '299 - "one", 299 - "two"'),
            ("warning", '299 - "one"'),
        ]
        return httpx.Response(201, json=config_map(a="1"), headers=headers)

    async with KubeClient(ClusterAccess("https://cluster.example"), transport=httpx.MockTransport(answer)) as client:
        applied = await client.apply(config_map(a="1"), known=ABSENT, seconds=4.5)
        assert asked[-1].params["timeout"] == "4500ms"
        assert applied.warnings == ('v1 ConfigMap is "old"', "one", "two")
        secret = await client.apply(config_map(a="1") | {"kind": "ConfigMap"}, known=ABSENT)
        assert "timeout" not in asked[-1].params
        assert secret.warnings


async def test_ownership_passes_over_without_a_change_of_the_object(
    client: KubeClient, cluster: SandboxCluster
) -> None:
    body = config_map(a="1", b="2")
    path = "/api/v1/namespaces/default/configmaps?fieldManager=kubectl-client-side-apply"
    code, before = await cluster.request("POST", path, body)
    assert code == 201
    change = handover(before, ["kubectl-client-side-apply"])
    assert change is not None
    after = await client.hand_over(SETTINGS, change)
    assert after["data"] == before["data"]
    assert (await client.apply(config_map(a="1"))).body["data"] == {"a": "1"}


async def test_ownership_of_an_object_that_moved_on_is_left_alone(client: KubeClient, cluster: SandboxCluster) -> None:
    path = "/api/v1/namespaces/default/configmaps?fieldManager=kubectl-client-side-apply"
    _, before = await cluster.request("POST", path, config_map(a="1"))
    change = handover(before, ["kubectl-client-side-apply"])
    assert change is not None
    await client.apply(config_map(c="3"), field_manager="other")
    with pytest.raises(KubeConflict):
        await client.hand_over(SETTINGS, change)


async def test_only_the_object_that_was_read_is_deleted(client: KubeClient) -> None:
    first = await client.apply(config_map(a="1"))
    assert await client.delete(SETTINGS, uid=first.live.uid)
    assert await client.get(SETTINGS) is None
    assert not await client.delete(SETTINGS, uid=first.live.uid)
    second = await client.apply(config_map(a="1"))
    with pytest.raises(KubeConflict):
        await client.delete(SETTINGS, uid=first.live.uid)
    await client.apply(config_map(a="2"))
    with pytest.raises(KubeConflict):
        await client.delete(SETTINGS, uid=second.live.uid, resource_version=second.live.resource_version)
    assert await client.get(SETTINGS) is not None
