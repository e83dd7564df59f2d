"""What a plan says, against a cluster over real HTTP: dry runs only, and true."""

import json
from collections.abc import AsyncIterator

import pytest

from locktender.contracts.deployments.plan import PlannedAction, WarningCode
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.naming import named
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.planning import (
    DEFINITION,
    EARLIER,
    TASK,
    WIDGET,
    Body,
    applied,
    autoscaler,
    codes,
    config_map,
    defined,
    deployment,
    fresh_client,
    job,
    namespace,
    one,
    planned,
    secret,
    surveyed,
)


@pytest.fixture(scope="module")
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster() as running:
        yield running


@pytest.fixture
async def client(cluster: SandboxCluster) -> AsyncIterator[KubeClient]:
    async with fresh_client(cluster) as opened:
        yield opened


async def test_what_is_not_there_is_created_and_nothing_is_written(client: KubeClient, cluster: SandboxCluster) -> None:
    found = await surveyed(client, deployment(), config_map(a="1"))
    assert [document.action for document in found.plan.documents] == [PlannedAction.CREATE] * 2
    assert found.plan.summary.create == 2
    assert found.live == {}
    assert [document.ref.kind for document in found.plan.documents] == ["ConfigMap", "Deployment"]
    assert {document.ref.namespace for document in found.plan.documents} == {"default"}
    assert all(entry.get("dryRun") for entry in await cluster.ledger()), await cluster.ledger()


async def test_what_an_earlier_run_applied_is_unchanged_and_remembered(client: KubeClient) -> None:
    await applied(client, config_map(a="1"))
    found = await surveyed(client, config_map(a="1"))
    (document,) = found.plan.documents
    assert (document.action, document.changes) == (PlannedAction.UNCHANGED, ())
    assert found.live[0].stamp == EARLIER
    assert found.live[0].resource_version


async def test_changes_are_told_field_by_field(client: KubeClient) -> None:
    await applied(client, deployment("shop:1", 2))
    document = await one(client, deployment("shop:2", 3))
    assert document.action is PlannedAction.CHANGE
    assert {(change.path, change.before, change.after) for change in document.changes} == {
        ("spec.replicas", "2", "3"),
        ("spec.template.spec.containers[name=web].image", '"shop:1"', '"shop:2"'),
    }


async def test_a_field_that_is_no_longer_written_goes_away(client: KubeClient) -> None:
    await applied(client, config_map(a="1", b="2"))
    document = await one(client, config_map(a="1"))
    assert [(change.path, change.before, change.after) for change in document.changes] == [("data.b", '"2"', None)]


async def test_no_value_of_a_secret_is_in_a_plan(client: KubeClient) -> None:
    await applied(client, secret(password="old-canary-1", same="old-canary-2"), config_map(copy="old"))
    bodies = secret(password="new-canary-3", same="old-canary-2"), config_map(copy="new-canary-3")
    found = await surveyed(client, *bodies)
    text = found.plan.model_dump_json()
    assert "canary" not in text
    assert "b2xkLWNhbmFyeS0x" not in text
    of_secret, of_copy = found.plan.documents
    assert [(change.path, change.masked) for change in of_secret.changes] == [("data.password", True)]
    assert [(change.path, change.masked) for change in of_copy.changes] == [("data.copy", True)]


async def test_a_conflict_names_manager_and_field_and_force_takes_the_field_over(client: KubeClient) -> None:
    await client.apply(config_map(a="1"), field_manager="gitops")
    document = await one(client, config_map(a="2"))
    assert document.action is PlannedAction.CONFLICT
    assert [(each.manager, each.field) for each in document.conflicts] == [("gitops", "data.a")]
    assert document.hint
    forced = await one(client, config_map(a="2"), force=True)
    assert forced.action is PlannedAction.CHANGE
    assert "data.a" in {change.path for change in forced.changes}


