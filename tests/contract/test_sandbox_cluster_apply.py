"""Server-side apply on the sandbox cluster: ownership, conflicts, removal, and what changes nothing."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster

APPLY = "application/apply-patch+yaml"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/web"
CONFIG_MAP = "/api/v1/namespaces/default/configmaps/cm"
SERVICE = "/api/v1/namespaces/default/services/web"


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    # Nothing becomes ready during a test, so that only the test changes objects.
    async with sandbox_cluster(pace=1000) as running:
        yield running


async def apply(
    cluster: SandboxCluster, path: str, body: dict[str, Any], manager: str = "one", *, more: str = ""
) -> tuple[int, dict[str, Any]]:
    query = f"?fieldManager={manager}{more}"
    return await cluster.request("PATCH", path + query, json.dumps(body).encode(), content_type=APPLY)


def config_map(metadata: dict[str, Any] | None = None, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"} | (metadata or {}), "data": data}


def deployment(containers: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": template} | spec,
    }


MAIN = {"name": "main", "image": "nginx:1", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "1"}]}


async def test_the_first_apply_creates_and_the_same_again_changes_nothing(cluster: SandboxCluster) -> None:
    code, born = await apply(cluster, DEPLOYMENT, deployment([MAIN], replicas=0))
    again_code, again = await apply(cluster, DEPLOYMENT, deployment([MAIN], replicas=0))

    assert (code, again_code) == (201, 200)
    assert born["metadata"]["generation"] == 1
    _, later = await apply(cluster, DEPLOYMENT, deployment([MAIN], replicas=0))
    assert later["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]
    assert later["metadata"]["generation"] == 1


async def test_managed_fields_name_list_items_by_their_keys(cluster: SandboxCluster) -> None:
    _, born = await apply(cluster, DEPLOYMENT, deployment([MAIN]))

    entry = born["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"], entry["apiVersion"]) == ("one", "Apply", "apps/v1")
    container = entry["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"main"}']
    assert container == {
        ".": {},
        "f:name": {},
        "f:image": {},
        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
        "f:env": {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
    }
    assert entry["fieldsV1"]["f:spec"]["f:selector"] == {}


async def test_a_conflict_names_the_manager_and_every_field(cluster: SandboxCluster) -> None:
    await apply(cluster, CONFIG_MAP, config_map(a="1", b="1", c="1"))
    code, refused = await apply(cluster, CONFIG_MAP, config_map(a="2", b="2", c="1"), "two")

    assert (code, refused["reason"], refused["status"]) == (409, "Conflict", "Failure")
    assert refused["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.a"},
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.b"},
    ]
    assert refused["message"].startswith('Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b')
    _, live = await cluster.request("GET", CONFIG_MAP)
    assert live["data"] == {"a": "1", "b": "1", "c": "1"}


async def test_a_conflict_with_a_plain_writer_tells_its_version_and_time(cluster: SandboxCluster) -> None:
    await cluster.request("POST", "/api/v1/namespaces/default/configmaps?fieldManager=hand", config_map(a="1"))
    code, refused = await apply(cluster, CONFIG_MAP, config_map(a="2"))

    assert code == 409
    assert refused["message"].startswith('Apply failed with 1 conflict: conflict with "hand" using v1 at 2')
    assert refused["message"].endswith(": .data.a")


async def test_force_takes_the_fields_over(cluster: SandboxCluster) -> None:
    await apply(cluster, CONFIG_MAP, config_map(a="1", b="1"))
    code, taken = await apply(cluster, CONFIG_MAP, config_map(a="2"), "two", more="&force=true")

    assert (code, taken["data"]) == (200, {"a": "2", "b": "1"})
    owned = {entry["manager"]: entry["fieldsV1"]["f:data"] for entry in taken["metadata"]["managedFields"]}
    assert owned == {"one": {"f:b": {}}, "two": {"f:a": {}}}
    code, _ = await apply(cluster, CONFIG_MAP, config_map(a="1", b="1"))
    assert code == 409


async def test_equal_values_are_shared_and_stay_until_the_last_owner_lets_go(cluster: SandboxCluster) -> None:
    await apply(cluster, CONFIG_MAP, config_map(a="1", b="1"))
    code, _ = await apply(cluster, CONFIG_MAP, config_map(a="1"), "two")
    _, first_left = await apply(cluster, CONFIG_MAP, config_map(b="1"))
    _, both_left = await apply(cluster, CONFIG_MAP, config_map(), "two")

    assert code == 200
    assert first_left["data"] == {"a": "1", "b": "1"}
    assert both_left["data"] == {"b": "1"}


async def test_what_is_no_longer_applied_is_removed(cluster: SandboxCluster) -> None:
    side = {"name": "side", "image": "envoy:1"}
    more_env = MAIN | {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}
    await apply(cluster, DEPLOYMENT, deployment([more_env, side], minReadySeconds=5))
    _, after = await apply(cluster, DEPLOYMENT, deployment([MAIN]))

    containers = after["spec"]["template"]["spec"]["containers"]
    assert [c["name"] for c in containers] == ["main"]
    assert containers[0]["env"] == [{"name": "A", "value": "1"}]
    assert "minReadySeconds" not in after["spec"]
    assert after["metadata"]["generation"] == 2


async def test_items_that_others_added_to_a_list_stay(cluster: SandboxCluster) -> None:
    await apply(cluster, DEPLOYMENT, deployment([MAIN]))
    side = {"name": "side", "image": "envoy:1"}
    only_side = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    only_side["spec"] = {"template": {"spec": {"containers": [side]}}}
    code, both = await apply(cluster, DEPLOYMENT, only_side, "injector")
    _, after = await apply(cluster, DEPLOYMENT, deployment([MAIN | {"image": "nginx:2"}]))

    assert code == 200
    assert {c["name"] for c in both["spec"]["template"]["spec"]["containers"]} == {"main", "side"}
    images = {c["name"]: c["image"] for c in after["spec"]["template"]["spec"]["containers"]}
    assert images == {"main": "nginx:2", "side": "envoy:1"}


async def test_replicas_that_an_autoscaler_wrote_are_a_conflict_only_when_applied(cluster: SandboxCluster) -> None:
    await apply(cluster, DEPLOYMENT, deployment([MAIN]))
    await cluster.request("PUT", f"{DEPLOYMENT}/scale?fieldManager=autoscaler", {"spec": {"replicas": 5}})
    silent, kept = await apply(cluster, DEPLOYMENT, deployment([MAIN | {"image": "nginx:2"}]))
    loud, refused = await apply(cluster, DEPLOYMENT, deployment([MAIN], replicas=1))

    assert (silent, kept["spec"]["replicas"]) == (200, 5)
    assert loud == 409
    assert 'conflict with "autoscaler" with subresource "scale"' in refused["message"]


async def test_finalizers_are_a_set_that_managers_share(cluster: SandboxCluster) -> None:
    await apply(cluster, CONFIG_MAP, config_map({"finalizers": ["x.dev/one"]}))
    _, both = await apply(cluster, CONFIG_MAP, config_map({"finalizers": ["x.dev/two"]}), "two")
    _, left = await apply(cluster, CONFIG_MAP, config_map())

    assert both["metadata"]["finalizers"] == ["x.dev/one", "x.dev/two"]
    assert left["metadata"]["finalizers"] == ["x.dev/two"]


async def test_service_ports_merge_by_port_and_protocol(cluster: SandboxCluster) -> None:
    def service(*ports: dict[str, Any]) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": list(ports)}}

    await apply(cluster, SERVICE, service({"port": 53, "name": "tcp"}, {"port": 53, "protocol": "UDP", "name": "udp"}))
    _, after = await apply(cluster, SERVICE, service({"port": 53, "protocol": "UDP", "name": "dns"}))

    assert [(p["port"], p["protocol"], p["name"]) for p in after["spec"]["ports"]] == [(53, "UDP", "dns")]
    assert after["spec"]["clusterIP"].startswith("10.96.")


async def test_a_dry_run_answers_and_stores_nothing(cluster: SandboxCluster) -> None:
    code, shown = await apply(cluster, CONFIG_MAP, config_map(a="1"), more="&dryRun=All")
    missing, _ = await cluster.request("GET", CONFIG_MAP)
    await apply(cluster, CONFIG_MAP, config_map(a="1"))
    conflict, _ = await apply(cluster, CONFIG_MAP, config_map(a="2"), "two", more="&dryRun=All")

    assert (code, shown["data"], missing, conflict) == (201, {"a": "1"}, 404, 409)


async def test_a_yaml_body_is_taken(cluster: SandboxCluster) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  day: '2026-01-01'\n"
    code, born = await cluster.request("PATCH", f"{CONFIG_MAP}?fieldManager=one", body, content_type=APPLY)

    assert (code, born["data"]) == (201, {"day": "2026-01-01"})


async def test_an_apply_that_does_not_fit_the_schema_is_an_error_of_the_server(
    cluster: SandboxCluster,
) -> None:
    wrong = deployment([MAIN | {"imagePullPolice": "Always"}], replicas="2")
    code, refused = await apply(cluster, DEPLOYMENT, wrong)
    twice, doubled = await apply(cluster, DEPLOYMENT, deployment([MAIN, MAIN]))
    nameless, unnamed = await apply(cluster, DEPLOYMENT, deployment([{"image": "nginx:1"}]))

    assert (code, twice, nameless, refused["reason"]) == (500, 500, 500, "")
    assert refused["message"].startswith(
        "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): errors:\n  "
    )
    assert (
        '.spec.template.spec.containers[name="main"].imagePullPolice: field not declared in schema'
        in refused["message"]
    )
    assert ".spec.replicas: expected numeric (int or float), got" in refused["message"]
    assert doubled["message"].endswith('.spec.template.spec.containers: duplicate entries for key [name="main"]')
    assert 'an element that omits key field "name" (and doesn\'t have default value)' in unnamed["message"]


async def test_unknown_fields_of_a_new_object_are_refused_only_when_strict(cluster: SandboxCluster) -> None:
    wrong = deployment([MAIN | {"imagePullPolice": "Always"}], replica=2)
    path = DEPLOYMENT.rpartition("/")[0]
    strict, refused = await cluster.request("POST", f"{path}?fieldValidation=Strict", wrong)
    warned, born = await cluster.request("POST", path, wrong)

    assert (strict, refused["reason"], warned) == (400, "BadRequest", 201)
    assert 'unknown field "spec.replica"' in refused["message"]
    assert 'unknown field "spec.template.spec.containers[0].imagePullPolice"' in refused["message"]
    assert "replica" not in born["spec"]


@pytest.mark.parametrize(
    ("query", "body", "code", "said"),
    [
        ("", config_map(a="1"), 422, "fieldManager: Required value"),
        ("?fieldManager=one", config_map({"managedFields": [{"manager": "x"}]}), 400, "managedFields must be nil"),
        ("?fieldManager=one", config_map({"name": "other"}), 400, "does not match the name on the URL"),
        ("?fieldManager=one", config_map({"namespace": "other"}), 400, "does not match the namespace"),
        ("?fieldManager=one", config_map({"resourceVersion": "1"}), 409, "the object has been modified"),
        ("?fieldManager=one", {"data": {}}, 400, "apiVersion and kind must be set"),
        ("?fieldManager=one", {"apiVersion": "v1", "kind": "Secret"}, 400, "the path serves ConfigMap"),
    ],
)
async def test_an_apply_that_cannot_be_meant_is_refused(
    cluster: SandboxCluster, query: str, body: dict[str, Any], code: int, said: str
) -> None:
    answered, refused = await cluster.request(
        "PATCH", CONFIG_MAP + query, json.dumps(body).encode(), content_type=APPLY
    )

    assert (answered, refused["kind"]) == (code, "Status")
    assert said in refused["message"]


async def test_an_immutable_field_is_named(cluster: SandboxCluster) -> None:
    await apply(cluster, DEPLOYMENT, deployment([MAIN]))
    other = deployment([MAIN])
    other["spec"]["selector"] = {"matchLabels": {"app": "web", "tier": "front"}}
    other["spec"]["template"]["metadata"]["labels"] = {"app": "web", "tier": "front"}
    code, refused = await apply(cluster, DEPLOYMENT, other)

    assert (code, refused["reason"]) == (422, "Invalid")
    assert refused["details"]["causes"][0]["field"] == "spec.selector"
    assert "field is immutable" in refused["message"]


async def test_the_strings_of_a_secret_are_encoded_and_applied_again_without_a_change(cluster: SandboxCluster) -> None:
    path = "/api/v1/namespaces/default/secrets/s"
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "value"}}
    _, born = await apply(cluster, path, body)
    _, again = await apply(cluster, path, body)

    assert born["data"] == {"key": "dmFsdWU="}
    assert "stringData" not in born
    assert again["metadata"]["resourceVersion"] == born["metadata"]["resourceVersion"]


async def test_applying_into_a_missing_namespace_is_not_found(cluster: SandboxCluster) -> None:
    code, refused = await apply(cluster, "/api/v1/namespaces/nowhere/configmaps/cm", config_map(a="1"))

    assert (code, refused["message"]) == (404, 'namespaces "nowhere" not found')
