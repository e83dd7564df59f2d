"""Custom kinds on the sandbox cluster: definitions become served kinds with a schema, and go with their objects."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml
from kubernetes import client as k8s
from kubernetes import config as k8s_config
from kubernetes.client.exceptions import ApiException

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster

APPLY = "application/apply-patch+yaml"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/shop.example.dev/v1/namespaces/default/widgets"
DEADLINE = 10.0

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "label": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 5},
                "port": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "x-kubernetes-list-type": "set"},
                "replicas": {"type": "integer"},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "weight": {"type": "integer", "default": 1}},
                    },
                },
            },
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}}},
    },
}


def definition(plural: str = "widgets", kind: str = "Widget", **changes: Any) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    old = version | {"name": "v1beta1", "storage": False, "deprecated": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.shop.example.dev"},
        "spec": {
            "group": "shop.example.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "shortNames": [plural[:2]]},
            "versions": [old, version],
        }
        | changes,
    }


def widget(name: str = "w", **spec: Any) -> dict[str, Any]:
    spec = {"size": 3} | spec
    return {"apiVersion": "shop.example.dev/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
async def empty() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster() as running:
        yield running


@pytest.fixture
async def cluster(empty: SandboxCluster) -> SandboxCluster:
    code, _ = await empty.request("POST", CRDS, definition())
    assert code == 201
    await condition(empty, "widgets.shop.example.dev", "Established", "True")
    return empty


async def condition(cluster: SandboxCluster, name: str, kind: str, status: str) -> dict[str, Any]:
    async with asyncio.timeout(DEADLINE):
        while True:
            _, crd = await cluster.request("GET", f"{CRDS}/{name}")
            for entry in crd.get("status", {}).get("conditions", []):
                if (entry["type"], entry["status"]) == (kind, status):
                    return entry
            await asyncio.sleep(0.02)


async def gone(cluster: SandboxCluster, path: str) -> None:
    async with asyncio.timeout(DEADLINE):
        while True:
            if (await cluster.request("GET", path))[0] == 404:
                return
            await asyncio.sleep(0.02)


async def apply(
    cluster: SandboxCluster, body: dict[str, Any], manager: str = "one", *, more: str = ""
) -> tuple[int, dict[str, Any]]:
    path = f"{WIDGETS}/{body['metadata']['name']}?fieldManager={manager}{more}"
    return await cluster.request("PATCH", path, json.dumps(body).encode(), content_type=APPLY)


async def test_a_kind_is_served_only_after_its_definition_is_established(empty: SandboxCluster) -> None:
    before, _ = await empty.request("GET", WIDGETS)
    await empty.request("POST", CRDS, definition())
    accepted = await condition(empty, "widgets.shop.example.dev", "NamesAccepted", "True")
    established = await condition(empty, "widgets.shop.example.dev", "Established", "True")
    after, listed = await empty.request("GET", WIDGETS)

    assert (before, after) == (404, 200)
    assert (accepted["reason"], established["reason"]) == ("NoConflicts", "InitialNamesAccepted")
    assert (listed["kind"], listed["apiVersion"]) == ("WidgetList", "shop.example.dev/v1")


async def test_discovery_tells_every_version_name_and_part(cluster: SandboxCluster) -> None:
    _, group = await cluster.request("GET", "/apis/shop.example.dev")
    _, kinds = await cluster.request("GET", "/apis/shop.example.dev/v1")

    assert [v["version"] for v in group["versions"]] == ["v1", "v1beta1"]
    assert group["preferredVersion"]["version"] == "v1"
    assert [r["name"] for r in kinds["resources"]] == ["widgets", "widgets/status", "widgets/scale"]
    assert (kinds["resources"][0]["singularName"], kinds["resources"][0]["shortNames"]) == ("widget", ["wi"])


@pytest.mark.parametrize(
    ("spec", "field", "reason", "message"),
    [
        ({"size": "x"}, "spec.size", "FieldValueTypeInvalid", 'spec.size in body must be of type integer: "string"'),
        ({"size": 0}, "spec.size", "FieldValueInvalid", "spec.size in body should be greater than or equal to 1"),
        ({"size": 10}, "spec.size", "FieldValueInvalid", "spec.size in body should be less than or equal to 9"),
        ({"colour": "no"}, "spec.colour", "FieldValueNotSupported", 'supported values: "red", "blue"'),
        ({"label": "A1"}, "spec.label", "FieldValueInvalid", "spec.label in body should match '^[a-z]+$'"),
        ({"label": "a"}, "spec.label", "FieldValueInvalid", "should be at least 2 chars long"),
        ({"label": "abcdef"}, "spec.label", "FieldValueTooLong", "may not be more than 5 bytes"),
        ({"tags": ["a", "b", "c"]}, "spec.tags", "FieldValueTooMany", "must have at most 2 items"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", "FieldValueDuplicate", 'Duplicate value: "a"'),
        ({"parts": [{"weight": 1}]}, "spec.parts[0].name", "FieldValueRequired", "Required value"),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]", "FieldValueDuplicate", '{"name":"a"}'),
        ({"port": True}, "spec.port", "FieldValueTypeInvalid", "must be of type integer or string"),
    ],
)
async def test_an_object_that_breaks_its_schema_is_refused_by_field(
    cluster: SandboxCluster, spec: dict[str, Any], field: str, reason: str, message: str
) -> None:
    code, refused = await cluster.request("POST", WIDGETS, widget(**spec))

    assert (code, refused["reason"], refused["details"]["kind"]) == (422, "Invalid", "Widget")
    (cause,) = refused["details"]["causes"]
    assert (cause["field"], cause["reason"]) == (field, reason)
    assert message in cause["message"]
    assert refused["message"].startswith('Widget.shop.example.dev "w" is invalid: ')


async def test_a_required_field_that_is_missing_is_named(cluster: SandboxCluster) -> None:
    body = widget()
    body["spec"] = {}
    _, refused = await cluster.request("POST", WIDGETS, body)

    assert refused["message"] == 'Widget.shop.example.dev "w" is invalid: spec.size: Required value'


async def test_defaults_are_filled_in_and_unknown_fields_are_dropped(cluster: SandboxCluster) -> None:
    sent = widget(parts=[{"name": "a"}], sise=1, free={"anything": {"goes": 1}})
    code, born = await cluster.request("POST", WIDGETS, sent)

    assert code == 201
    assert born["spec"] == {
        "size": 3,
        "colour": "red",
        "parts": [{"name": "a", "weight": 1}],
        "free": {"anything": {"goes": 1}},
    }


async def test_strict_validation_names_unknown_fields(cluster: SandboxCluster) -> None:
    code, refused = await cluster.request("POST", f"{WIDGETS}?fieldValidation=Strict", widget(sise=1))

    assert (code, refused["reason"]) == (400, "BadRequest")
    assert refused["message"].endswith('strict decoding error: unknown field "spec.sise"')


async def test_keyed_lists_of_a_custom_kind_are_shared_between_managers(cluster: SandboxCluster) -> None:
    await apply(cluster, widget(parts=[{"name": "a", "weight": 2}]))
    code, both = await apply(cluster, widget(parts=[{"name": "b"}]), "two")
    conflict, refused = await apply(cluster, widget(parts=[{"name": "a", "weight": 5}]), "two")
    _, left = await apply(cluster, widget(parts=[]))

    assert (code, [part["name"] for part in both["spec"]["parts"]]) == (200, ["a", "b"])
    assert conflict == 409
    assert refused["details"]["causes"][0]["field"] == '.spec.parts[name="a"].weight'
    assert [part["name"] for part in left["spec"]["parts"]] == ["b"]


async def test_the_generation_rises_with_the_specification_alone(cluster: SandboxCluster) -> None:
    _, born = await apply(cluster, widget())
    _, same = await apply(cluster, widget())
    _, grown = await apply(cluster, widget(size=4))
    status = {"status": {"phase": "Ready", "unknown": 1}, "spec": {"size": 9}}
    _, seen = await cluster.request("PATCH", f"{WIDGETS}/w/status", status, content_type="application/merge-patch+json")

    _, kept = await cluster.request(
        "PATCH", f"{WIDGETS}/w", {"status": {"phase": "Lost"}}, content_type="application/merge-patch+json"
    )

    assert kept["status"] == {"phase": "Ready"}
    assert [o["metadata"]["generation"] for o in (born, same, grown, seen)] == [1, 1, 2, 2]
    assert same["metadata"]["resourceVersion"] == born["metadata"]["resourceVersion"]
    assert (seen["status"], seen["spec"]["size"]) == ({"phase": "Ready"}, 4)


async def test_the_scale_of_a_custom_kind_is_read_and_written_by_its_paths(cluster: SandboxCluster) -> None:
    await apply(cluster, widget(replicas=2))
    _, read = await cluster.request("GET", f"{WIDGETS}/w/scale")
    await cluster.request("PUT", f"{WIDGETS}/w/scale", {"spec": {"replicas": 5}})
    _, after = await cluster.request("GET", f"{WIDGETS}/w")

    assert (read["kind"], read["spec"]["replicas"], after["spec"]["replicas"]) == ("Scale", 2, 5)


async def test_an_old_version_shows_the_same_object_under_its_own_name(cluster: SandboxCluster) -> None:
    await apply(cluster, widget())
    _, old = await cluster.request("GET", WIDGETS.replace("/v1/", "/v1beta1/") + "/w")
    _, listed = await cluster.request("GET", WIDGETS.replace("/v1/", "/v1beta1/"))

    assert old["apiVersion"] == "shop.example.dev/v1beta1"
    assert [item["apiVersion"] for item in listed["items"]] == ["shop.example.dev/v1beta1"]


async def test_a_name_that_is_taken_is_not_accepted_until_it_is_free(cluster: SandboxCluster) -> None:
    await cluster.request("POST", CRDS, definition("gadgets", "Widget"))
    refused = await condition(cluster, "gadgets.shop.example.dev", "NamesAccepted", "False")
    await condition(cluster, "gadgets.shop.example.dev", "Established", "False")
    await cluster.request("DELETE", f"{CRDS}/widgets.shop.example.dev")
    await condition(cluster, "gadgets.shop.example.dev", "Established", "True")

    assert (refused["reason"], refused["message"]) == ("SingularConflict", '"widget" is already in use')


async def test_deleting_a_definition_deletes_its_objects_and_waits_for_them(cluster: SandboxCluster) -> None:
    held = widget()
    held["metadata"]["finalizers"] = ["x.dev/wait"]
    await cluster.request("POST", WIDGETS, held)
    await cluster.request("POST", WIDGETS, widget("free"))
    await cluster.request("DELETE", f"{CRDS}/widgets.shop.example.dev")
    await gone(cluster, f"{WIDGETS}/free")
    still, going = await cluster.request("GET", f"{WIDGETS}/w")
    born, _ = await cluster.request("POST", WIDGETS, widget("late"))
    free = {"metadata": {"finalizers": None}}
    await cluster.request("PATCH", f"{WIDGETS}/w", free, content_type="application/merge-patch+json")
    await gone(cluster, f"{CRDS}/widgets.shop.example.dev")
    after, _ = await cluster.request("GET", WIDGETS)

    assert (still, born, after) == (200, 405, 404)
    assert going["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"scope": "Everywhere"}, "spec.scope", "Unsupported value"),
        ({"versions": []}, "spec.versions", "exactly one version marked as storage"),
        ({"group": "other.dev"}, "metadata.name", 'must be spec.names.plural+"."+spec.group'),
        (
            {"versions": [{"name": "v1", "served": True, "storage": True}]},
            "spec.versions[0].schema.openAPIV3Schema",
            "schemas are required",
        ),
    ],
)
async def test_a_definition_that_cannot_be_served_is_refused(
    empty: SandboxCluster, change: dict[str, Any], field: str, message: str
) -> None:
    code, refused = await empty.request("POST", CRDS, definition(**change))

    assert code == 422
    assert (refused["details"]["causes"][0]["field"], refused["reason"]) == (field, "Invalid")
    assert message in refused["message"]


async def test_the_official_client_works_with_a_custom_kind(cluster: SandboxCluster) -> None:
    def run() -> tuple[Any, ...]:
        client = k8s_config.new_client_from_config_dict(yaml.safe_load(cluster.kubeconfig))
        try:
            api = k8s.CustomObjectsApi(client)
            where = ("shop.example.dev", "v1", "default", "widgets")
            born = api.create_namespaced_custom_object(*where, widget())
            patched = api.patch_namespaced_custom_object(*where, "w", {"spec": {"size": 4}})
            patched["spec"]["size"] = 5
            replaced = api.replace_namespaced_custom_object(*where, "w", patched)
            with pytest.raises(ApiException) as stale:
                api.replace_namespaced_custom_object(*where, "w", born)
            listed = api.list_namespaced_custom_object(*where)
            api.delete_namespaced_custom_object(*where, "w")
            return replaced["spec"]["size"], stale.value.status, len(listed["items"])
        finally:
            client.rest_client.pool_manager.clear()
            client.close()

    assert await asyncio.to_thread(run) == (5, 409, 1)


async def test_an_update_of_a_custom_object_must_name_the_version_it_replaces(cluster: SandboxCluster) -> None:
    await apply(cluster, widget())
    code, refused = await cluster.request("PUT", f"{WIDGETS}/w", widget(size=4))

    assert (code, refused["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")