async def test_ownership_that_passes_over_is_no_conflict_and_foretells_what_goes_away(
    client: KubeClient, cluster: SandboxCluster
) -> None:
    path = "/api/v1/namespaces/default/configmaps?fieldManager=kubectl-client-side-apply"
    status, _ = await cluster.request("POST", path, config_map(a="1", b="2"))
    assert status == 201
    document = await one(client, config_map(a="9"))
    assert document.action is PlannedAction.CHANGE
    assert {(change.path, change.before, change.after) for change in document.changes} >= {
        ("data.a", '"1"', '"9"'),
        ("data.b", '"2"', None),
    }
    assert codes(document) == {WarningCode.MIGRATED_OWNERSHIP}
    kept = await one(client, config_map(a="9"), migrate_from=())
    assert kept.action is PlannedAction.CONFLICT


async def test_a_field_that_cannot_change_is_refused_unless_its_kind_may_be_replaced(client: KubeClient) -> None:
    await applied(client, job("work:1"))
    document = await one(client, job("work:2"))
    assert (document.action, document.reason) == (PlannedAction.REFUSED, "immutable-field")
    assert document.hint
    assert codes(document) == {WarningCode.IMMUTABLE_CHANGE}
    assert [(change.before, change.after) for change in document.changes] == [('"work:1"', '"work:2"')]
    replaced = await one(client, job("work:2"), replace=("Job",))
    assert (replaced.action, replaced.reason) == (PlannedAction.REPLACE, None)
    assert codes(replaced) == {WarningCode.IMMUTABLE_CHANGE}
    other = await one(client, job("work:2"), replace=("StatefulSet",))
    assert other.action is PlannedAction.REFUSED


async def test_what_the_cluster_does_not_take_is_refused_in_words(client: KubeClient) -> None:
    body = deployment()
    body["spec"]["replicaz"] = 3
    document = await one(client, body)
    assert (document.action, document.reason) == (PlannedAction.REFUSED, "invalid-manifest")
    assert document.message is not None
    assert "replicaz" in document.message


async def test_an_unknown_kind_is_refused_and_one_that_the_source_defines_is_known_later(client: KubeClient) -> None:
    document = await one(client, WIDGET)
    assert (document.action, document.reason) == (PlannedAction.REFUSED, "unknown-kind")
    assert codes(document) == {WarningCode.UNKNOWN_KIND}
    widget, definition = await planned(client, WIDGET, DEFINITION)
    assert (widget.action, widget.message) == (PlannedAction.UNKNOWN, "known once its definition is applied")
    assert (widget.warnings, definition.action) == ((), PlannedAction.CREATE)


async def test_a_missing_namespace_is_refused_and_one_that_the_source_creates_is_known_later(
    client: KubeClient,
) -> None:
    document = await one(client, config_map(namespace="nowhere"))
    assert document.action is PlannedAction.REFUSED
    assert codes(document) == {WarningCode.MISSING_NAMESPACE}
    assert "nowhere" in (document.message or "")
    inside, outside = await planned(client, config_map(namespace="fresh"), namespace("fresh"))
    assert (inside.action, inside.message) == (PlannedAction.UNKNOWN, "known once its namespace is created")
    assert (inside.warnings, outside.action) == ((), PlannedAction.CREATE)


async def test_a_namespace_that_is_going_away_is_told(client: KubeClient, cluster: SandboxCluster) -> None:
    await applied(client, namespace("going"))
    held = config_map(namespace="going") | {
        "metadata": {"name": "held", "namespace": "going", "finalizers": ["example.com/held"]}
    }
    await client.apply(held)
    await cluster.request("DELETE", "/api/v1/namespaces/going")
    document = await one(client, config_map(namespace="going"))
    assert (document.action, document.reason) == (PlannedAction.REFUSED, "namespace-terminating")
    assert codes(document) == {WarningCode.TERMINATING_NAMESPACE}


async def test_replicas_that_an_autoscaler_owns_stay_as_they_are(client: KubeClient, cluster: SandboxCluster) -> None:
    await applied(client, deployment(replicas=2), autoscaler())
    scaled = {"spec": {"replicas": 5}}
    path = "/apis/apps/v1/namespaces/default/deployments/web?fieldManager=autoscaler"
    status, _ = await cluster.request("PATCH", path, scaled, content_type="application/merge-patch+json")
    assert status == 200
    document = await one(client, deployment(replicas=2))
    assert (document.action, document.changes) == (PlannedAction.UNCHANGED, ())
    assert codes(document) == {WarningCode.AUTOSCALED_REPLICAS}
    (silent,) = await planned(client, deployment(replicas=None))
    assert (silent.action, silent.warnings) == (PlannedAction.UNCHANGED, ())


