"""Gateways and routes of the sandbox cluster, once their definitions are installed."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.cluster_rig import BEHAVIOUR, CORE, condition, create, until

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "gateway.networking.k8s.io"
BASE = f"/apis/{GROUP}/v1"
SPACE = f"{BASE}/namespaces/default"


def definition(plural: str, kind: str, scope: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"plural": plural, "kind": kind, "singular": kind.lower()}
    spec = {"group": GROUP, "scope": scope, "names": names, "versions": [version]}
    return {"metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster(pace=0.02) as running:
        for plural, kind, scope in (
            ("gatewayclasses", "GatewayClass", "Cluster"),
            ("gateways", "Gateway", "Namespaced"),
            ("httproutes", "HTTPRoute", "Namespaced"),
        ):
            await create(running, CRDS, definition(plural, kind, scope))
            where = f"{BASE}/{plural}"
            await until(running, where, lambda rows: "items" in rows)
        yield running


def of(kind: str, name: str, behaviour: str = "", **spec: Any) -> dict[str, Any]:
    annotations = {BEHAVIOUR: behaviour} if behaviour else {}
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def gateway(name: str = "gate", behaviour: str = "") -> dict[str, Any]:
    listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
    return of("Gateway", name, behaviour, gatewayClassName="sandbox", listeners=listeners)


def route(**parent: str) -> dict[str, Any]:
    rules = [{"backendRefs": [{"name": "web", "port": 80}]}]
    return of("HTTPRoute", "web", parentRefs=[{"name": "gate"} | parent], rules=rules)


def verdicts(obj: dict[str, Any]) -> dict[str, tuple[str, str]]:
    parents = obj.get("status", {}).get("parents", [])
    return {c["type"]: (c["status"], c["reason"]) for parent in parents for c in parent["conditions"]}


async def test_a_gateway_of_a_known_class_is_programmed_and_counts_its_routes(cluster: SandboxCluster) -> None:
    await create(cluster, f"{SPACE}/gateways", gateway())
    assert "status" not in (await cluster.request("GET", f"{SPACE}/gateways/gate"))[1]
    await create(cluster, f"{BASE}/gatewayclasses", of("GatewayClass", "sandbox", controllerName="x.dev/gateway"))
    await create(cluster, f"{SPACE}/httproutes", route())

    up = await until(cluster, f"{SPACE}/gateways/gate", lambda g: condition(g, "Programmed").get("status") == "True")
    assert condition(up, "Accepted")["observedGeneration"] == up["metadata"]["generation"]
    assert up["status"]["addresses"][0]["value"].startswith("203.0.113.")
    await until(cluster, f"{SPACE}/gateways/gate", lambda g: g["status"]["listeners"][0]["attachedRoutes"] == 1)


async def test_a_gateway_may_never_get_an_address(cluster: SandboxCluster) -> None:
    await create(cluster, f"{BASE}/gatewayclasses", of("GatewayClass", "sandbox", controllerName="x.dev/gateway"))
    await create(cluster, f"{SPACE}/gateways", gateway(behaviour="no-address"))

    stuck = await until(cluster, f"{SPACE}/gateways/gate", lambda g: condition(g, "Programmed"))
    assert condition(stuck, "Programmed")["reason"] == "AddressNotAssigned"


async def test_a_route_waits_for_its_parent_and_its_backend(cluster: SandboxCluster) -> None:
    await create(cluster, f"{SPACE}/httproutes", route())
    where = f"{SPACE}/httproutes/web"
    lonely = await until(cluster, where, verdicts)
    assert verdicts(lonely) == {
        "Accepted": ("False", "NoMatchingParent"),
        "ResolvedRefs": ("False", "BackendNotFound"),
    }

    await create(cluster, f"{BASE}/gatewayclasses", of("GatewayClass", "sandbox", controllerName="x.dev/gateway"))
    await create(cluster, f"{SPACE}/gateways", gateway())
    await create(cluster, f"{CORE}/services", {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}})
    both = {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("True", "ResolvedRefs")}
    await until(cluster, where, lambda r: verdicts(r) == both)


async def test_a_route_to_a_listener_that_is_not_there_is_not_accepted(cluster: SandboxCluster) -> None:
    await create(cluster, f"{SPACE}/gateways", gateway())
    await create(cluster, f"{SPACE}/httproutes", route(sectionName="https"))

    refused = await until(cluster, f"{SPACE}/httproutes/web", verdicts)
    assert verdicts(refused)["Accepted"] == ("False", "NoMatchingParent")
