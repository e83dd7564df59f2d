"""What an object uses of its namespace's quota, by the names that a ResourceQuota limits. Pure."""

from decimal import Decimal

from locktender.embedded.cluster.quantity import amount
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj, obj_at, objs_at, text_at

COMPUTE = ("cpu", "memory", "ephemeral-storage")
_PLAIN = frozenset(
    {
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
    }
)


def footprint(resource: Resource, obj: Obj) -> dict[str, Decimal]:
    """The usage of one object; amounts are never negative."""
    used = {f"count/{resource.qualified}": Decimal(1)}
    if resource.qualified in _PLAIN and not (resource.kind == "Pod" and _is_over(obj)):
        used[resource.qualified] = Decimal(1)
    match resource.qualified:
        case "pods" if not _is_over(obj):
            used |= _pod(obj)
        case "persistentvolumeclaims":
            used["requests.storage"] = amount(obj_at(obj, "spec", "resources", "requests").get("storage"))
        case "services":
            kind = text_at(obj, "spec", "type")
            used |= {"services.loadbalancers": Decimal(1)} if kind == "LoadBalancer" else {}
            ports = len(objs_at(obj, "spec", "ports")) if kind in ("NodePort", "LoadBalancer") else 0
            used |= {"services.nodeports": Decimal(ports)} if ports else {}
        case _:
            pass
    return used


def _is_over(pod: Obj) -> bool:
    return text_at(pod, "status", "phase") in ("Succeeded", "Failed")


def _pod(pod: Obj) -> dict[str, Decimal]:
    requests, limits = demand(pod, "requests"), demand(pod, "limits")
    used = {f"requests.{name}": requests[name] for name in requests}
    used |= {name: requests[name] for name in requests if name in COMPUTE}
    return used | {f"limits.{name}": limits[name] for name in limits}


def demand(pod: Obj, what: str) -> dict[str, Decimal]:
    """The `requests` or `limits` of a pod: the sum of its containers, or the largest of its init containers."""
    first: dict[str, Decimal] = {}
    result: dict[str, Decimal] = {}
    for container in objs_at(pod, "spec", "containers"):
        for name, value in obj_at(container, "resources", what).items():
            result[name] = result.get(name, Decimal(0)) + amount(value)
    for container in objs_at(pod, "spec", "initContainers"):
        for name, value in obj_at(container, "resources", what).items():
            if text_at(container, "restartPolicy") == "Always":
                result[name] = result.get(name, Decimal(0)) + amount(value)
            else:
                first[name] = max(first.get(name, Decimal(0)), amount(value))
    return {name: max(result.get(name, Decimal(0)), first.get(name, Decimal(0))) for name in result | first}
