"""What clients ask before anything else: the version, the groups and the kinds of each."""

from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.shapes import Obj

VERSION: Obj = {
    "major": "1",
    "minor": "34",
    "gitVersion": "v1.34.1+locktender-sandbox",
    "gitCommit": "sandbox",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "linux/amd64",
}

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_PART_VERBS = ["get", "patch", "update"]


def core_versions(server: str) -> Obj:
    """The answer to `/api`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}],
    }


def groups(registry: Registry) -> Obj:
    """The answer to `/apis`."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": list(_groups(registry).values())}


def group(registry: Registry, name: str) -> Obj | None:
    """The answer to `/apis/GROUP`, None when the group is not served."""
    found = _groups(registry).get(name)
    return None if found is None else {"kind": "APIGroup", "apiVersion": "v1", **found}


def kinds(registry: Registry, group_name: str, version: str) -> Obj | None:
    """The answer to `/api/v1` or `/apis/GROUP/VERSION`, None when nothing is served there."""
    served = [r for r in registry if (r.group, r.version) == (group_name, version)]
    if not served:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": served[0].api_version,
        "resources": [entry for resource in served for entry in _entries(resource)],
    }


def _groups(registry: Registry) -> dict[str, Obj]:
    found: dict[str, Obj] = {}
    for name, version in registry.versions():
        if not name:
            continue
        listed = {"groupVersion": f"{name}/{version}", "version": version}
        entry = found.setdefault(name, {"name": name, "versions": [], "preferredVersion": listed})
        entry["versions"].append(listed)
    return found


def _entries(resource: Resource) -> list[Obj]:
    entry: Obj = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _VERBS,
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
        "verbs": _PART_VERBS,
    }
