"""The documents themselves: one a group and version in version 3, all in one in version 2."""

import hashlib
import json
from collections.abc import Iterable
from functools import cache

from locktender.embedded.cluster.openapi.components import components, schema_name
from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.shapes import Obj

_INFO = {"title": "Kubernetes", "version": "sandbox"}
_WRITES = ("dryRun", "fieldManager", "fieldValidation")
# Method, action, and its parameters; for one object and for a collection.
_ONE = (
    ("get", "get", ()),
    ("put", "put", _WRITES),
    ("patch", "patch", (*_WRITES, "force")),
    ("delete", "delete", ("dryRun", "gracePeriodSeconds", "propagationPolicy")),
)
_MANY = (
    ("get", "list", ("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch")),
    ("post", "post", _WRITES),
    ("delete", "deletecollection", ("dryRun", "fieldSelector", "labelSelector")),
)
_PART = tuple(row for row in _ONE if row[0] != "delete")


def index(registry: Registry) -> Obj:
    """The answer to `/openapi/v3`."""
    paths: Obj = {}
    for place in _places(registry):
        digest = hashlib.sha256(json.dumps(_document(registry, place), sort_keys=True).encode()).hexdigest().upper()
        paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={digest}"}
    return {"paths": paths}


def document(registry: Registry, place: str) -> Obj | None:
    """The answer to `/openapi/v3/apis/GROUP/VERSION`, None when nothing is served there."""
    return _document(registry, place) if place in _places(registry) else None


def version_2(registry: Registry) -> Obj:
    """The answer to `/openapi/v2`."""
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": _paths(registry, "#/definitions/"),
        "definitions": components(registry, "#/definitions/"),
    }


def _places(registry: Registry) -> list[str]:
    return [_place(group, version) for group, version in registry.versions()]


def _place(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _document(registry: Registry, place: str) -> Obj:
    served = tuple(r for r in registry if _place(r.group, r.version) == place)
    # The standard kinds never change, and their documents are large.
    return _made(served) if any(r.custom for r in served) else _standard(served)


@cache
def _standard(served: tuple[Resource, ...]) -> Obj:
    return _made(served)


def _made(served: tuple[Resource, ...]) -> Obj:
    prefix = "#/components/schemas/"
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": _paths(served, prefix),
        "components": {"schemas": components(served, prefix)},
    }


def _paths(resources: Iterable[Resource], prefix: str) -> Obj:
    found: Obj = {}
    for resource in resources:
        space = "/namespaces/{namespace}" if resource.namespaced else ""
        many = f"/{_place(resource.group, resource.version)}{space}/{resource.plural}"
        found[many] = _operations(resource, _MANY, prefix)
        found[f"{many}/{{name}}"] = _operations(resource, _ONE, prefix)
        for part in ("status", "scale"):
            if getattr(resource, part):
                found[f"{many}/{{name}}/{part}"] = _operations(resource, _PART, prefix)
    return found


def _operations(resource: Resource, rows: tuple[tuple[str, str, tuple[str, ...]], ...], prefix: str) -> Obj:
    about = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    schema = {"$ref": prefix + schema_name(resource)}
    is_old = "definitions" in prefix
    content: Obj = {"schema": schema} if is_old else {"content": {"application/json": {"schema": schema}}}
    return {
        method: {
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": about,
            "parameters": [_parameter(name, prefix) for name in parameters],
            "responses": {"200": {"description": "OK"} | content},
        }
        for method, action, parameters in rows
    }


def _parameter(name: str, prefix: str) -> Obj:
    kind = {"type": "string"}
    return {"name": name, "in": "query", **(kind if "definitions" in prefix else {"schema": kind})}
