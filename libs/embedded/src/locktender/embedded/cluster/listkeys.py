"""How the lists of a kind merge: by key, as a set, or as one value, as its schema says.

A kind without a schema knows only the metadata; every other list of it is one value.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from locktender.embedded.cluster.schema.types import METADATA, field_node, items_node, resolved, type_node
from locktender.embedded.cluster.shapes import Obj, at, is_list, is_obj, list_at, text_at

Names = tuple[str, ...]
"""Field names from the root of an object; items of lists add nothing."""

AS_SET: tuple[str, ...] = ()
_UNKNOWN: Obj = {}


@dataclass(frozen=True, slots=True)
class Shape:
    """The schema of a kind, looked up by field names."""

    root: Obj
    _known: dict[Names, Obj] = field(default_factory=dict[Names, Obj], repr=False, compare=False)

    def node(self, names: Names) -> Obj:
        """The schema at `names`, an empty one where there is none."""
        found = self._known.get(names)
        if found is None:
            found = self._known[names] = self._find(names)
        return found

    def _find(self, names: Names) -> Obj:
        if not names:
            return resolved(self.root)
        if names == ("metadata",):
            return type_node(METADATA)
        parent = self.node(names[:-1])
        while parent.get("type") == "array":
            parent = resolved(items_node(parent))
        node = field_node(parent, names[-1]) or _UNKNOWN
        # What a field says about merging goes before what its type says.
        return resolved(node) | node if "$ref" in node else node

    def keys_at(self, names: Names) -> tuple[str, ...] | None:
        """The key fields of the list at `names`; `AS_SET` for a set, None for one value."""
        node = self.node(names)
        match node.get("x-kubernetes-list-type"):
            case "map":
                return tuple(list_at(node, "x-kubernetes-list-map-keys"))
            case "set":
                return AS_SET
            case _:
                return None

    def patch_keys_at(self, names: Names) -> tuple[str, ...] | None:
        """As `keys_at`, for strategic merge patches, which know one key a list."""
        node = self.node(names)
        key = text_at(node, "x-kubernetes-patch-merge-key")
        if key:
            return (key,)
        return AS_SET if "merge" in text_at(node, "x-kubernetes-patch-strategy").split(",") else None

    def retains(self, names: Names) -> bool:
        """Whether a strategic patch of the map (or of a list item) at `names` may name the only fields that stay."""
        return "retainKeys" in text_at(self.node(names), "x-kubernetes-patch-strategy")

    def is_whole(self, names: Names) -> bool:
        """Whether the map at `names` is owned and replaced as one value."""
        return self.node(names).get("x-kubernetes-map-type") == "atomic"

    def default_at(self, names: Names, key: str) -> Any:
        """What a key of the list at `names` is when an item does not say it."""
        node = field_node(resolved(items_node(self.node(names))), key)
        return at(node, "default")


UNTYPED = Shape(_UNKNOWN)


def key_of(item: object, keys: tuple[str, ...], shape: Shape = UNTYPED, names: Names = ()) -> str | None:
    """The path element of a list item, such as `k:{"name":"web"}`; None when the item lacks a key."""
    if keys == AS_SET:
        return None if is_obj(item) or is_list(item) else f"v:{_compact(item)}"
    if not is_obj(item):
        return None
    values: Obj = {key: item[key] if key in item else shape.default_at(names, key) for key in keys}
    if any(value is None for value in values.values()):
        return None
    return f"k:{_compact(values)}"


def elements(shape: Shape, names: Names, items: list[Any]) -> dict[str, Any] | None:
    """The items of a list by their path element, None when the list is one value.

    A list that breaks its own keys (one is missing, or twice there) is treated as one value as well.
    """
    keys = shape.keys_at(names)
    return None if keys is None else keyed(shape, names, items, keys)


def keyed(shape: Shape, names: Names, items: list[Any], keys: tuple[str, ...]) -> dict[str, Any] | None:
    """The items of a list by the path element that these keys make, None when they do not tell them apart."""
    found: dict[str, Any] = {}
    for item in items:
        element = key_of(item, keys, shape, names)
        if element is None or element in found:
            return None
        found[element] = item
    return found


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
