"""How lists of the standard kinds merge: by key, as a set, or as one value.

The real server reads this from its schemas. Here it is a table over the last two field names of a path, which is
unambiguous for the kinds served. Whatever is not in the table is one value (atomic), as it is for custom resources
without a structural schema.
"""

import json
from typing import Any

from locktender.embedded.cluster.shapes import Obj, is_list, is_obj

Names = tuple[str, ...]
"""Field names from the root of an object; items of lists add nothing."""

AS_SET: tuple[str, ...] = ()

_DEFAULTS: Obj = {"protocol": "TCP"}
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_ANY_KIND: dict[tuple[str, str], tuple[str, ...]] = {
    ("metadata", "ownerReferences"): ("uid",),
    ("metadata", "finalizers"): AS_SET,
    ("spec", "containers"): ("name",),
    ("spec", "initContainers"): ("name",),
    ("spec", "ephemeralContainers"): ("name",),
    ("spec", "volumes"): ("name",),
    ("spec", "imagePullSecrets"): ("name",),
    ("spec", "hostAliases"): ("ip",),
    ("spec", "topologySpreadConstraints"): ("topologyKey", "whenUnsatisfiable"),
    ("spec", "schedulingGates"): ("name",),
    ("spec", "resourceClaims"): ("name",),
    ("status", "conditions"): ("type",),
    **{(c, "ports"): ("containerPort", "protocol") for c in _CONTAINERS},
    **{(c, "env"): ("name",) for c in _CONTAINERS},
    **{(c, "volumeMounts"): ("mountPath",) for c in _CONTAINERS},
    **{(c, "volumeDevices"): ("devicePath",) for c in _CONTAINERS},
}
_ONE_KIND: dict[tuple[str, str, str], tuple[str, ...] | None] = {
    ("Service", "spec", "ports"): ("port", "protocol"),
    ("ServiceAccount", "", "secrets"): ("name",),
    ("Job", "status", "conditions"): None,
    ("StatefulSet", "spec", "volumeClaimTemplates"): None,
}
# Selectors are replaced as a whole; merging two of them would select what nobody asked for.
_WHOLE_MAPS = frozenset({("spec", "selector"), ("spec", "podSelector"), ("spec", "nodeSelector"), ("", "roleRef")})


def keys_at(kind: str, names: Names) -> tuple[str, ...] | None:
    """The key fields of the list at `names`; `AS_SET` for a set, None for one value. `kind` "" knows only metadata."""
    pair = _pair(names)
    if not kind and pair[0] != "metadata":
        return None
    if (kind, *pair) in _ONE_KIND:
        return _ONE_KIND[kind, *pair]
    return _ANY_KIND.get(pair)


def is_whole(kind: str, names: Names) -> bool:
    """Whether the map at `names` is owned and replaced as one value."""
    return bool(kind) and _pair(names) in _WHOLE_MAPS


def _pair(names: Names) -> tuple[str, str]:
    parent, name = ("", "", *names)[-2:]
    return parent, name


def key_of(item: object, keys: tuple[str, ...]) -> str | None:
    """The path element of a list item, such as `k:{"name":"web"}`; None when the item lacks a key."""
    if keys == AS_SET:
        return None if is_obj(item) or is_list(item) else f"v:{_compact(item)}"
    if not is_obj(item):
        return None
    values: Obj = {key: item.get(key, _DEFAULTS.get(key)) for key in keys}
    if any(value is None for value in values.values()):
        return None
    return f"k:{_compact(values)}"


def elements(kind: str, names: Names, items: list[Any]) -> dict[str, Any] | None:
    """The items of a list by their path element, None when the list is one value.

    A list that breaks its own keys (one is missing, or twice there) is treated as one value as well.
    """
    keys = keys_at(kind, names)
    if keys is None:
        return None
    found: dict[str, Any] = {}
    for item in items:
        element = key_of(item, keys)
        if element is None or element in found:
            return None
        found[element] = item
    return found


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
