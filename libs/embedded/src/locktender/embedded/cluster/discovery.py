"""What clients ask before anything else: the version, the groups and the kinds of each."""

from locktender.embedded.cluster.crds.definition import priority
from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.reviews import REVIEWS
from locktender.embedded.cluster.shapes import Obj

VERSION: Obj = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.0+locktender-sandbox",
    "gitCommit": "sandbox",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "linux/amd64",
}

PART_VERBS = ["get", "patch", "update"]


def core_versions(server: str) -> Obj:
    """The answer to `/api`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}],
    }


def groups(registry: Registry) -> Obj:
    """The answer to `/apis`."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": list(grouped(registry).values())}


def group(registry: Registry, name: str) -> Obj | None:
    """The answer to `/apis/GROUP`, None when the group is not served."""
    found = grouped(registry).get(name)
    return None if found is None else {"kind": "APIGroup", "apiVersion": "v1", **found}


def kinds(registry: Registry, group_name: str, version: str) -> Obj | None:
    """The answer to `/api/v1` or `/apis/GROUP/VERSION`, None when nothing is served there."""
    served = [r for r in (*registry, *REVIEWS) if (r.group, r.version) == (group_name, version)]
    if not served:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": served[0].api_version,
        "resources": [entry for resource in served for entry in _entries(resource)],
    }


def grouped(registry: Registry) -> dict[str, Obj]:
    """Every group but the core one, by name, with its versions in the order of preference."""
    found: dict[str, Obj] = {}
    for resource in (*registry, *REVIEWS):
        if resource.group and resource.group not in found:
            versions = versions_of(registry, resource.group)
            listed = [{"groupVersion": f"{resource.group}/{version}", "version": version} for version in versions]
            found[resource.group] = {"name": resource.group, "versions": listed, "preferredVersion": listed[0]}
    return found


def versions_of(registry: Registry, name: str) -> list[str]:
    """The versions of a group, the preferred one first."""
    found = {resource.version for resource in (*registry, *REVIEWS) if resource.group == name}
    return sorted(found, key=priority, reverse=True)


def _entries(resource: Resource) -> list[Obj]:
    entry: Obj = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short:
        entry["shortNames"] = list(resource.short)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    parts = [entry]
    if resource.status:
        parts.append(_part(resource, "status", resource.kind))
    if resource.scale:
        scale = _part(resource, "scale", "Scale")
        parts.append(scale | {"group": "autoscaling", "version": "v1"})
    return parts


def _part(resource: Resource, name: str, kind: str) -> Obj:
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": kind,
        "verbs": PART_VERBS,
    }
