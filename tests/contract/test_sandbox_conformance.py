"""What the sandbox cluster refuses, in the words of a real one: content, immutable fields, versions, dry runs."""

import asyncio
import contextlib
import copy
import http.client
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster

DEFAULT = "/namespaces/default"
PATHS = {
    "Deployment": f"/apis/apps/v1{DEFAULT}/deployments",
    "StatefulSet": f"/apis/apps/v1{DEFAULT}/statefulsets",
    "Job": f"/apis/batch/v1{DEFAULT}/jobs",
    "CronJob": f"/apis/batch/v1{DEFAULT}/cronjobs",
    "Pod": f"/api/v1{DEFAULT}/pods",
    "Service": f"/api/v1{DEFAULT}/services",
    "ConfigMap": f"/api/v1{DEFAULT}/configmaps",
    "Secret": f"/api/v1{DEFAULT}/secrets",
    "PersistentVolumeClaim": f"/api/v1{DEFAULT}/persistentvolumeclaims",
    "Ingress": f"/apis/networking.k8s.io/v1{DEFAULT}/ingresses",
    "HorizontalPodAutoscaler": f"/apis/autoscaling/v2{DEFAULT}/horizontalpodautoscalers",
    "RoleBinding": f"/apis/rbac.authorization.k8s.io/v1{DEFAULT}/rolebindings",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
}
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

LABELS = {"app": "web"}
POD: dict[str, Any] = {"containers": [{"name": "main", "image": "nginx:1"}]}
TEMPLATE: dict[str, Any] = {"metadata": {"labels": LABELS}, "spec": POD}
CLAIM: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
BACKEND: dict[str, Any] = {"service": {"name": "web", "port": {"number": 80}}}
PATH: dict[str, Any] = {"path": "/", "pathType": "Prefix", "backend": BACKEND}
GOOD: dict[str, dict[str, Any]] = {
    "Deployment": {"spec": {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}},
    "StatefulSet": {"spec": {"selector": {"matchLabels": LABELS}, "template": TEMPLATE, "serviceName": "web"}},
    "Job": {"spec": {"template": {"spec": POD | {"restartPolicy": "Never"}}}},
    "CronJob": {
        "spec": {
            "schedule": "*/5 * * * *",
            "jobTemplate": {"spec": {"template": {"spec": POD | {"restartPolicy": "Never"}}}},
        }
    },
    "Pod": {"spec": POD},
    "Service": {"spec": {"selector": LABELS, "ports": [{"port": 80}]}},
    "ConfigMap": {"data": {"a": "1"}},
    "Secret": {"data": {"a": "YQ=="}},
    "PersistentVolumeClaim": {"spec": CLAIM},
    "Ingress": {"spec": {"rules": [{"http": {"paths": [PATH]}}]}},
    "HorizontalPodAutoscaler": {
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 3}
    },
    "RoleBinding": {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}},
    "StorageClass": {"provisioner": "example.dev/disks", "parameters": {"kind": "fast"}},
}
GONE = object()
CONTAINER = "spec.template.spec.containers[0]"


def good(kind: str, name: str = "x") -> dict[str, Any]:
    return {"metadata": {"name": name}} | copy.deepcopy(GOOD[kind])


