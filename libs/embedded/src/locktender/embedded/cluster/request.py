"""One request to the API, taken apart: what verb on what kind, by whom, with what body."""

import json
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl

import yaml

from locktender.embedded.cluster.protobuf import MAGIC, decode_binary
from locktender.embedded.cluster.refusal import bad_request, method_not_allowed, no_such_path
from locktender.embedded.cluster.resources import Registry, Resource
from locktender.embedded.cluster.shapes import Obj, is_obj

BODY_LIMIT = 3 * 1024 * 1024
MUTATING = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_DEPTH_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Target:
    """What a path points at.

    Attributes:
        verb: as in RBAC: get, list, watch, create, update, patch, delete, deletecollection.
        namespace: "" for cluster scope and for all namespaces.
        name: "" for a collection.
        subresource: "", "status" or "scale".
    """

    verb: str
    resource: Resource
    namespace: str
    name: str
    subresource: str


def query_of(raw: bytes) -> dict[str, str]:
    """Query parameters; the last one wins. Clients may write `fieldManager` or, as Python's does, `field_manager`."""
    return dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))


def is_on(query: dict[str, str], name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1")


def target_of(registry: Registry, method: str, path: str, query: dict[str, str]) -> Target:
    """Resolve a path below `/api/v1` or `/apis/GROUP/VERSION`.

    Raises:
        Refusal: 404 for a kind or subresource that is not served, 405 for a method that it does not have.
    """
    steps = [step for step in path.split("/") if step]
    group, version, rest = ("", steps[1], steps[2:]) if steps[0] == "api" else (steps[1], steps[2], steps[3:])
    namespace = ""
    # `namespaces/NAME/status` is a part of the namespace, `namespaces/NAME/pods` a collection inside it.
    if len(rest) > 2 and rest[0] == "namespaces" and (group or rest[2] != "status"):  # noqa: PLR2004 - two steps are a name
        namespace, rest = rest[1], rest[2:]
    resource = registry.served(group, version, rest[0]) if rest else None
    if resource is None or len(rest) > 3 or bool(namespace) > resource.namespaced:  # noqa: PLR2004 - plural, name, part
        raise no_such_path()
    name, subresource = (*rest[1:], "", "")[:2]
    if name and resource.namespaced and not namespace:
        raise no_such_path()
    parts = {"": True, "status": resource.status, "scale": resource.scale}
    if not parts.get(subresource, False):
        raise no_such_path()
    return Target(_verb(method, name, subresource, query), resource, namespace, name, subresource)


# By method, whether there is a name, and whether there is a subresource.
_VERBS = {
    ("GET", True, False): "get",
    ("GET", True, True): "get",
    ("GET", False, False): "list",
    ("POST", False, False): "create",
    ("PUT", True, False): "update",
    ("PUT", True, True): "update",
    ("PATCH", True, False): "patch",
    ("PATCH", True, True): "patch",
    ("DELETE", True, False): "delete",
    ("DELETE", False, False): "deletecollection",
}


def _verb(method: str, name: str, subresource: str, query: dict[str, str]) -> str:
    verb = _VERBS.get((method, bool(name), bool(subresource)))
    if verb is None:
        raise method_not_allowed()
    return "watch" if method == "GET" and is_on(query, "watch") else verb


def decode(raw: bytes) -> Any:
    """A body as JSON, else as YAML with one document; or in the binary form, for the kinds that have it here.

    Raises:
        Refusal: 400 for what is neither, for keys that appear twice, and for nesting beyond a bound.
    """
    if raw.startswith(MAGIC):
        return decode_binary(raw)
    try:
        text = raw.decode()
        value = _json(text) if text.lstrip()[:1] in ("{", "[") else _plain(_yaml(text))
        # What cannot be written as JSON in UTF-8 again (NaN, half a surrogate pair) must not be stored.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError, yaml.YAMLError) as fault:
        raise bad_request(f"the body cannot be read: {_reason(fault)}") from None
    _check_depth(value)
    return value


def decode_object(raw: bytes) -> Obj:
    """A body that must be an object; an empty body is an empty object.

    Raises:
        Refusal: 400.
    """
    if not raw.strip():
        return {}
    value = decode(raw)
    if not is_obj(value):
        raise bad_request("the body must be one object")
    return value


def _reason(fault: Exception) -> str:
    # The faulty text itself may hold a secret, so only the kind of fault and its place are told.
    if isinstance(fault, json.JSONDecodeError):
        return f"invalid JSON at line {fault.lineno} column {fault.colno}"
    if isinstance(fault, _Duplicate):
        return str(fault)
    if isinstance(fault, yaml.MarkedYAMLError) and fault.problem_mark:
        return f"invalid YAML at line {fault.problem_mark.line + 1}"
    return "it is neither JSON nor YAML in UTF-8"


class _Duplicate(ValueError):
    def __init__(self, key: object) -> None:
        super().__init__(f'key "{key}" already set in map')


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> Obj:
    found: Obj = {}
    for name, value in pairs:
        if name in found:
            raise _Duplicate(name)
        found[name] = value
    return found


class _Loader(yaml.SafeLoader):
    """YAML as the API reads it: no anchors, no dates, no key twice."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not taken")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - the signature of the base class
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise _Duplicate(key)
        return super().construct_mapping(node, deep=deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":value"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _yaml(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader


def _plain(value: Any) -> Any:
    # Keys that YAML reads as numbers or booleans become the strings that JSON has for them.
    return json.loads(json.dumps(value))


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(_DEPTH_LIMIT):
        level = [
            child
            for item in level
            for child in (item.values() if is_obj(item) else cast("list[Any]", item) if isinstance(item, list) else ())
        ]
        if not level:
            return
    raise bad_request(f"the body is nested more than {_DEPTH_LIMIT} levels deep")
