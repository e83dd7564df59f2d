"""Server-side apply: merge what a manager wants into what is there, with field ownership.

The rules are those of the real server: an applied field that another manager owns with another value is a conflict
unless forced; equal values are shared; a field that the manager applied before and no longer applies is removed
unless somebody else owns it too.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from locktender.embedded.cluster.fieldset import Field, fields_of, spoken
from locktender.embedded.cluster.listkeys import Names, Shape, elements, key_of
from locktender.embedded.cluster.ownership import Owner, owners_of
from locktender.embedded.cluster.refusal import apply_conflict
from locktender.embedded.cluster.shapes import Obj, clone, is_list, is_obj


@dataclass(frozen=True, slots=True)
class Applied:
    """The merged object and who owns what in it afterwards. Nothing was stored."""

    obj: Obj
    owners: list[Owner]


def apply(shape: Shape, live: Obj, config: Obj, writer: Owner, *, force: bool) -> Applied:
    """Apply `config` over `live` for `writer` (whose own fields are ignored).

    Raises:
        Refusal: 409 with one cause a field, when others own what is applied differently and `force` is off.
    """
    wanted = fields_of(shape, config)
    held = fields_of(shape, live)
    owners = owners_of(live)
    mine = next((owner for owner in owners if owner.is_same(writer)), None)
    others = [owner for owner in owners if owner is not mine]

    differing = {field for field, value in wanted.items() if field not in held or held[field] != value}
    clashes = [(owner, sorted(owner.fields & differing)) for owner in others]
    clashes = [(owner, fields) for owner, fields in clashes if fields]
    if clashes and not force:
        raise _refusal(clashes)
    others = [owner.without(differing) for owner in others]

    merged = _merge(shape, live, config, ())
    kept: set[Field] = set(wanted).union(*(owner.fields for owner in others))
    if mine:
        _prune(shape, merged, mine.fields - wanted.keys(), kept)
    fields = frozenset(wanted)
    if mine and mine.fields == fields:
        return Applied(merged, [*others, mine])
    return Applied(merged, [*others, replace(writer, fields=fields)])


def _refusal(clashes: list[tuple[Owner, list[Field]]]) -> Exception:
    causes: list[Obj] = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {owner.spoken()}",
            "field": spoken(field),
        }
        for owner, fields in clashes
        for field in fields
    ]
    if len(causes) == 1:
        only = causes[0]
        return apply_conflict(f"Apply failed with 1 conflict: {only['message']}: {only['field']}", causes)
    told = "\n".join(
        f"conflicts with {owner.spoken()}:\n" + "\n".join(f"- {spoken(field)}" for field in fields)
        for owner, fields in clashes
    )
    return apply_conflict(f"Apply failed with {len(causes)} conflicts: {told}", causes)


def _merge(shape: Shape, live: Any, config: Any, names: Names) -> Any:
    if is_obj(live) and is_obj(config) and not (names and shape.is_whole(names)):
        merged = clone(live)
        for name, value in config.items():
            merged[name] = _merge(shape, live.get(name), value, (*names, name))
        return merged
    if is_list(live) and is_list(config):
        old, new = elements(shape, names, live), elements(shape, names, config)
        if old is not None and new is not None:
            merged_items = {element: _merge(shape, old.get(element), item, names) for element, item in new.items()}
            rest = {element: clone(item) for element, item in old.items() if element not in new}
            items = {**merged_items, **rest}
            return [items[element] for element in _in_order(list(old), list(new))]
    return clone(config)


def _in_order(old: list[str], new: list[str]) -> list[str]:
    """The order of merged items: as applied, with the items of others kept where they stood."""
    applied, known = set(new), set(old)
    order: list[str] = []
    place = 0
    for element in new:
        while place < len(old) and old[place] != element and (element in known or old[place] not in applied):
            if old[place] not in applied:
                order.append(old[place])
            place += 1
        if place < len(old) and old[place] == element:
            place += 1
        order.append(element)
    return [*order, *(element for element in old[place:] if element not in applied)]


def _prune(shape: Shape, obj: Obj, gone: Iterable[Field], kept: set[Field]) -> None:
    ancestors = {field[:depth] for field in kept for depth in range(1, len(field) + 1)}
    for field in sorted(gone):
        if field in ancestors:
            continue
        _remove(shape, obj, field)
        # A map or list that only held what is gone would not be serialized by the real server either.
        for depth in range(len(field) - 1, 0, -1):
            if field[:depth] in ancestors or not _remove(shape, obj, field[:depth], only_empty=True):
                break


def _remove(shape: Shape, obj: Obj, field: Field, *, only_empty: bool = False) -> bool:
    """Take a field out of the object. False when it was not there, or not empty as demanded."""
    parent: Any = obj
    names: Names = ()
    for element in field[:-1]:
        parent = _child(parent, element, shape, names)
        if element.startswith("f:"):
            names = (*names, element[2:])
    child = _child(parent, field[-1], shape, names)
    if child is None or (only_empty and child not in ({}, [])):
        return False
    if is_obj(parent):
        parent.pop(field[-1][2:], None)
    elif is_list(parent):
        parent.remove(child)
    return True


def _child(parent: Any, element: str, shape: Shape, names: Names) -> Any:
    if is_obj(parent):
        return parent.get(element[2:])
    keys = shape.keys_at(names)
    if not is_list(parent) or keys is None:
        return None
    if element.startswith("v:"):
        wanted = json.loads(element[2:])
        return wanted if wanted in parent else None
    return next((item for item in parent if key_of(item, keys, shape, names) == element), None)
