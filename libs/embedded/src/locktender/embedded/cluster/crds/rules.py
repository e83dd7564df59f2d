"""The rules that a CustomResourceDefinition must keep."""

import json
from collections.abc import Iterator

from locktender.embedded.cluster.refusal import Cause
from locktender.embedded.cluster.shapes import Obj, at, is_obj, list_at, name_of, obj_at, objs_at, text_at

_REQUIRED, _INVALID = "FieldValueRequired", "FieldValueInvalid"
_FREE = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")


def definition_rules(crd: Obj) -> Iterator[Cause]:
    """Every rule that a definition breaks."""
    group, plural = text_at(crd, "spec", "group"), text_at(crd, "spec", "names", "plural")
    if name_of(crd) != f"{plural}.{group}":
        yield "metadata.name", _INVALID, f'Invalid value: "{name_of(crd)}": must be spec.names.plural+"."+spec.group'
    if not group:
        yield "spec.group", _REQUIRED, "Required value"
    elif "." not in group:
        yield "spec.group", _INVALID, f'Invalid value: "{group}": should be a domain with at least one dot'
    scope = text_at(crd, "spec", "scope")
    if scope not in ("Namespaced", "Cluster"):
        told = f'Unsupported value: "{scope}": supported values: "Cluster", "Namespaced"'
        yield ("spec.scope", "FieldValueNotSupported", told) if scope else ("spec.scope", _REQUIRED, "Required value")
    for name in ("plural", "kind"):
        if not text_at(crd, "spec", "names", name):
            yield f"spec.names.{name}", _REQUIRED, "Required value"
    yield from _versions(crd)


def _versions(crd: Obj) -> Iterator[Cause]:
    versions = objs_at(crd, "spec", "versions")
    names = [text_at(version, "name") for version in versions]
    if sum(version.get("storage") is True for version in versions) != 1:
        told = f"Invalid value: {json.dumps(names)}: must have exactly one version marked as storage version"
        yield "spec.versions", _INVALID, told
    for index, version in enumerate(versions):
        where = f"spec.versions[{index}]"
        if names.index(names[index]) != index:
            yield f"{where}.name", "FieldValueDuplicate", f'Duplicate value: "{names[index]}"'
        schema = at(version, "schema", "openAPIV3Schema")
        if not is_obj(schema):
            yield f"{where}.schema.openAPIV3Schema", _REQUIRED, "Required value: schemas are required"
            continue
        place = f"{where}.schema.openAPIV3Schema"
        if schema.get("type") != "object":
            told = f"Invalid value: {json.dumps(schema.get('type', ''))}: must be object at the root"
            yield f"{place}.type", _INVALID, told
        yield from _structural(schema, place)


def _structural(schema: Obj, where: str) -> Iterator[Cause]:
    kind = text_at(schema, "type")
    if not kind and not any(schema.get(name) is True for name in _FREE):
        yield f"{where}.type", _REQUIRED, "Required value: must not be empty for specified object fields"
    if kind == "array" and not is_obj(schema.get("items")):
        yield f"{where}.items", _REQUIRED, "Required value: must be specified"
    if schema.get("x-kubernetes-list-type") == "map" and not list_at(schema, "x-kubernetes-list-map-keys"):
        told = "Required value: must not be empty if x-kubernetes-list-type is map"
        yield f"{where}.x-kubernetes-list-map-keys", _REQUIRED, told
    for name, field in obj_at(schema, "properties").items():
        if is_obj(field) and not (name == "metadata" and where.endswith("openAPIV3Schema")):
            yield from _structural(field, f"{where}.properties[{name}]")
    for name in ("items", "additionalProperties"):
        if is_obj(schema.get(name)):
            yield from _structural(schema[name], f"{where}.{name}")
