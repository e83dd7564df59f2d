"""Values that cannot be decoded: of another type than the field of a standard kind has, worded as Go says it."""

import re
from collections.abc import Iterator

from locktender.embedded.cluster.refusal import bad_request
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.schema.shaping import shape_of
from locktender.embedded.cluster.schema.types import METADATA, field_node, is_open, items_node, resolved, type_node
from locktender.embedded.cluster.shapes import Obj, is_list, is_obj, text_at

_QUANTITY = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$")
_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_GO = {"string": "string", "boolean": "bool", "integer": "int32", "number": "float64"}
_PYTHON: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}


def check_types(resource: Resource, obj: Obj) -> None:
    """Pass, or refuse.

    Raises:
        Refusal: 400 that names the field and the type it must have. The value is never told.
    """
    for why in _wrong(resource, obj):
        told = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
        raise bad_request(f"{told}: {why}")


def _wrong(resource: Resource, obj: Obj) -> Iterator[str]:
    metadata = type_node(METADATA)
    yield from _value(metadata, obj.get("metadata"), "metadata", resource.kind)
    if not resource.builtin:
        return
    root = resolved(shape_of(resource).root)
    for name, value in obj.items():
        node = field_node(root, name)
        if name != "metadata" and node is not None:
            yield from _value(node, value, name, resource.kind)


def _value(node: Obj, value: object, where: str, owner: str) -> Iterator[str]:
    """What is wrong with a value; `owner` is the Go type that the field belongs to."""
    node = resolved(node)
    if value is None or is_open(node):
        return
    if node.get("x-kubernetes-int-or-string") is True:
        yield from _number_or_text(node, value, where, owner)
        return
    match node.get("type"):
        case "array":
            if is_list(value):
                for item in value:
                    yield from _value(items_node(node), item, where, owner)
            else:
                yield _mismatch(value, where, owner, _go_list(node))
        case "object":
            if is_obj(value):
                yield from _object(node, value, where, owner)
            else:
                yield _mismatch(value, where, owner, _go_object(node))
        case other:
            kind = str(other)
            if not isinstance(value, _PYTHON.get(kind, object)) or (kind != "boolean" and isinstance(value, bool)):
                yield _mismatch(value, where, owner, _GO.get(kind, kind))


def _object(node: Obj, value: Obj, where: str, owner: str) -> Iterator[str]:
    inner_owner = text_at(node, "x-type").rpartition(".")[2] or owner
    for name, item in value.items():
        inner = field_node(node, name)
        if inner is not None:
            path = f"{where}.{name}" if "properties" in node else where
            yield from _value(inner, item, path, inner_owner)


def _number_or_text(node: Obj, value: object, where: str, owner: str) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        yield _mismatch(value, where, owner, "string")
    elif node.get("format") == "quantity" and not _QUANTITY.match(str(value)):
        yield _QUANTITY_RULE


def _go_list(node: Obj) -> str:
    items = resolved(items_node(node))
    return f"[]{_go_object(items) if items.get('type') == 'object' else _GO.get(text_at(items, 'type'), 'string')}"


def _go_object(node: Obj) -> str:
    name = text_at(node, "x-type")
    if not name:
        return "map[string]string"
    module, _, kind = name.partition(".")
    return f"{module.rpartition('_')[2]}.{kind}"


def _mismatch(value: object, where: str, owner: str, wanted: str) -> str:
    return f"json: cannot unmarshal {_said(value)} into Go struct field {owner}.{where} of type {wanted}"


def _said(value: object) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
