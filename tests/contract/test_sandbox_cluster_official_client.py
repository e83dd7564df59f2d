"""The sandbox cluster seen through the official Kubernetes client."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from kubernetes import client as k8s
from kubernetes import config as k8s_config
from kubernetes import watch as k8s_watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, UnauthorizedError

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster

T = TypeVar("T")


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster() as running:
        yield running


@contextlib.contextmanager
def api_client(kubeconfig: str) -> Iterator[k8s.ApiClient]:
    client = k8s_config.new_client_from_config_dict(yaml.safe_load(kubeconfig))
    try:
        yield client
    finally:
        client.rest_client.pool_manager.clear()
        client.close()


async def with_client(cluster: SandboxCluster, use: Callable[[k8s.ApiClient], T], *, token: str = "") -> T:
    kubeconfig = cluster.kubeconfig_for(token) if token else cluster.kubeconfig

    def run() -> T:
        with api_client(kubeconfig) as client:
            return use(client)

    return await asyncio.to_thread(run)


def deployment(name: str = "web", image: str = "nginx:1", **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "main", "image": image, "ports": [{"containerPort": 80}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        }
        | spec,
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"set": "test"}},
        "data": data,
    }


async def test_the_version_and_every_group_are_discovered(cluster: SandboxCluster, tmp_path: Path) -> None:
    def use(client: k8s.ApiClient) -> tuple[str, set[str]]:
        dynamic = DynamicClient(client, cache_file=str(tmp_path / "discovery.json"))
        wanted = ["Deployment", "Ingress", "Job", "Secret", "HorizontalPodAutoscaler", "Lease", "StorageClass"]
        found = {kind: dynamic.resources.get(kind=kind) for kind in wanted}
        return k8s.VersionApi(client).get_code().git_version, {r.group_version for r in found.values()}

    version, groups = await with_client(cluster, use)

    assert version.startswith("v1.")
    assert groups == {
        "v1",
        "apps/v1",
        "batch/v1",
        "networking.k8s.io/v1",
        "autoscaling/v2",
        "coordination.k8s.io/v1",
        "storage.k8s.io/v1",
    }


async def test_objects_are_created_read_changed_and_deleted(cluster: SandboxCluster) -> None:
    def use(client: k8s.ApiClient) -> None:
        core = k8s.CoreV1Api(client)
        created = core.create_namespaced_config_map("default", config_map("cm", a="1"))
        assert created.metadata.uid
        assert created.metadata.creation_timestamp.tzinfo is not None

        read = core.read_namespaced_config_map("cm", "default")
        read.data["b"] = "2"
        replaced = core.replace_namespaced_config_map("cm", "default", read)
        assert int(replaced.metadata.resource_version) > int(created.metadata.resource_version)

        patched = core.patch_namespaced_config_map("cm", "default", {"data": {"a": None, "c": "3"}})
        assert patched.data == {"b": "2", "c": "3"}

        patched = core.patch_namespaced_config_map("cm", "default", [{"op": "remove", "path": "/data/b"}])
        assert patched.data == {"c": "3"}

        core.delete_namespaced_config_map("cm", "default")
        with pytest.raises(ApiException) as gone:
            core.read_namespaced_config_map("cm", "default")
        assert gone.value.status == 404
        assert 'configmaps \\"cm\\" not found' in gone.value.body

    await with_client(cluster, use)


async def test_a_write_from_an_old_version_is_refused(cluster: SandboxCluster) -> None:
    def use(client: k8s.ApiClient) -> None:
        core = k8s.CoreV1Api(client)
        first = core.create_namespaced_config_map("default", config_map("cm", a="1"))
        core.patch_namespaced_config_map("cm", "default", {"data": {"a": "2"}})
        first.data = {"a": "mine"}
        with pytest.raises(ApiException) as refused:
            core.replace_namespaced_config_map("cm", "default", first)
        assert refused.value.status == 409
        assert "the object has been modified" in refused.value.body
        assert core.read_namespaced_config_map("cm", "default").data == {"a": "2"}

    await with_client(cluster, use)


async def test_lists_are_selected_by_label_and_field_and_read_in_pages(cluster: SandboxCluster) -> None:
    def use(client: k8s.ApiClient) -> None:
        core = k8s.CoreV1Api(client)
        for name in ("a", "b", "c"):
            core.create_namespaced_config_map("default", config_map(name, x=name))
        core.patch_namespaced_config_map("c", "default", {"metadata": {"labels": {"set": "other"}}})

        def names(**wanted: Any) -> list[str]:
            return [row.metadata.name for row in core.list_namespaced_config_map("default", **wanted).items]

        assert names(label_selector="set=test") == ["a", "b"]
        assert names(label_selector="set in (test, other),set!=test") == ["c"]
        assert names(label_selector="!set") == ["kube-root-ca.crt"]
        assert names(field_selector="metadata.name=b") == ["b"]
        page = core.list_namespaced_config_map("default", limit=2)
        rest = core.list_namespaced_config_map("default", limit=2, _continue=page.metadata._continue)
        assert [row.metadata.name for row in [*page.items, *rest.items]] == ["a", "b", "c", "kube-root-ca.crt"]
        assert not rest.metadata._continue
        everywhere = core.list_config_map_for_all_namespaces(label_selector="set")
        assert len(everywhere.items) == 3

    await with_client(cluster, use)


async def test_server_side_apply_reports_conflicts_until_forced(cluster: SandboxCluster, tmp_path: Path) -> None:
    def use(client: k8s.ApiClient) -> None:
        dynamic = DynamicClient(client, cache_file=str(tmp_path / "discovery.json"))
        deployments = dynamic.resources.get(api_version="apps/v1", kind="Deployment")
        deployments.server_side_apply(body=deployment(), field_manager="one")
        with pytest.raises(ConflictError) as conflict:
            deployments.server_side_apply(body=deployment(image="nginx:2"), field_manager="two")
        assert 'conflict with \\"one\\"' in conflict.value.body
        assert '.spec.template.spec.containers[name=\\"main\\"].image' in conflict.value.body
        forced = deployments.server_side_apply(
            body=deployment(image="nginx:2"), field_manager="two", force_conflicts=True
        )
        assert forced.spec.template.spec.containers[0].image == "nginx:2"
        with pytest.raises(ConflictError):
            deployments.server_side_apply(body=deployment(), field_manager="one")

    await with_client(cluster, use)


async def test_a_deployment_becomes_ready_and_reads_as_the_typed_client_expects(cluster: SandboxCluster) -> None:
    def use(client: k8s.ApiClient) -> None:
        apps, core = k8s.AppsV1Api(client), k8s.CoreV1Api(client)
        apps.create_namespaced_deployment("default", deployment())
        states = []
        for event in k8s_watch.Watch().stream(apps.list_namespaced_deployment, "default", timeout_seconds=20):
            status = event["object"].status
            states.append(status.ready_replicas or 0)
            if status.available_replicas == 2 and status.observed_generation == 1:
                break
        assert states[-1] == 2
        assert states == sorted(states)
        done = apps.read_namespaced_deployment("web", "default")
        reasons = {c.type: (c.status, c.reason) for c in done.status.conditions}
        assert reasons["Available"] == ("True", "MinimumReplicasAvailable")
        assert reasons["Progressing"] == ("True", "NewReplicaSetAvailable")
        pods = core.list_namespaced_pod("default", label_selector="app=web", field_selector="status.phase=Running")
        assert len(pods.items) == 2
        assert all(pod.status.container_statuses[0].ready for pod in pods.items)
        assert pods.items[0].metadata.owner_references[0].kind == "ReplicaSet"
        assert core.list_node().items[0].status.node_info.kubelet_version

    await with_client(cluster, use)


async def test_a_watch_continues_from_a_version_and_misses_nothing(cluster: SandboxCluster) -> None:
    def use(client: k8s.ApiClient) -> list[tuple[str, str]]:
        core = k8s.CoreV1Api(client)
        start = core.list_namespaced_config_map("default").metadata.resource_version
        core.create_namespaced_config_map("default", config_map("a", x="1"))
        core.patch_namespaced_config_map("a", "default", {"data": {"x": "2"}})
        core.delete_namespaced_config_map("a", "default")
        core.create_namespaced_config_map("default", config_map("b", x="1"))
        seen = k8s_watch.Watch().stream(
            core.list_namespaced_config_map, "default", resource_version=start, timeout_seconds=1
        )
        return [(event["type"], event["object"].metadata.name) for event in seen]

    seen = await with_client(cluster, use)

    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b")]


async def test_a_watch_sees_objects_enter_and_leave_its_selector(cluster: SandboxCluster) -> None:
    def use(client: k8s.ApiClient) -> list[tuple[str, str]]:
        core = k8s.CoreV1Api(client)
        start = core.list_namespaced_config_map("default").metadata.resource_version
        core.create_namespaced_config_map("default", config_map("a", x="1"))
        for value in ("other", "test"):
            core.patch_namespaced_config_map("a", "default", {"metadata": {"labels": {"set": value}}})
        seen = k8s_watch.Watch().stream(
            core.list_namespaced_config_map,
            "default",
            resource_version=start,
            label_selector="set=test",
            timeout_seconds=1,
        )
        return [(event["type"], event["object"].metadata.name) for event in seen]

    assert await with_client(cluster, use) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]


async def test_a_watch_from_a_forgotten_version_is_told_so(cluster: SandboxCluster) -> None:
    def start(client: k8s.ApiClient) -> str:
        core = k8s.CoreV1Api(client)
        version = core.list_namespaced_config_map("default").metadata.resource_version
        core.create_namespaced_config_map("default", config_map("a", x="1"))
        return version

    version = await with_client(cluster, start)
    await cluster.compact()

    def use(client: k8s.ApiClient) -> None:
        core = k8s.CoreV1Api(client)
        with pytest.raises(ApiException) as expired:
            list(
                k8s_watch.Watch().stream(
                    core.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=2
                )
            )
        assert expired.value.status == 410
        assert "too old resource version" in expired.value.reason

    await with_client(cluster, use)


async def test_an_open_watch_ends_when_the_client_goes_away(cluster: SandboxCluster) -> None:
    began = threading.Event()

    def use(client: k8s.ApiClient) -> None:
        stream = k8s.CoreV1Api(client).list_namespaced_config_map("default", watch=True, _preload_content=False)
        began.set()
        stream.close()

    await with_client(cluster, use)
    assert began.is_set()
    # The fixture closes the server afterwards; a watch that lingered would hold it up beyond its grace.


async def test_tokens_expire_and_rules_deny(cluster: SandboxCluster, tmp_path: Path) -> None:
    deny = {"effect": "deny", "verbs": ["patch"], "groups": ["apps"], "resources": ["deployments"]}
    denied = await cluster.add_token("robot", rules=(deny,))
    expired = await cluster.add_token("ghost", expires_in=0)

    def use_denied(client: k8s.ApiClient) -> None:
        apps = k8s.AppsV1Api(client)
        assert apps.list_namespaced_deployment("default").items == []
        with pytest.raises(ApiException) as refused:
            apps.patch_namespaced_deployment("web", "default", {"spec": {"replicas": 3}})
        assert refused.value.status == 403
        assert (
            'deployments.apps \\"web\\" is forbidden: User \\"robot\\" cannot patch resource \\"deployments\\" '
            'in API group \\"apps\\" in the namespace \\"default\\"'
        ) in refused.value.body

    def use_expired(client: k8s.ApiClient) -> None:
        with pytest.raises(UnauthorizedError):
            DynamicClient(client, cache_file=str(tmp_path / "discovery.json")).resources.get(kind="Pod")

    await with_client(cluster, use_denied, token=denied)
    await with_client(cluster, use_expired, token=expired)


async def test_deleting_a_deployment_takes_its_pods_along(cluster: SandboxCluster, tmp_path: Path) -> None:
    def use(client: k8s.ApiClient) -> None:
        apps, core = k8s.AppsV1Api(client), k8s.CoreV1Api(client)
        apps.create_namespaced_deployment("default", deployment())
        for event in k8s_watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=20):
            if event["object"].status.phase == "Running":
                break
        version = core.list_namespaced_pod("default").metadata.resource_version
        apps.delete_namespaced_deployment("web", "default", propagation_policy="Background")
        gone = 0
        for event in k8s_watch.Watch().stream(
            core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=20
        ):
            gone += event["type"] == "DELETED"
            if gone == 2:
                break
        assert core.list_namespaced_pod("default").items == []
        dynamic = DynamicClient(client, cache_file=str(tmp_path / "discovery.json"))
        with pytest.raises(NotFoundError):
            dynamic.resources.get(api_version="apps/v1", kind="Deployment").get("web", "default")

    await with_client(cluster, use)