def changed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The body with the value put at a path such as `spec.ports.0.name`; GONE takes it out."""
    *parents, last = path.split(".")
    place: Any = body
    for step in parents:
        place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
    if value is GONE:
        place.pop(last)
    elif isinstance(place, list):
        place.insert(int(last), value)
    else:
        place[last] = value
    return body


def wanted(body: dict[str, Any]) -> dict[str, Any]:
    """The body without what the server tells about it."""
    return {name: value for name, value in body.items() if name not in ("metadata", "status")}


@pytest.fixture(scope="module")
async def cluster() -> AsyncIterator[SandboxCluster]:
    # Nothing becomes ready, so that only the tests change objects.
    async with sandbox_cluster(pace=1000) as running:
        yield running


CONTAINERS = "spec.template.spec.containers.0"
MISTAKES = [
    ("Deployment", "spec.selector", GONE, "spec.selector", "Required value"),
    ("Deployment", "spec.template.metadata.labels", {"app": "other"}, "spec.template.metadata.labels",
     'Invalid value: {"app":"other"}: `selector` does not match template `labels`'),
    ("Deployment", "spec.replicas", -1, "spec.replicas", "must be greater than or equal to 0"),
    ("Deployment", "metadata.name", "Web_1", "metadata.name", "a lowercase RFC 1123 subdomain must consist of"),
    ("Deployment", "metadata.labels", {"a b": "1"}, "metadata.labels", "name part must consist of alphanumeric"),
    ("Deployment", "metadata.labels", {"a": "x y"}, "metadata.labels", "a valid label must be an empty string or"),
    ("Deployment", "spec.template.spec.containers", [], "spec.template.spec.containers", "Required value"),
    ("Deployment", f"{CONTAINERS}.image", GONE, f"{CONTAINER}.image", "Required value"),
    ("Deployment", f"{CONTAINERS}.image", " nginx", f"{CONTAINER}.image", "leading or trailing whitespace"),
    ("Deployment", f"{CONTAINERS}.name", "Main", f"{CONTAINER}.name", "a lowercase RFC 1123 label must consist of"),
    ("Deployment", "spec.template.spec.containers.1", {"name": "main", "image": "b"},
     "spec.template.spec.containers[1].name", 'Duplicate value: "main"'),
    ("Deployment", f"{CONTAINERS}.imagePullPolicy", "always", f"{CONTAINER}.imagePullPolicy",
     'Unsupported value: "always": supported values: "Always", "IfNotPresent", "Never"'),
    ("Deployment", f"{CONTAINERS}.ports", [{"containerPort": 70000}], f"{CONTAINER}.ports[0].containerPort",
     "must be between 1 and 65535, inclusive"),
    ("Deployment", f"{CONTAINERS}.ports", [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}],
     f"{CONTAINER}.ports[1].name", 'Duplicate value: "a"'),
    ("Deployment", f"{CONTAINERS}.env", [{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}],
     f"{CONTAINER}.env[0].valueFrom", "may not be specified when `value` is not empty"),
    ("Deployment", f"{CONTAINERS}.env", [{"name": "A", "valueFrom": {}}], f"{CONTAINER}.env[0].valueFrom",
     "must specify one of: `fieldRef`"),
    ("Deployment", f"{CONTAINERS}.volumeMounts", [{"name": "no", "mountPath": "/x"}],
     f"{CONTAINER}.volumeMounts[0].name", 'Not found: "no"'),
    ("Deployment", "spec.template.spec.volumes", [{"name": "v"}, {"name": "v", "emptyDir": {}}],
     "spec.template.spec.volumes[0]", "must specify a volume type"),
    ("Deployment", f"{CONTAINERS}.resources", {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}},
     f"{CONTAINER}.resources.requests", "must be less than or equal to cpu limit of 1"),
    ("Deployment", f"{CONTAINERS}.livenessProbe", {"periodSeconds": 1}, f"{CONTAINER}.livenessProbe",
     "must specify a handler type"),
    ("Deployment", "spec.template.spec.restartPolicy", "Never", "spec.template.spec.restartPolicy",
     'Unsupported value: "Never": supported values: "Always"'),
    ("Deployment", "spec.strategy", {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
     "spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"),
    ("Job", "spec.template.spec.restartPolicy", "Always", "spec.template.spec.restartPolicy",
     'Unsupported value: "Always": supported values: "OnFailure", "Never"'),
    ("CronJob", "spec.schedule", "every day", "spec.schedule", "expected exactly 5 fields, found 2: [every day]"),
    ("CronJob", "spec.schedule", "61 * * * *", "spec.schedule", "above maximum (59)"),
    ("CronJob", "metadata.name", "x" * 53, "metadata.name", "must be no more than 52 characters"),
    ("Service", "spec.ports", [], "spec.ports", "Required value"),
    ("Service", "metadata.name", "1web", "metadata.name", "a DNS-1035 label must consist of"),
    ("Service", "spec.ports", [{"port": 1}, {"port": 2}], "spec.ports[0].name", "Required value"),
    ("Service", "spec.ports", [{"port": 0}], "spec.ports[0].port", "must be between 1 and 65535, inclusive"),
    ("Service", "spec.type", "Public", "spec.type", 'Unsupported value: "Public"'),
    ("Service", "spec.ports.0.nodePort", 80, "spec.ports[0].nodePort", "The range of valid ports is 30000-32767"),
    ("Ingress", "spec.rules.0.http.paths.0.pathType", GONE, "spec.rules[0].http.paths[0].pathType",
     "pathType must be specified"),
    ("Ingress", "spec.rules.0.http.paths.0.backend.service.port", {}, "spec.rules[0].http.paths[0].backend",
     "port name or number is required"),
    ("Ingress", "spec.rules.0.http.paths.0.backend.service.name", "",
     "spec.rules[0].http.paths[0].backend.service.name", "Required value"),
    ("Ingress", "spec.rules", [], "spec", "either `defaultBackend` or `rules` must be specified"),
    ("HorizontalPodAutoscaler", "spec.minReplicas", 5, "spec.maxReplicas",
     "must be greater than or equal to `minReplicas`"),
    ("PersistentVolumeClaim", "spec.accessModes", [], "spec.accessModes", "at least 1 access mode is required"),
    ("PersistentVolumeClaim", "spec.resources", {}, "spec.resources[storage]", "Required value"),
    ("ConfigMap", "data", {"a b": "1"}, "data[a b]", "a valid config key must consist of"),
    ("Secret", "type", "kubernetes.io/tls", "data[tls.crt]", "Required value"),
    ("Pod", "spec.containers.0.name", "", "spec.containers[0].name", "Required value"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "value", "field", "message"), MISTAKES)
async def test_a_mistake_is_told_by_its_field(
    cluster: SandboxCluster, kind: str, path: str, value: Any, field: str, message: str
) -> None:
    code, refused = await cluster.request("POST", PATHS[kind], changed(good(kind), path, value))

    assert (code, refused["reason"], refused["details"]["kind"]) == (422, "Invalid", kind)
    first = refused["details"]["causes"][0]
    assert first["field"] == field
    assert message in first["message"]
    assert f"{field}: {first['message']}" in refused["message"]


UNREADABLE = [
    ("Deployment", "spec.replicas", "2",
     "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"),
    ("Deployment", f"{CONTAINERS}.env", [{"name": "A", "value": 1}],
     "Go struct field EnvVar.spec.template.spec.containers.env.value of type string"),
    ("Deployment", "metadata.labels", {"a": 1}, "Go struct field ObjectMeta.metadata.labels of type string"),
    ("Deployment", f"{CONTAINERS}.resources", {"limits": {"cpu": "lots"}}, "quantities must match the regular"),
    ("ConfigMap", "data", {"a": True},
     "json: cannot unmarshal bool into Go struct field ConfigMap.data of type string"),
    ("Deployment", "spec.template.spec.containers", {}, "cannot unmarshal object into Go struct field PodSpec"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "value", "message"), UNREADABLE)
async def test_a_value_of_another_type_cannot_be_read(
    cluster: SandboxCluster, kind: str, path: str, value: Any, message: str
) -> None:
    code, refused = await cluster.request("POST", PATHS[kind], changed(good(kind), path, value))

    assert (code, refused["reason"]) == (400, "BadRequest")
    assert f'{kind} in version "v1" cannot be handled as a {kind}: ' in refused["message"]
    assert message in refused["message"]


STATEFUL = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template'"
IMMUTABLE = [
    ("Deployment", {"spec": {"selector": {"matchLabels": {"x": "1"}},
                             "template": {"metadata": {"labels": {"x": "1"}}}}}, "spec.selector", "field is immutable"),
    ("StatefulSet", {"spec": {"serviceName": "other"}}, "spec", STATEFUL),
    ("StatefulSet", {"spec": {"podManagementPolicy": "Parallel"}}, "spec", STATEFUL),
    ("Job", {"spec": {"template": {"spec": {"hostname": "h"}}}}, "spec.template", "field is immutable"),
    ("Job", {"spec": {"completions": 4}}, "spec.completions", "Invalid value: 4: field is immutable"),
    ("PersistentVolumeClaim", {"spec": {"accessModes": ["ReadWriteMany"]}}, "spec",
     "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"),
    ("Service", {"spec": {"clusterIP": "10.96.7.7"}}, "spec.clusterIPs[0]",
     'Invalid value: ["10.96.7.7"]: may not change once set'),
    ("RoleBinding", {"roleRef": {"name": "other"}}, "roleRef", "cannot change roleRef"),
    ("StorageClass", {"parameters": {"kind": "slow"}}, "parameters", "updates to parameters are forbidden."),
    ("Secret", {"type": "other/type"}, "type", "field is immutable"),
    ("Pod", {"spec": {"hostname": "h"}}, "spec", "pod updates may not change fields other than"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "patch", "field", "message"), IMMUTABLE)
async def test_a_field_that_is_fixed_cannot_be_changed(
    cluster: SandboxCluster, kind: str, patch: dict[str, Any], field: str, message: str
) -> None:
    name = f"fixed{len(message)}{abs(len(str(patch)))}"
    made, born = await cluster.request("POST", PATHS[kind], good(kind, name))
    code, refused = await cluster.request("PATCH", f"{PATHS[kind]}/{name}", patch, content_type=MERGE)
    _, after = await cluster.request("GET", f"{PATHS[kind]}/{name}")

    assert (made, code, refused["reason"]) == (201, 422, "Invalid")
    (cause,) = refused["details"]["causes"]
    assert cause["field"] == field
    assert message in cause["message"]
    assert wanted(after) == wanted(born)


async def test_a_sealed_config_map_changes_no_more(cluster: SandboxCluster) -> None:
    path = f"{PATHS['ConfigMap']}/sealed"
    await cluster.request("POST", PATHS["ConfigMap"], good("ConfigMap", "sealed") | {"immutable": True})
    code, refused = await cluster.request("PATCH", path, {"data": {"a": "2"}}, content_type=MERGE)
    labels = {"metadata": {"labels": {"a": "b"}}}
    labelled, _ = await cluster.request("PATCH", path, labels, content_type=MERGE)

    assert (code, labelled) == (422, 200)
    assert refused["details"]["causes"] == [
        {
            "reason": "FieldValueForbidden",
            "message": "Forbidden: field is immutable when `immutable` is set",
            "field": "data",
        }
    ]


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "DELETE", "DELETE all"])
async def test_a_dry_run_answers_as_if_and_changes_nothing(cluster: SandboxCluster, verb: str) -> None:
    name = f"dry-{verb.lower().replace(' ', '-')}"
    many, one = PATHS["ConfigMap"], f"{PATHS['ConfigMap']}/{name}"
    labelled = good("ConfigMap", name)
    labelled["metadata"]["labels"] = {"dry": name}
    if verb != "POST":
        await cluster.request("POST", many, labelled)
    newer = labelled | {"data": {"a": "2"}}
    where = {"POST": many, "DELETE all": f"{many}?labelSelector=dry%3D{name}"}.get(verb, one)
    where += "&dryRun=All" if "?" in where else "?dryRun=All"
    media = MERGE if verb == "PATCH" else "application/json"
    body = None if verb.startswith("DELETE") else newer
    code, shown = await cluster.request(verb.split(maxsplit=1)[0], where, body, content_type=media)
    found, after = await cluster.request("GET", one)

    assert code == (201 if verb == "POST" else 200)
    assert verb.startswith("DELETE") or shown["data"] == {"a": "2"}
    assert (found, after.get("data")) == ((404, None) if verb == "POST" else (200, {"a": "1"}))


async def test_a_stale_version_is_refused_by_every_kind_of_write(cluster: SandboxCluster) -> None:
    path = f"{PATHS['ConfigMap']}/stale"
    _, born = await cluster.request("POST", PATHS["ConfigMap"], good("ConfigMap", "stale"))
    stale = {"resourceVersion": born["metadata"]["resourceVersion"]}
    await cluster.request("PATCH", path, {"data": {"a": "2"}}, content_type=MERGE)
    merge = {"metadata": stale, "data": {"a": "3"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stale"} | stale, "data": {"a": "3"}}
    test = [{"op": "test", "path": "/metadata/resourceVersion", "value": stale["resourceVersion"]}]
    answers = [
        await cluster.request("PUT", path, born | {"data": {"a": "3"}}),
        await cluster.request("PATCH", path, merge, content_type=MERGE),
        await cluster.request("PATCH", path, merge, content_type=STRATEGIC),
        await cluster.request(
            "PATCH", f"{path}?fieldManager=m&force=true", config, content_type="application/apply-patch+yaml"
        ),
        await cluster.request("DELETE", path, {"preconditions": stale}),
        await cluster.request("DELETE", path, {"preconditions": {"uid": "other"}}),
    ]
    tested, _ = await cluster.request("PATCH", path, test, content_type=JSON_PATCH)

    assert [(code, refused["reason"]) for code, refused in answers] == [(409, "Conflict")] * len(answers)
    assert all("causes" not in refused["details"] for _, refused in answers)
    assert "Operation cannot be fulfilled on configmaps" in answers[3][1]["message"]
    assert tested == 422


def warning_of(cluster: SandboxCluster, method: str, path: str, body: dict[str, Any] | None) -> str:
    where = urlsplit(cluster.server)
    context = ssl.create_default_context(cadata=cluster.ca_pem)
    connection = http.client.HTTPSConnection(where.hostname or "", where.port, context=context, timeout=10)
    with contextlib.closing(connection):
        headers = {"authorization": f"Bearer {cluster.token}", "content-type": "application/json"}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.getheader("warning", "")


async def test_deprecated_versions_and_unknown_fields_are_warned_about(cluster: SandboxCluster) -> None:
    endpoints = await asyncio.to_thread(warning_of, cluster, "GET", f"/api/v1{DEFAULT}/endpoints", None)
    unknown = good("Deployment", "warned")
    unknown["spec"]["replica"] = 1
    warned = await asyncio.to_thread(warning_of, cluster, "POST", PATHS["Deployment"], unknown)

    assert endpoints == '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
    assert warned == '299 - "unknown field \\"spec.replica\\""'


async def test_a_strategic_patch_follows_its_directives(cluster: SandboxCluster) -> None:
    path = f"{PATHS['Deployment']}/directed"
    body = good("Deployment", "directed")
    body["spec"]["template"]["spec"]["containers"] = [{"name": n, "image": n} for n in ("a", "b", "c")]
    body["metadata"]["finalizers"] = ["x.dev/one", "x.dev/two"]
    await cluster.request("POST", PATHS["Deployment"], body)
    patch = {
        "metadata": {"$deleteFromPrimitiveList/finalizers": ["x.dev/one"]},
        "spec": {
            "strategy": {"$retainKeys": ["type"], "type": "Recreate"},
            "template": {
                "spec": {
                    "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
                    "containers": [{"name": "b", "$patch": "delete"}, {"name": "a", "image": "new"}],
                }
            },
        },
    }
    code, after = await cluster.request("PATCH", path, patch, content_type=STRATEGIC)

    assert code == 200
    containers = after["spec"]["template"]["spec"]["containers"]
    assert [(c["name"], c["image"]) for c in containers] == [("c", "c"), ("a", "new")]
    assert after["spec"]["strategy"] == {"type": "Recreate"}
    assert after["metadata"]["finalizers"] == ["x.dev/two"]
