"""Sets of fields of an object, and their `fieldsV1` form in `metadata.managedFields`.

A field is a tuple of path elements, spelled as in `fieldsV1`: `f:NAME`, `k:{"name":"web"}`, `v:"value"`.
"""

import json
from collections.abc import Iterable
from typing import Any, TypeAlias

from locktender.embedded.cluster.listkeys import Names, Shape, elements
from locktender.embedded.cluster.shapes import Obj, is_list, is_obj, own

Field: TypeAlias = tuple[str, ...]

# Written by the server, so nobody owns them.
_SERVER_FIELDS = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
        "generateName",
    }
)


def fields_of(shape: Shape, obj: Obj) -> dict[Field, Any]:
    """The ownable fields of an object with their values.

    An item of a keyed list is itself a field (its value is None here), beside the fields inside it.
    """
    found: dict[Field, Any] = {}
    for name, value in obj.items():
        if name in ("apiVersion", "kind"):
            continue
        if name == "metadata" and is_obj(value):
            kept = {key: item for key, item in value.items() if key not in _SERVER_FIELDS}
            if kept:
                _walk(shape, kept, ("f:metadata",), ("metadata",), found)
            continue
        _walk(shape, value, (f"f:{name}",), (name,), found)
    return found


def _walk(shape: Shape, value: Any, path: Field, names: Names, found: dict[Field, Any]) -> None:
    if is_obj(value) and value and not shape.is_whole(names):
        for name, item in value.items():
            _walk(shape, item, (*path, f"f:{name}"), (*names, name), found)
        return
    items = elements(shape, names, value) if is_list(value) else None
    if not items:
        found[path] = value
        return
    for element, item in items.items():
        found[*path, element] = None
        if is_obj(item):
            for name, inner in item.items():
                _walk(shape, inner, (*path, element, f"f:{name}"), (*names, name), found)


def to_v1(fields: Iterable[Field]) -> Obj:
    """The nested `fieldsV1` object. `.` marks a field that has fields inside it."""
    root: Obj = {}
    chosen = sorted(fields)
    for field in chosen:
        own(root, *field)
    for field in chosen:
        node = own(root, *field)
        if node:
            node["."] = {}
    return root


def from_v1(node: Obj, path: Field = ()) -> set[Field]:
    """The inverse of `to_v1`; what is not an object inside is ignored."""
    if not node:
        return {path} if path else set()
    found: set[Field] = set()
    for element, child in node.items():
        if element == ".":
            found.add(path)
        elif is_obj(child):
            found |= from_v1(child, (*path, element))
    return found


def spoken(field: Field) -> str:
    """A field as error messages spell it: `.spec.template.spec.containers[name="web"].image`."""
    return "".join(_spoken_element(element) for element in field)


def _spoken_element(element: str) -> str:
    kind, _, rest = element.partition(":")
    match kind:
        case "k":
            keys = json.loads(rest)
            return "[" + ",".join(f"{name}={json.dumps(value)}" for name, value in keys.items()) + "]"
        case "v":
            return f"[={rest}]"
        case _:
            return f".{rest}"
