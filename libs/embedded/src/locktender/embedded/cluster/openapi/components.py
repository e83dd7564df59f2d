"""Schemas by the names that they have in OpenAPI documents."""

from collections.abc import Iterable
from typing import Any

from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.schema.types import METADATA, resolved, type_name, type_node
from locktender.embedded.cluster.shapes import Obj, is_list, is_obj, text_at

_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_SCALARS: dict[str, Obj] = {
    _QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    _INT_OR_STRING: {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
}
_PACKAGES = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
}


def schema_name(resource: Resource) -> str:
    """The name of the schema of a kind."""
    standard = type_name(resource.group, resource.version, resource.kind) if resource.builtin else ""
    if standard:
        return _spoken(standard)
    return ".".join((*reversed(resource.group.split(".")), resource.version, resource.kind))


def components(resources: Iterable[Resource], prefix: str) -> Obj:
    """The schemas of kinds and of everything inside them; `prefix` is where references point to."""
    found: Obj = {}
    waiting: list[str] = []
    for resource in resources:
        about = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        schema = _spelled(_root(resource), prefix, waiting)
        found[schema_name(resource)] = schema | {"x-kubernetes-group-version-kind": [about]}
    while waiting:
        name = waiting.pop()
        spoken = _spoken(name)
        if spoken not in found:
            found[spoken] = _SCALARS[name] if name in _SCALARS else _spelled(type_node(name), prefix, waiting)
    return found


def _root(resource: Resource) -> Obj:
    if resource.builtin:
        name = type_name(resource.group, resource.version, resource.kind)
        return type_node(name) if name else {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    head: Obj = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"$ref": METADATA}}
    schema = resource.schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return schema | {"properties": {**(schema.get("properties") or {}), **head}}


def _spelled(node: Any, prefix: str, waiting: list[str]) -> Any:
    """A schema as documents spell it: references by their long names, which are noted in `waiting`."""
    if is_list(node):
        return [_spelled(item, prefix, waiting) for item in node]
    if not is_obj(node):
        return node
    name = text_at(node, "$ref") or _scalar_name(node)
    if name:
        waiting.append(name)
        extra = {key: value for key, value in node.items() if key.startswith("x-kubernetes-patch")}
        return {"$ref": f"{prefix}{_spoken(name)}"} | extra
    return {key: _spelled(value, prefix, waiting) for key, value in node.items() if key != "x-type"}


def _scalar_name(node: Obj) -> str:
    if node.get("x-kubernetes-int-or-string") is not True or "oneOf" in node or "anyOf" in node:
        return ""
    return _QUANTITY if node.get("format") == "quantity" else _INT_OR_STRING


def _spoken(name: str) -> str:
    if name in _SCALARS:
        return name
    module, _, kind = name.partition(".")
    package, _, version = module.rpartition("_")
    return f"{_PACKAGES.get(package, f'io.k8s.api.{package}')}.{version}.{kind}"


def is_known(resource: Resource) -> bool:
    """Whether anything is told about the inside of a kind."""
    return bool(resolved(_root(resource)).get("properties"))
