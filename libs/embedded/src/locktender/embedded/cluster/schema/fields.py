"""Fields that a kind does not have, and the values that a standard kind would take as not said."""

from collections.abc import Iterator

from locktender.embedded.cluster.listkeys import Shape
from locktender.embedded.cluster.schema.types import METADATA, field_node, items_node, resolved, type_node
from locktender.embedded.cluster.shapes import Obj, is_list, is_obj

Surplus = tuple[Obj, str, str]
"""The object that has a field too many, the name of the field, and its path."""

HEAD = ("apiVersion", "kind", "metadata")


def surplus(shape: Shape, obj: Obj) -> list[Surplus]:
    """Every field that the schema does not have, in the order of the object. A kind without a schema has any field."""
    root = shape.root
    found: list[Surplus] = []
    for name, value in obj.items():
        if name == "metadata":
            found += _below(type_node(METADATA), value, "metadata")
        elif name not in HEAD and root:
            node = field_node(root, name)
            found += [(obj, name, name)] if node is None else _below(node, value, name)
    return found


def prune(shape: Shape, obj: Obj) -> None:
    """Take every field out of `obj`, in place, that its kind does not have."""
    for parent, name, _ in surplus(shape, obj):
        parent.pop(name, None)


def _below(node: Obj, value: object, where: str) -> Iterator[Surplus]:
    node = resolved(node)
    if is_list(value):
        items = items_node(node)
        for index, item in enumerate(value):
            yield from _below(items, item, f"{where}[{index}]")
    elif is_obj(value):
        embedded = node.get("x-kubernetes-embedded-resource") is True
        for name, item in value.items():
            if embedded and name in HEAD:
                continue
            path = f"{where}.{name}"
            inner = field_node(node, name)
            if inner is None:
                yield value, name, path
            else:
                yield from _below(inner, item, path)


def drop_nulls(shape: Shape, obj: Obj) -> None:
    """Take nulls out, in place: for the standard kinds they say nothing."""
    for name in [name for name, value in obj.items() if value is None]:
        obj.pop(name)
    for name, value in obj.items():
        node = field_node(shape.root, name) if shape.root else None
        if node is not None:
            _drop_nulls(node, value)


def _drop_nulls(node: Obj, value: object) -> None:
    node = resolved(node)
    if node.get("x-kubernetes-preserve-unknown-fields") is True:
        return
    if is_list(value):
        for item in value:
            _drop_nulls(items_node(node), item)
    elif is_obj(value):
        for name in [name for name, item in value.items() if item is None]:
            value.pop(name)
        for name, item in value.items():
            inner = field_node(node, name)
            if inner is not None:
                _drop_nulls(inner, item)
