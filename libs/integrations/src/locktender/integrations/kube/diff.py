"""What differs between two states of one object, field by field, in words that show no secret. Pure."""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import cast

from locktender.contracts.deployments.plan import FieldChange
from locktender.contracts.kernel.sensitive import is_sensitive_name
from locktender.integrations.kube.change_words import MISSING, change_of, safe
from locktender.integrations.kube.json_value import Json, JsonObject, as_object
from locktender.integrations.kube.masking import Masked, masked
from locktender.integrations.kube.stamps import STAMPS

MOST_CHANGES = 40
"""Changes that are told one by one, per object."""

_SERVERS_OWN = frozenset({
    "managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "selfLink",
})  # fmt: skip
_PLAIN = re.compile(r"[A-Za-z_][\w-]*")
# Lists whose items are known by more or by other members than their name.
_KEYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "ports": (("name",), ("containerPort", "protocol"), ("port", "protocol"), ("containerPort",), ("port",)),
    "volumeMounts": (("mountPath",),),
    "volumeDevices": (("devicePath",),),
    "hostAliases": (("ip",),),
    "conditions": (("type",),),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
    "ownerReferences": (("uid",),),
}
_BY_NAME = (("name",),)


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """Changes in the order of the fields. `omitted` more are not told one by one."""

    changes: tuple[FieldChange, ...]
    omitted: int = 0


def field_diff(
    before: JsonObject,
    after: JsonObject,
    *,
    partial: bool = False,
    secrets: Collection[str] = (),
    most: int = MOST_CHANGES,
) -> FieldDiff:
    """What turns `before` into `after`. Empty only when they say the same.

    Left out is what the server keeps for itself (status, managed fields, versions, times) and what stamps a run of
    ours. Items of lists are matched by what names them, where that is possible.

    Args:
        before: the object as it is.
        after: the object as it would be.
        partial: `after` is a manifest; what it does not mention stays.
        secrets: a value with one of these texts in it is withheld, wherever it stands.
        most: changes to tell one by one.
    """
    # Most of most objects stays as it is, and need not be masked only to be found equal.
    one, other = _pruned(_told(before), _told(after))
    found = _changes("", masked(one), masked(other), partial=partial)
    told = tuple(safe(change, secrets) for change in islice(found, most))
    return FieldDiff(told, sum(1 for _ in found))


def _told(body: JsonObject) -> JsonObject:
    metadata: JsonObject = {
        name: value for name, value in as_object(body.get("metadata")).items() if name not in _SERVERS_OWN
    }
    annotations: JsonObject = {
        name: value for name, value in as_object(metadata.pop("annotations", None)).items() if name not in STAMPS
    }
    if annotations:
        metadata["annotations"] = annotations
    told: JsonObject = {name: value for name, value in body.items() if name != "status"}
    told["metadata"] = metadata
    return told


def _pruned(one: JsonObject, other: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Both without the mappings and lists that are the same in both and decide nothing about masking the rest."""
    left: JsonObject = {}
    right: JsonObject = dict(other)
    for name, value in one.items():
        inner = other.get(name)
        if isinstance(value, dict | list) and _alike(value, inner):
            del right[name]
        elif isinstance(value, dict) and isinstance(inner, dict) and not is_sensitive_name(name):
            left[name], right[name] = _pruned(value, inner)
        else:
            left[name] = value
    return left, right


def _alike(one: Json, other: Json) -> bool:
    """Whether both are certainly the same. Python calls `1` and `True` equal, JSON does not."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(inner, other[name]) for name, inner in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return one == other


def _changes(path: str, before: Masked, after: Masked, *, partial: bool) -> Iterator[FieldChange]:
    if isinstance(before, dict) and isinstance(after, dict):
        names = after if partial else dict.fromkeys((*before, *after))
        for name in names:
            yield from _changes(
                _below(path, name), before.get(name, MISSING), after.get(name, MISSING), partial=partial
            )
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(path, before, after, partial=partial)
    elif not _same(before, after):
        yield change_of(path, before, after)


def _list_changes(path: str, before: list[Masked], after: list[Masked], *, partial: bool) -> Iterator[FieldChange]:
    keys = next(
        (keys for keys in _KEYS.get(_last(path), _BY_NAME) if _named_by(keys, before) and _named_by(keys, after)), None
    )
    if keys is None:
        for place in range(max(len(before), len(after))):
            old, new = _at(before, place), _at(after, place)
            yield from _changes(f"{path}[{place}]", old, new, partial=partial)
        return
    olds, news = _by(keys, before), _by(keys, after)
    common = [name for name in news if name in olds]
    if common != [name for name in olds if name in news]:
        yield change_of(path, cast("Masked", [*olds]), cast("Masked", [*news]))
    for name in dict.fromkeys((*olds, *news)):
        old, new = olds.get(name, MISSING), news.get(name, MISSING)
        if not (partial and new is MISSING):
            yield from _changes(f"{path}[{name}]", old, new, partial=partial)


def _named_by(keys: tuple[str, ...], items: list[Masked]) -> bool:
    names = [_name(keys, item) for item in items]
    return None not in names and len(set(names)) == len(names)


def _by(keys: tuple[str, ...], items: list[Masked]) -> dict[str, Masked]:
    return {_name(keys, item) or "": item for item in items}


def _name(keys: tuple[str, ...], item: Masked) -> str | None:
    """`name=web`, or None for an item without one of `keys`."""
    parts: list[str] = []
    for key in keys:
        value = item.get(key) if isinstance(item, dict) else None
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            return None
        parts.append(f"{key}={value}")
    return ",".join(parts)


def _at(items: list[Masked], place: int) -> Masked:
    return items[place] if place < len(items) else MISSING


def _same(before: Masked, after: Masked) -> bool:
    """Equality as in JSON: a boolean is no number."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    return before == after


def _below(path: str, name: str) -> str:
    if _PLAIN.fullmatch(name):
        return f"{path}.{name}" if path else name
    return f"{path}[{json.dumps(name, ensure_ascii=False)}]"


def _last(path: str) -> str:
    return path.rpartition(".")[2]
