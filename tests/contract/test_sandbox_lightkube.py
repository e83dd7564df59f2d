"""The sandbox cluster seen through lightkube's asynchronous client."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import yaml
from lightkube import ApiError, AsyncClient, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod
from lightkube.types import CascadeType, PatchType

from locktender.testkit.cluster import sandbox_cluster

DEADLINE = 15.0
Widget = create_namespaced_resource("shop.example.dev", "v1", "Widget", "widgets")
CRD = {
    "metadata": {"name": "widgets.shop.example.dev"},
    "spec": {
        "group": "shop.example.dev",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    async with sandbox_cluster(pace=0.02) as cluster:
        config = KubeConfig.from_dict(yaml.safe_load(cluster.kubeconfig))
        client = AsyncClient(config=config, namespace="default", field_manager="light", trust_env=False)
        try:
            yield client
        finally:
            await client.close()


def deployment(name: str = "web", image: str = "nginx:1") -> Deployment:
    labels = {"app": name}
    pod = PodTemplateSpec(
        metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="main", image=image)])
    )
    spec = DeploymentSpec(selector=LabelSelector(matchLabels=labels), template=pod, replicas=2)
    return Deployment(apiVersion="apps/v1", kind="Deployment", metadata=ObjectMeta(name=name, labels=labels), spec=spec)


async def test_standard_kinds_are_created_read_patched_applied_and_deleted(client: AsyncClient) -> None:
    born = await client.create(deployment())
    read = await client.get(Deployment, "web")
    patched = await client.patch(Deployment, "web", {"spec": {"replicas": 3}}, patch_type=PatchType.MERGE)
    with pytest.raises(ApiError) as conflict:
        await client.apply(deployment(image="nginx:2"), field_manager="other")
    applied = await client.apply(deployment(image="nginx:2"), field_manager="other", force=True)
    listed = [item.metadata.name async for item in client.list(Deployment, labels={"app": "web"})]
    await client.delete(Deployment, "web", cascade=CascadeType.FOREGROUND)

    assert born.metadata.uid == read.metadata.uid
    assert patched.spec.replicas == 3
    assert (conflict.value.status.code, conflict.value.status.reason) == (409, "Conflict")
    assert applied.spec.template.spec.containers[0].image == "nginx:2"
    assert listed == ["web"]


async def test_an_update_of_a_stale_version_is_a_conflict(client: AsyncClient) -> None:
    born = await client.create(ConfigMap(metadata=ObjectMeta(name="cm"), data={"a": "1"}))
    await client.patch(ConfigMap, "cm", {"data": {"a": "2"}})
    born.data = {"a": "3"}
    with pytest.raises(ApiError) as stale:
        await client.replace(born)

    assert (stale.value.status.code, stale.value.status.reason) == (409, "Conflict")


async def test_a_watch_sees_a_deployment_become_available(client: AsyncClient) -> None:
    await client.create(deployment())
    async with asyncio.timeout(DEADLINE):
        done = await client.wait(Deployment, "web", for_conditions=["Available"])
        seen = set[str]()
        async for change, pod in client.watch(Pod, labels={"app": "web"}):
            seen.add(pod.metadata.name)
            assert change in ("ADDED", "MODIFIED")
            if len(seen) == 2:
                break

    assert done.status is not None
    assert done.status.readyReplicas == 2


async def test_namespaces_hold_their_own_objects(client: AsyncClient) -> None:
    await client.create(Namespace(metadata=ObjectMeta(name="shop")))
    await client.create(ConfigMap(metadata=ObjectMeta(name="cm", namespace="shop")))
    here = [item async for item in client.list(ConfigMap, fields={"metadata.name": "cm"})]
    there = [item.metadata.namespace async for item in client.list(ConfigMap, namespace="shop")]

    assert here == []
    assert set(there) == {"shop"}
    with pytest.raises(ApiError) as missing:
        await client.get(ConfigMap, "cm")
    assert missing.value.status.code == 404


async def test_generic_resources_of_a_custom_kind_live_as_well(client: AsyncClient) -> None:
    await client.create(CustomResourceDefinition.from_dict(CRD))
    async with asyncio.timeout(DEADLINE):
        await client.wait(CustomResourceDefinition, "widgets.shop.example.dev", for_conditions=["Established"])
    body = {"apiVersion": "shop.example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    born = await client.apply(Widget(body))
    again = await client.apply(Widget(body))
    patched = await client.patch(Widget, "w", {"spec": {"size": 2}}, patch_type=PatchType.MERGE)
    status = await client.patch(Widget.Status, "w", {"status": {"phase": "Ready"}}, patch_type=PatchType.MERGE)
    changes: list[tuple[str, int]] = []
    async with asyncio.timeout(DEADLINE):
        async for change, widget in client.watch(Widget):
            changes.append((change, widget["spec"]["size"]))
            if change == "DELETED":
                break
            await client.delete(Widget, "w")

    assert born.metadata.resourceVersion == again.metadata.resourceVersion
    assert (patched["spec"]["size"], patched.metadata.generation) == (2, 2)
    assert (status["status"], status.metadata.generation) == ({"phase": "Ready"}, 2)
    assert changes == [("ADDED", 2), ("DELETED", 2)]
