"""The client against a cluster over real HTTP and TLS."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from locktender.contracts.deployments.observed import Related
from locktender.contracts.deployments.readiness import CardStatus, assess, pod_selector
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.client import KubeClient, Outcome
from locktender.integrations.kube.errors import (
    KubeConflict,
    KubeDenied,
    KubeInvalid,
    KubeNotFound,
    KubeUnauthorized,
    KubeUnavailable,
    KubeUnknownKind,
    Outage,
    WatchExpired,
)
from locktender.integrations.kube.explain import explain
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.retry import retrying
from locktender.integrations.kube.watching import Change
from locktender.testkit.clock import FakeClock
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": "shop:1"}]},
        },
    },
}


def config_map(name: str = "settings", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"set": "a"}}, "data": data}


def ref(kind: str, name: str, api_version: str = "v1", namespace: str | None = None) -> ObjectRef:
    return ObjectRef(api_version=api_version, kind=kind, name=name, namespace=namespace)


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster() as running:
        yield running


@pytest.fixture
async def client(cluster: SandboxCluster) -> AsyncIterator[KubeClient]:
    async with KubeClient(read_kubeconfig(cluster.kubeconfig)) as opened:
        yield opened


async def test_the_version_is_told(client: KubeClient) -> None:
    assert (await client.version())["gitVersion"]


async def test_an_apply_says_whether_it_created_changed_or_left_alone(client: KubeClient) -> None:
    assert (await client.apply(config_map(a="1"))).outcome is Outcome.CREATED
    assert (await client.apply(config_map(a="1"))).outcome is Outcome.UNCHANGED
    changed = await client.apply(config_map(a="2"))
    assert changed.outcome is Outcome.CHANGED
    assert changed.body["data"] == {"a": "2"}
    found = await client.get(ref("ConfigMap", "settings"))
    assert found is not None
    assert found["data"] == {"a": "2"}


async def test_a_dry_run_says_the_same_and_changes_nothing(client: KubeClient) -> None:
    assert (await client.apply(config_map(a="1"), dry_run=True)).outcome is Outcome.CREATED
    assert await client.get(ref("ConfigMap", "settings")) is None
    await client.apply(config_map(a="1"))
    assert (await client.apply(config_map(a="1"), dry_run=True)).outcome is Outcome.UNCHANGED
    assert (await client.apply(config_map(a="2"), dry_run=True)).outcome is Outcome.CHANGED
    found = await client.get(ref("ConfigMap", "settings"))
    assert found is not None
    assert found["data"] == {"a": "1"}


async def test_objects_go_to_their_own_namespace_before_the_given_one(client: KubeClient) -> None:
    for name in ("one", "two"):
        await client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, namespace="ignored")
    own = config_map()
    own["metadata"]["namespace"] = "one"
    assert (await client.apply(own, namespace="two")).body["metadata"]["namespace"] == "one"
    assert (await client.apply(config_map(), namespace="two")).body["metadata"]["namespace"] == "two"
    assert await client.get(ref("ConfigMap", "settings"), namespace="two") is not None


async def test_a_missing_namespace_is_told_as_such(client: KubeClient) -> None:
    with pytest.raises(KubeNotFound, match="the namespace nowhere does not exist"):
        await client.apply(config_map(), namespace="nowhere")


async def test_a_conflict_names_the_other_manager_and_the_field_and_force_takes_it_over(client: KubeClient) -> None:
    await client.apply(config_map(a="1"), field_manager="somebody")
    with pytest.raises(KubeConflict) as caught:
        await client.apply(config_map(a="2"))
    [cause] = caught.value.causes
    assert (cause.manager, cause.field) == ("somebody", "data.a")
    assert "data.a is managed by somebody" in str(caught.value)
    assert explain(caught.value)[0] == "apply-conflict"
    assert (await client.apply(config_map(a="2"), force=True)).outcome is Outcome.CHANGED


async def test_an_apply_to_a_version_that_is_gone_changes_nothing(client: KubeClient) -> None:
    first = (await client.apply(config_map(a="1"))).body["metadata"]["resourceVersion"]
    await client.apply(config_map(a="2"), resource_version=first)
    with pytest.raises(KubeConflict) as caught:
        await client.apply(config_map(a="3"), resource_version=first)
    assert caught.value.causes == ()


async def test_an_unknown_field_is_refused_by_name(client: KubeClient) -> None:
    with pytest.raises(KubeInvalid, match="replicsa") as caught:
        await client.apply({**WEB, "spec": {**WEB["spec"], "replicsa": 3}})
    assert explain(caught.value)[0] == "invalid-manifest"


async def test_an_unknown_kind_is_told_with_advice(client: KubeClient) -> None:
    for api_version, kind in (("v1", "Widget"), ("example.com/v1", "Widget")):
        with pytest.raises(KubeUnknownKind, match=f"does not know Widget in {api_version}") as caught:
            await client.resource_for(api_version, kind)
        assert explain(caught.value)[0] == "unknown-kind"


async def test_missing_rights_are_told_with_verb_and_resource(cluster: SandboxCluster) -> None:
    rules = ({"effect": "deny", "verbs": ["patch"], "resources": ["deployments"]},)
    token = await cluster.add_token("reader", rules=rules)
    async with KubeClient(read_kubeconfig(cluster.kubeconfig_for(token))) as client:
        with pytest.raises(KubeDenied, match=r"may not patch deployments\.apps in namespace default") as caught:
            await client.apply(WEB)
    assert (caught.value.verb, caught.value.resource) == ("patch", "deployments")
    assert explain(caught.value)[0] == "denied"


async def test_an_account_that_may_write_and_not_read_can_apply(cluster: SandboxCluster) -> None:
    rules = ({"effect": "deny", "verbs": ["get"], "resources": ["configmaps"]},)
    token = await cluster.add_token("writer", rules=rules)
    async with KubeClient(read_kubeconfig(cluster.kubeconfig_for(token))) as client:
        assert (await client.apply(config_map(a="1"))).outcome is Outcome.CREATED
        assert (await client.apply(config_map(a="1"))).outcome is Outcome.CHANGED


async def test_a_wrong_token_is_told_and_never_repeated(cluster: SandboxCluster) -> None:
    async with KubeClient(read_kubeconfig(cluster.kubeconfig_for("canary-token"))) as client:
        with pytest.raises(KubeUnauthorized, match="wrong or has expired") as caught:
            await client.apply(WEB)
    assert "canary" not in str(caught.value)
    assert explain(caught.value)[0] == "unauthorized"


async def test_a_server_that_nobody_vouches_for_is_not_trusted(cluster: SandboxCluster) -> None:
    access = replace(read_kubeconfig(cluster.kubeconfig), ca_pem=None)
    async with KubeClient(access) as client:
        with pytest.raises(KubeUnavailable, match="certificate is not trusted") as caught:
            await client.version()
    assert caught.value.outage is Outage.TLS
    assert not caught.value.transient
    assert explain(caught.value)[0] == "cluster-unreachable"


async def test_an_address_where_nobody_listens_is_unreachable(cluster: SandboxCluster) -> None:
    access = replace(read_kubeconfig(cluster.kubeconfig), server="https://127.0.0.1:1")
    async with KubeClient(access) as client:
        with pytest.raises(KubeUnavailable) as caught:
            await client.version()
    assert caught.value.outage is Outage.UNREACHABLE


async def test_a_server_that_does_not_speak_tls_is_told_as_such(cluster: SandboxCluster) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-canary\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with (
        server,
        KubeClient(replace(read_kubeconfig(cluster.kubeconfig), server=f"https://127.0.0.1:{port}")) as client,
    ):
        with pytest.raises(KubeUnavailable) as caught:
            await client.version()
    assert caught.value.outage is Outage.TLS


async def test_an_answer_that_does_not_come_is_given_up(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "get", "resource": "configmaps", "latency": 30})
    async with KubeClient(read_kubeconfig(cluster.kubeconfig), read_seconds=0.2) as client:
        with pytest.raises(KubeUnavailable) as caught:
            await client.get(ref("ConfigMap", "settings"))
    assert caught.value.outage is Outage.TIMEOUT
    await cluster.faults()


@pytest.mark.parametrize("fault", [{"drop": True}, {"cut": True}])
async def test_an_answer_that_breaks_off_is_no_answer(
    cluster: SandboxCluster, client: KubeClient, fault: dict[str, Any]
) -> None:
    await client.apply(config_map())
    await cluster.faults({"verb": "get", "resource": "configmaps", **fault})
    with pytest.raises(KubeUnavailable) as caught:
        await client.get(ref("ConfigMap", "settings"))
    assert caught.value.outage is Outage.BROKEN


async def test_an_answer_beyond_the_bound_is_not_read(cluster: SandboxCluster, client: KubeClient) -> None:
    await client.apply(config_map(a="x" * 10_000))
    async with KubeClient(read_kubeconfig(cluster.kubeconfig), body_limit=5_000) as narrow:
        with pytest.raises(KubeUnavailable, match="larger than 5000 bytes"):
            await narrow.get(ref("ConfigMap", "settings"))


@pytest.mark.parametrize(
    "fault", [{"status": 503}, {"status": 429, "retry_after": 1}, {"drop": True}, {"status": 500, "after": True}]
)
async def test_trouble_that_passes_is_sat_out(
    cluster: SandboxCluster, client: KubeClient, fault: dict[str, Any]
) -> None:
    await cluster.faults({"verb": "patch", "count": 3, **fault})
    clock = FakeClock()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        work = group.create_task(retrying(lambda: client.apply(config_map(a="1")), clock=clock, deadline_seconds=60))
        while not work.done():
            clock.advance(1.0)
            await asyncio.sleep(0.01)
    assert work.result().body["data"] == {"a": "1"}
    assert (await cluster.fault_table())["rules"][0]["hits"] == 3


async def test_lists_go_page_by_page_and_stop_at_their_bound(client: KubeClient) -> None:
    for number in range(7):
        await client.apply(config_map(f"m{number}"))
    resource = await client.resource_for("v1", "ConfigMap")
    everything = await client.list(resource, "default", label_selector="set=a")
    assert [item["metadata"]["name"] for item in everything.items] == [f"m{n}" for n in range(7)]
    assert everything.complete
    assert everything.items[0]["kind"] == "ConfigMap"
    some = await client.list(resource, "default", label_selector="set=a", at_most=4)
    assert (len(some.items), some.complete) == (4, False)
    assert (await client.list(resource, "default", label_selector="set=b")).items == []
    assert len((await client.list(resource, field_selector="metadata.name=m3")).items) == 1


async def test_a_watch_tells_changes_and_ends_by_itself(client: KubeClient) -> None:
    resource = await client.resource_for("v1", "ConfigMap")
    start = (await client.list(resource, "default")).resource_version
    await client.apply(config_map(a="1"))
    await client.apply(config_map(a="2"))
    seen = []
    async with asyncio.timeout(15):
        async for event in client.watch(
            resource, "default", resource_version=start, label_selector="set=a", timeout_seconds=1
        ):
            if event.change is not Change.BOOKMARK:
                seen.append((event.change, event.body["data"]))
            assert event.resource_version
    assert seen == [(Change.ADDED, {"a": "1"}), (Change.MODIFIED, {"a": "2"})]


async def test_a_watch_can_be_left_early(client: KubeClient) -> None:
    resource = await client.resource_for("v1", "ConfigMap")
    await client.apply(config_map(a="1"))
    async with (
        asyncio.timeout(10),
        aclosing(client.watch(resource, resource_version="0", timeout_seconds=300)) as events,
    ):
        async for event in events:
            assert event.body
            break


async def test_a_watch_from_a_forgotten_version_is_expired(cluster: SandboxCluster, client: KubeClient) -> None:
    resource = await client.resource_for("v1", "ConfigMap")
    start = (await client.list(resource, "default")).resource_version
    for number in range(3):
        await client.apply(config_map(a=str(number)))
    await cluster.compact()
    with pytest.raises(WatchExpired):
        async for _ in client.watch(resource, "default", resource_version=start, timeout_seconds=5):
            pass


async def test_nothing_a_server_says_about_a_secret_is_repeated(cluster: SandboxCluster, client: KubeClient) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db"},
        "stringData": {"password": "canary-value"},
    }
    for status in (400, 403, 409, 422, 500):
        await cluster.faults(
            {"verb": "patch", "resource": "secrets", "status": status, "message": "invalid: canary-value"}
        )
        with pytest.raises(Exception, match=r"Secret db|the cluster") as caught:
            await client.apply(secret)
        assert "canary" not in str(caught.value)
        assert "canary" not in explain(caught.value)[1]


async def test_a_deployment_becomes_ready_by_the_truth_table(client: KubeClient) -> None:
    await client.apply(WEB)
    resource = await client.resource_for("v1", "Pod")
    async with asyncio.timeout(20):
        while True:
            web = await client.get(ref("Deployment", "web", "apps/v1"))
            assert web is not None
            pods = (await client.list(resource, "default", label_selector=pod_selector(web))).items
            verdict = assess(web, Related(pods=pods))
            assert verdict.status in {CardStatus.PENDING, CardStatus.CREATING, CardStatus.RUNNING}
            if verdict.status is CardStatus.RUNNING:
                break
            await asyncio.sleep(0.02)
    assert verdict.message == "2 of 2 replicas available"
    assert len(pods) == 2
