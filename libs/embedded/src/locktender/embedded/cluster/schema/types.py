"""The standard types as OpenAPI schemas, made from the table in `types.json` when somebody asks for them."""

import json
from functools import cache
from pathlib import Path

from locktender.embedded.cluster.schema.merging import merging_of_field, merging_of_type
from locktender.embedded.cluster.shapes import Obj, is_obj

_TABLE = Path(__file__).with_name("types.json")
_MODULES = {
    "": "core",
    "meta": "meta",
    "rbac.authorization.k8s.io": "rbac",
    "networking.k8s.io": "networking",
    "storage.k8s.io": "storage",
    "apiextensions.k8s.io": "apiextensions",
    "apiregistration.k8s.io": "apiregistration",
    "admissionregistration.k8s.io": "admissionregistration",
    "authentication.k8s.io": "authentication",
    "authorization.k8s.io": "authorization",
    "coordination.k8s.io": "coordination",
    "node.k8s.io": "node",
    "scheduling.k8s.io": "scheduling",
    "discovery.k8s.io": "discovery",
}
_OPEN: Obj = {"x-kubernetes-preserve-unknown-fields": True}
_SCALARS: dict[str, Obj] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "number": {"type": "number"},
    "time": {"type": "string", "format": "date-time"},
    "microTime": {"type": "string", "format": "date-time"},
    "quantity": {"x-kubernetes-int-or-string": True, "format": "quantity"},
    "intOrString": {"x-kubernetes-int-or-string": True},
    "any": _OPEN,
}
METADATA = "meta_v1.ObjectMeta"


@cache
def _table() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(_TABLE.read_text())
    return found


def type_name(group: str, version: str, kind: str) -> str:
    """The name in the table of a kind; "" for one that is not standard."""
    name = f"{_MODULES.get(group, group)}_{version}.{kind}"
    return name if name in _table() else ""


@cache
def type_node(name: str) -> Obj:
    """The schema of a type of the table. Shared: never change it."""
    fields = _table()[name]
    return {
        "type": "object",
        "properties": {
            field: _node(kind.removesuffix("!")) | merging_of_field(name, field) for field, kind in fields.items()
        },
        "required": [field for field, kind in fields.items() if kind.endswith("!")],
        "x-type": name,
        **merging_of_type(name),
    }


def _node(kind: str) -> Obj:
    if kind.startswith("[]"):
        return {"type": "array", "items": _node(kind[2:])}
    if kind.startswith("{}"):
        return {"type": "object", "additionalProperties": _node(kind[2:])}
    return _SCALARS.get(kind) or {"$ref": kind}


def resolved(node: Obj) -> Obj:
    """The schema itself where `node` only names a type."""
    # Asked for every field of every write, so it looks itself instead of with `text_at`.
    name = node.get("$ref")
    return type_node(name) if isinstance(name, str) and name else node


def field_node(node: Obj, name: str) -> Obj | None:
    """The schema of a field of an object, None when the schema does not have the field."""
    node = resolved(node)
    properties = node.get("properties")
    found: object = properties.get(name) if is_obj(properties) else None
    if found is None:
        found = node.get("additionalProperties")
    if is_obj(found):
        return found
    return _OPEN if found is True or is_open(node) else None


def items_node(node: Obj) -> Obj:
    """The schema of the items of a list; anything goes where it is not told."""
    found = resolved(node).get("items")
    return found if is_obj(found) else _OPEN


def is_open(node: Obj) -> bool:
    """Whether fields that are not declared are kept."""
    return node.get("x-kubernetes-preserve-unknown-fields") is True