async def test_replicas_that_only_we_own_are_not_reset_for_an_autoscaler(client: KubeClient) -> None:
    await applied(client, deployment(replicas=4))
    first, second = await planned(client, deployment(replicas=None), autoscaler())
    assert (first.action, first.changes) == (PlannedAction.UNCHANGED, ())
    assert codes(first) == {WarningCode.AUTOSCALED_REPLICAS}
    assert second.action is PlannedAction.CREATE


async def test_a_missing_right_is_a_refusal(cluster: SandboxCluster) -> None:
    token = await cluster.add_token("reader", allowed=False, rules=({"effect": "allow", "verbs": ["get", "list"]},))
    async with KubeClient(read_kubeconfig(cluster.kubeconfig_for(token))) as reader:
        document = await one(reader, config_map())
    assert (document.action, document.reason) == (PlannedAction.REFUSED, "denied")


async def test_what_may_not_be_read_cannot_be_told(client: KubeClient, cluster: SandboxCluster) -> None:
    await applied(client, config_map(a="1"))
    rules = ({"effect": "deny", "verbs": ["get"], "resources": ["configmaps"]},)
    token = await cluster.add_token("writer", rules=rules)
    async with KubeClient(read_kubeconfig(cluster.kubeconfig_for(token))) as writer:
        known, fresh = await planned(writer, config_map(a="2"), config_map("other"))
    assert (known.action, fresh.action) == (PlannedAction.UNKNOWN, PlannedAction.CREATE)
    assert known.message


async def test_an_object_without_a_name_is_tried_under_the_one_it_will_get(client: KubeClient) -> None:
    body = job() | {"metadata": {"generateName": "once-"}}
    document = await one(client, body)
    assert (document.action, document.ref.name) == (PlannedAction.CREATE, "once-*")
    await applied(client, named(body, TASK, 0))
    assert (await one(client, body)).action is PlannedAction.UNCHANGED


async def test_a_version_that_is_going_away_is_told(client: KubeClient) -> None:
    old = json.loads(json.dumps(DEFINITION))
    old["spec"]["versions"][0] |= {"deprecated": True}
    await defined(client, old)
    document = await one(client, WIDGET)
    assert (document.action, codes(document)) == (PlannedAction.CREATE, {WarningCode.DEPRECATED_VERSION})


async def test_an_object_that_only_the_new_definition_of_its_kind_allows_is_known_later(client: KubeClient) -> None:
    def definition(*fields: str) -> Body:
        made = json.loads(json.dumps(DEFINITION))
        properties = {"spec": {"type": "object", "properties": {field: {"type": "string"} for field in fields}}}
        made["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object", "properties": properties}}
        return made

    await defined(client, definition("old"))
    widget = WIDGET | {"spec": {"new": "x"}}
    assert (await one(client, widget)).action is PlannedAction.REFUSED
    later, changed = await planned(client, widget, definition("old", "new"))
    assert (later.action, changed.action) == (PlannedAction.UNKNOWN, PlannedAction.CHANGE)
    assert later.message == "known once CustomResourceDefinition widgets.shop.example is applied"


async def test_a_pod_whose_service_account_comes_with_it_is_known_later(
    client: KubeClient, cluster: SandboxCluster
) -> None:
    # As an API server refuses it.
    said = 'pods "p" is forbidden: error looking up service account default/own: serviceaccount "own" not found'
    await cluster.faults({"verb": "patch", "resource": "pods", "status": 403, "message": said})
    spec = {"serviceAccountName": "own", "containers": [{"name": "web", "image": "shop:1"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "own"}}
    alone = await one(client, pod)
    assert (alone.action, alone.reason) == (PlannedAction.REFUSED, "denied")
    together, _ = await planned(client, pod, account)
    assert (together.action, together.message) == (
        PlannedAction.UNKNOWN,
        "known once ServiceAccount default/own is applied",
    )
