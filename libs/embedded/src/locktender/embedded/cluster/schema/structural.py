"""Validation of custom objects by their structural schema, in the words of the real server.

Rules in CEL (`x-kubernetes-validations`) are not evaluated.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from locktender.embedded.cluster.refusal import Cause
from locktender.embedded.cluster.schema.formats import fits
from locktender.embedded.cluster.schema.types import items_node
from locktender.embedded.cluster.shapes import Obj, is_list, is_obj, list_at, objs_at, text_at

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}


def broken(node: Obj, value: Any, where: str = "") -> Iterator[Cause]:
    """Every rule of the schema that a value breaks."""
    if value is None:
        if node.get("nullable") is not True and text_at(node, "type"):
            yield _mistyped(node, value, where)
        return
    if not _has_type(node, value):
        yield _mistyped(node, value, where)
        return
    yield from _chosen(node, value, where)
    if isinstance(value, str):
        yield from _text(node, value, where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(node, value, where)
    elif is_list(value):
        yield from _list(node, value, where)
    elif is_obj(value):
        yield from _object(node, value, where)
    yield from _combined(node, value, where)


def _has_type(node: Obj, value: object) -> bool:
    if node.get("x-kubernetes-int-or-string") is True:
        return isinstance(value, int | str) and not isinstance(value, bool)
    kind = text_at(node, "type")
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, object)) and (
        kind == "boolean" or not isinstance(value, bool) or not kind
    )


def _mistyped(node: Obj, value: object, where: str) -> Cause:
    kind = "integer or string" if node.get("x-kubernetes-int-or-string") is True else text_at(node, "type")
    said = _type_name(value)
    return where, "FieldValueTypeInvalid", f'Invalid value: "{said}": {where} in body must be of type {kind}: "{said}"'


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    order = ("boolean", "integer", "number", "string", "array", "object")
    return next((name for name in order if isinstance(value, _TYPES[name])), "object")


def _chosen(node: Obj, value: object, where: str) -> Iterator[Cause]:
    allowed = list_at(node, "enum")
    if allowed and value not in allowed:
        told = ", ".join(json.dumps(item) for item in allowed)
        yield where, "FieldValueNotSupported", f"Unsupported value: {json.dumps(value)}: supported values: {told}"


def _text(node: Obj, value: str, where: str) -> Iterator[Cause]:
    said = f"Invalid value: {json.dumps(value)}: {where} in body should"
    longest, shortest, pattern = node.get("maxLength"), node.get("minLength"), text_at(node, "pattern")
    if isinstance(longest, int) and len(value) > longest:
        yield where, "FieldValueTooLong", f"Too long: may not be more than {longest} bytes"
    if isinstance(shortest, int) and len(value) < shortest:
        yield where, "FieldValueInvalid", f"{said} be at least {shortest} chars long"
    if pattern and not _matches(pattern, value):
        yield where, "FieldValueInvalid", f"{said} match '{pattern}'"
    form = text_at(node, "format")
    if form and not fits(form, value):
        told = f"Invalid value: {json.dumps(value)}: {where} in body must be of type {form}: {json.dumps(value)}"
        yield where, "FieldValueInvalid", told


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:
        # The dialect of Go has expressions that Python's does not: nobody can tell, so the value passes.
        return True


def _number(node: Obj, value: float, where: str) -> Iterator[Cause]:
    said = f"Invalid value: {value}: {where} in body should"
    least, most, step = node.get("minimum"), node.get("maximum"), node.get("multipleOf")
    if isinstance(least, int | float):
        if node.get("exclusiveMinimum") is True and value <= least:
            yield where, "FieldValueInvalid", f"{said} be greater than {least}"
        elif value < least:
            yield where, "FieldValueInvalid", f"{said} be greater than or equal to {least}"
    if isinstance(most, int | float):
        if node.get("exclusiveMaximum") is True and value >= most:
            yield where, "FieldValueInvalid", f"{said} be less than {most}"
        elif value > most:
            yield where, "FieldValueInvalid", f"{said} be less than or equal to {most}"
    if isinstance(step, int | float) and step > 0 and value % step:
        yield where, "FieldValueInvalid", f"{said} be a multiple of {step}"


def _list(node: Obj, value: list[Any], where: str) -> Iterator[Cause]:
    most, least = node.get("maxItems"), node.get("minItems")
    if isinstance(most, int) and len(value) > most:
        yield where, "FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items"
    if isinstance(least, int) and len(value) < least:
        yield (
            where,
            "FieldValueInvalid",
            f"Invalid value: {len(value)}: {where} in body should have at least {least} items",
        )
    for index, item in enumerate(value):
        yield from broken(items_node(node), item, f"{where}[{index}]")
    yield from _doubles(node, value, where)


def _doubles(node: Obj, value: list[Any], where: str) -> Iterator[Cause]:
    kind = node.get("x-kubernetes-list-type")
    if kind not in ("map", "set"):
        return
    keys = list_at(node, "x-kubernetes-list-map-keys")
    defaults = {key: field.get("default") for key, field in _fields(items_node(node)).items()}
    seen: list[Any] = []
    for index, item in enumerate(value):
        identity = {key: item.get(key, defaults.get(key)) for key in keys} if kind == "map" and is_obj(item) else item
        if identity in seen:
            told = f"Duplicate value: {json.dumps(identity, separators=(',', ':'))}"
            yield f"{where}[{index}]", "FieldValueDuplicate", told
        seen.append(identity)


def _fields(node: Obj) -> dict[str, Obj]:
    fields = node.get("properties")
    return {name: field for name, field in fields.items() if is_obj(field)} if is_obj(fields) else {}


def _object(node: Obj, value: Obj, where: str) -> Iterator[Cause]:
    for name in list_at(node, "required"):
        if name not in value:
            yield _inside(where, str(name)), "FieldValueRequired", "Required value"
    most, least = node.get("maxProperties"), node.get("minProperties")
    if isinstance(most, int) and len(value) > most:
        yield where, "FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items"
    if isinstance(least, int) and len(value) < least:
        told = f"Invalid value: {len(value)}: {where} in body should have at least {least} properties"
        yield where, "FieldValueInvalid", told
    fields, others = _fields(node), node.get("additionalProperties")
    for name, item in value.items():
        if not where and name in ("apiVersion", "kind", "metadata"):
            continue
        inner = fields.get(name, others)
        if is_obj(inner):
            yield from broken(inner, item, _inside(where, name))


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _combined(node: Obj, value: Any, where: str) -> Iterator[Cause]:
    for part in objs_at(node, "allOf"):
        yield from broken(part, value, where)
    any_of, one_of, none = objs_at(node, "anyOf"), objs_at(node, "oneOf"), node.get("not")
    said = f'Invalid value: "{_type_name(value)}": {where} in body must'
    if any_of and not any(_keeps(part, value) for part in any_of):
        yield where, "FieldValueInvalid", f"{said} validate at least one schema (anyOf)"
    if one_of and sum(_keeps(part, value) for part in one_of) != 1:
        yield where, "FieldValueInvalid", f"{said} validate one and only one schema (oneOf)"
    if is_obj(none) and none and _keeps(none, value):
        yield where, "FieldValueInvalid", f"{said} not validate the schema (not)"


def _keeps(node: Obj, value: Any) -> bool:
    return next(broken(node, value, "-"), None) is None
