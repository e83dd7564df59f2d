"""An applied configuration against the schema of its kind: what server-side apply cannot make sense of.

The real server reports these as errors of its own, whatever the level of field validation.
"""

import json
from collections.abc import Iterator
from typing import Any

from locktender.embedded.cluster.listkeys import AS_SET, Shape, key_of
from locktender.embedded.cluster.schema.fields import HEAD
from locktender.embedded.cluster.schema.types import METADATA, field_node, is_open, items_node, resolved, type_node
from locktender.embedded.cluster.shapes import Obj, is_list, is_obj, list_at, text_at

_SCALARS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "string": (str, "string"),
    "boolean": (bool, "boolean"),
    "integer": ((int, float), "numeric (int or float)"),
    "number": ((int, float), "numeric (int or float)"),
}


def untyped(shape: Shape, config: Obj) -> list[str]:
    """Everything that does not fit the schema, each as the server words it. A kind without a schema fits all."""
    faults: list[str] = []
    root = resolved(shape.root)
    for name, value in config.items():
        if name == "metadata":
            faults += _value(type_node(METADATA), value, ".metadata")
        elif name not in HEAD and root:
            faults += _field(root, name, value, "")
    return faults


def _field(node: Obj, name: str, value: Any, where: str) -> Iterator[str]:
    inner = field_node(node, name)
    if inner is None:
        yield f"{where}.{name}: field not declared in schema"
    else:
        yield from _value({**resolved(inner), **inner}, value, f"{where}.{name}")


def _value(node: Obj, value: Any, where: str) -> Iterator[str]:
    kind = text_at(node, "type")
    if value is None or is_open(node) or not kind:
        return
    if kind == "array":
        yield from _list(node, value, where) if is_list(value) else (f"{where}: expected list, got {_told(value)}",)
    elif kind == "object":
        if is_obj(value):
            embedded = node.get("x-kubernetes-embedded-resource") is True
            for name, item in value.items():
                if not (embedded and name in HEAD):
                    yield from _field(node, name, item, where)
        else:
            yield f"{where}: expected map, got {_told(value)}"
    else:
        wanted, said = _SCALARS.get(kind, (object, kind))
        if not isinstance(value, wanted) or (kind != "boolean" and isinstance(value, bool)):
            yield f"{where}: expected {said}, got {_told(value)}"


def _list(node: Obj, value: list[Any], where: str) -> Iterator[str]:
    items = items_node(node)
    keys = _keys(node)
    seen: set[str] = set()
    for index, item in enumerate(value):
        place = f"{where}[{index}]"
        if keys is not None:
            element = _element(items, item, keys)
            if element is None:
                yield f"{where}: element {index}: {_keyless(items, item, keys)}"
                continue
            place = f"{where}[{element}]"
            if element in seen:
                yield f"{where}: duplicate entries for key [{element}]"
            seen.add(element)
        yield from _value({**resolved(items), **items}, item, place)


def _keys(node: Obj) -> tuple[str, ...] | None:
    match node.get("x-kubernetes-list-type"):
        case "map":
            return tuple(list_at(node, "x-kubernetes-list-map-keys"))
        case "set":
            return AS_SET
        case _:
            return None


def _element(items: Obj, item: Any, keys: tuple[str, ...]) -> str | None:
    """The identity of an item as paths spell it: `name="web"`, or `="value"` in a set."""
    if keys == AS_SET:
        return f"={json.dumps(item)}" if key_of(item, AS_SET) else None
    if not is_obj(item):
        return None
    told: list[str] = []
    for key in keys:
        found = item.get(key, (field_node(items, key) or {}).get("default"))
        if found is None:
            return None
        told.append(f"{key}={json.dumps(found)}")
    return ",".join(told)


def _keyless(items: Obj, item: Any, keys: tuple[str, ...]) -> str:
    if keys == AS_SET or not is_obj(item):
        return "associative list without keys has an element that's a map type" if keys == AS_SET else "expected map"
    missing = next(key for key in keys if item.get(key, (field_node(items, key) or {}).get("default")) is None)
    return (
        f'associative list with keys has an element that omits key field "{missing}" (and doesn\'t have default value)'
    )


def _told(value: Any) -> str:
    return f"&value.valueUnstructured{{Value:{json.dumps(value, separators=(',', ':'))}}}"
