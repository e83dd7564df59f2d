"""Short words for tests that put workloads into a sandbox cluster and wait for what becomes of them."""

import asyncio
from collections.abc import Callable
from typing import Any

from locktender.testkit.cluster import SandboxCluster

APPS = "/apis/apps/v1/namespaces/default"
CORE = "/api/v1/namespaces/default"
BATCH = "/apis/batch/v1/namespaces/default"
BEHAVIOUR = "sandbox.locktender.dev/behaviour"


async def create(cluster: SandboxCluster, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Create an object, which must succeed."""
    code, answer = await cluster.request("POST", path, body)
    assert code == 201, answer  # noqa: PLR2004 - created
    return answer


async def change(cluster: SandboxCluster, path: str, patch: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Merge a patch into an object: status and answer."""
    return await cluster.request("PATCH", path, patch, content_type="application/merge-patch+json")


async def until(
    cluster: SandboxCluster, path: str, holds: Callable[[dict[str, Any]], object], *, seconds: float = 10
) -> dict[str, Any]:
    """The object or list at `path` once `holds` is true of it; fails with the last one seen."""
    last: dict[str, Any] = {}
    try:
        async with asyncio.timeout(seconds):
            while True:
                _, last = await cluster.request("GET", path)
                if holds(last):
                    return last
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"never came true; last seen: {last}") from None


async def event(cluster: SandboxCluster, reason: str, name: str = "") -> dict[str, Any]:
    """The first event with a reason, about the object `name` where one is given, once there is one."""
    fields = f"reason={reason}" + (f",involvedObject.name={name}" if name else "")
    found = await until(cluster, f"{CORE}/events?fieldSelector={fields}", lambda rows: rows["items"])
    return found["items"][0]


def pod_spec(image: str = "nginx:1", *, container: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A pod specification with one container, `main`."""
    return {"containers": [{"name": "main", "image": image} | (container or {})]} | more


def pod(name: str, *, behaviour: str = "", annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod; what is said beyond goes into its specification."""
    said = ({BEHAVIOUR: behaviour} if behaviour else {}) | (annotations or {})
    return {"metadata": {"name": name, "annotations": said, "labels": {"app": name}}, "spec": pod_spec(**spec)}


def deployment(name: str, *, replicas: int = 1, behaviour: str = "", **spec: Any) -> dict[str, Any]:
    """A Deployment; what is said beyond goes into the specification of its pods."""
    body = pod(name, behaviour=behaviour, **spec)
    template = {"metadata": {k: v for k, v in body["metadata"].items() if k != "name"}, "spec": body["spec"]}
    selector = {"matchLabels": {"app": name}}
    return {"metadata": {"name": name}, "spec": {"replicas": replicas, "selector": selector, "template": template}}


def condition(obj: dict[str, Any], kind: str) -> dict[str, Any]:
    """A condition of an object, empty when it has none of that type."""
    found: list[dict[str, Any]] = obj.get("status", {}).get("conditions", [])
    return ([c for c in found if c["type"] == kind] or [{}])[0]


def is_ready(obj: dict[str, Any]) -> bool:
    """Whether a pod is ready."""
    return condition(obj, "Ready").get("status") == "True"


def containers(obj: dict[str, Any], field: str = "containerStatuses") -> list[dict[str, Any]]:
    """The container statuses of a pod."""
    return obj.get("status", {}).get(field, [])


def waiting(obj: dict[str, Any], field: str = "containerStatuses") -> dict[str, Any]:
    """The waiting state of the first container of a pod, empty when it does not wait."""
    rows = containers(obj, field)
    return rows[0]["state"].get("waiting", {}) if rows else {}
