"""Definitions that are not served yet, and namespaces that are on their way out."""

import asyncio
from typing import Any

from locktender.contracts.deployments.models import ApplyState, FailureReason
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.recorded_run import RecordedRun, direct_executor, work_for
from locktender.testkit.runner import config_maps

DEFINITION = """---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
WIDGET = "---\napiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n"


async def deployed(
    cluster: SandboxCluster, manifests: str, place: str = "default", run: RecordedRun | None = None, **bounds: Any
) -> RecordedRun:
    run = run or RecordedRun()
    await run.carry_out(direct_executor(**bounds), work_for(manifests, cluster.kubeconfig, namespace=place))
    return run


async def namespace(cluster: SandboxCluster, name: str) -> None:
    code, said = await cluster.request(
        "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    assert code == 201, said


async def held_config_map(cluster: SandboxCluster, place: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.org/held"]}}
    code, said = await cluster.request("POST", f"/api/v1/namespaces/{place}/configmaps", body)
    assert code == 201, said


async def let_go(cluster: SandboxCluster, place: str) -> None:
    code, said = await cluster.request(
        "PATCH", f"/api/v1/namespaces/{place}/configmaps/held", {"metadata": {"finalizers": None}},
        content_type="application/merge-patch+json",
    )  # fmt: skip
    assert code == 200, said


async def test_objects_of_a_kind_that_the_source_defines_wait_until_it_is_established(cluster: SandboxCluster) -> None:
    run = await deployed(cluster, WIDGET + DEFINITION)
    assert run.status == "completed", run.failure
    assert {card.apply for card in run.timeline.cards} == {ApplyState.APPLIED}
    order = [entry["name"] for entry in await cluster.ledger() if entry["task"] and not entry["dryRun"]]
    assert order == ["widgets.example.org", "w"]


async def test_a_definition_that_is_never_established_ends_the_run_and_says_why(cluster: SandboxCluster) -> None:
    taken = DEFINITION.replace("widgets.example.org", "gadgets.example.org").replace(
        "plural: widgets", "plural: gadgets"
    )
    assert (await deployed(cluster, DEFINITION)).status == "completed"
    # The kind is taken by the other definition, so its names are not accepted.
    run = await deployed(cluster, taken + WIDGET, definition=0.5)
    assert run.failure is not None
    assert run.failure[:2] == (FailureReason.RESOURCE_FAILED, "apply")
    assert "cannot be used after 0.5 s" in run.failure[2]
    assert run.card("w").apply is ApplyState.PENDING


async def test_a_namespace_that_is_being_deleted_is_waited_for_and_then_created_anew(cluster: SandboxCluster) -> None:
    await namespace(cluster, "shop")
    await held_config_map(cluster, "shop")
    await cluster.request("DELETE", "/api/v1/namespaces/shop")
    run, waits = RecordedRun(), asyncio.Event()
    run.on_write = lambda message: waits.set() if "the namespace shop is being deleted" in message else None
    source = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n" + config_maps(1)
    async with asyncio.TaskGroup() as group:
        group.create_task(deployed(cluster, source, "shop", run))
        async with asyncio.timeout(10):
            await waits.wait()
        await let_go(cluster, "shop")
    assert run.status == "completed", run.failure
    assert (await cluster.request("GET", "/api/v1/namespaces/shop/configmaps/c0"))[0] == 200


async def test_a_namespace_that_does_not_go_is_told_with_what_holds_it(cluster: SandboxCluster) -> None:
    await namespace(cluster, "shop")
    await held_config_map(cluster, "shop")
    await cluster.request("DELETE", "/api/v1/namespaces/shop")
    run = await deployed(cluster, config_maps(2), "shop", namespace=0.5)
    assert run.failure is not None
    reason, stage, message, hint = run.failure
    assert (reason, stage) == (FailureReason.NAMESPACE_TERMINATING, "prepare")
    assert "the namespace shop is still being deleted after 0.5 s" in message
    assert "finalizers" in message
    assert hint is not None
    await let_go(cluster, "shop")


async def test_an_object_that_is_being_deleted_is_waited_for_and_created_anew(cluster: SandboxCluster) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c0", "finalizers": ["example.org/held"]}}
    code, _ = await cluster.request("POST", "/api/v1/namespaces/default/configmaps", body)
    assert code == 201
    await cluster.request("DELETE", "/api/v1/namespaces/default/configmaps/c0")
    run, began = RecordedRun(), asyncio.Event()
    run.on_write = lambda message: began.set() if message.startswith("applying") else None
    async with asyncio.TaskGroup() as group:
        group.create_task(deployed(cluster, config_maps(1), run=run))
        async with asyncio.timeout(10):
            await began.wait()
        await cluster.request(
            "PATCH", "/api/v1/namespaces/default/configmaps/c0", {"metadata": {"finalizers": None}},
            content_type="application/merge-patch+json",
        )  # fmt: skip
    assert run.status == "completed", run.failure
    _, there = await cluster.request("GET", "/api/v1/namespaces/default/configmaps/c0")
    assert "deletionTimestamp" not in there["metadata"]
