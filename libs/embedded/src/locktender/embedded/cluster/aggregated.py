"""Discovery in one answer: every group with its versions and kinds, as newer clients ask for it."""

from locktender.embedded.cluster.discovery import PART_VERBS, grouped, versions_of
from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.reviews import REVIEWS
from locktender.embedded.cluster.shapes import Obj

MEDIA = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def is_wanted(accept: str) -> bool:
    """Whether the client understands the one answer."""
    entries = ({word.strip() for word in entry.split(";")} for entry in accept.split(","))
    return any({"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList", "application/json"} <= e for e in entries)


def aggregated(registry: Registry, *, core: bool) -> Obj:
    """The answer to `/api` (`core`) or to `/apis`."""
    names = [""] if core else list(grouped(registry))
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": name, "creationTimestamp": None},
                "versions": [_version(registry, name, version) for version in versions_of(registry, name)],
            }
            for name in names
        ],
    }


def _version(registry: Registry, group: str, version: str) -> Obj:
    served = [r for r in (*registry, *REVIEWS) if (r.group, r.version) == (group, version)]
    return {"version": version, "freshness": "Current", "resources": [_resource(resource) for resource in served]}


def _resource(resource: Resource) -> Obj:
    entry: Obj = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        "shortNames": list(resource.short),
        "categories": list(resource.categories),
    }
    parts: list[Obj] = []
    if resource.status:
        kind = _kind(resource.group, resource.version, resource.kind)
        parts.append({"subresource": "status", "responseKind": kind, "verbs": PART_VERBS})
    if resource.scale:
        parts.append({"subresource": "scale", "responseKind": _kind("autoscaling", "v1", "Scale"), "verbs": PART_VERBS})
    return entry | ({"subresources": parts} if parts else {})


def _kind(group: str, version: str, kind: str) -> Obj:
    return {"group": group, "version": version, "kind": kind}
