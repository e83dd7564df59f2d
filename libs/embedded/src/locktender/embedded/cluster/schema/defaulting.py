"""Defaults that the schema of a custom kind declares, filled in as the server does on every write."""

from locktender.embedded.cluster.schema.types import items_node
from locktender.embedded.cluster.shapes import Obj, at, clone, is_list, is_obj, obj_at


def fill_defaults(node: Obj, value: object) -> None:
    """Complete a value in place. A null where the schema takes none counts as not said."""
    if is_list(value):
        for item in value:
            fill_defaults(items_node(node), item)
    elif is_obj(value):
        _fill_fields(node, value)


def _fill_fields(node: Obj, value: Obj) -> None:
    fields = obj_at(node, "properties")
    for name, field in fields.items():
        if not is_obj(field) or "default" not in field:
            continue
        if name not in value or (value[name] is None and field.get("nullable") is not True):
            value[name] = clone(field["default"])
    for name, item in value.items():
        inner = fields.get(name, at(node, "additionalProperties"))
        if is_obj(inner):
            fill_defaults(inner, item)
