"""The short way for statuses that controllers write: no checks, and nothing but the status changes hands."""

from dataclasses import replace

from locktender.embedded.cluster.fieldset import fields_of, from_v1
from locktender.embedded.cluster.listkeys import Shape
from locktender.embedded.cluster.ownership import Owner, entry_of
from locktender.embedded.cluster.shapes import Obj, clone, obj_at, objs_at, text_at


def with_status(shape: Shape, before: Obj, status: Obj, writer: Owner) -> Obj:
    """The object with another status, and with managers as after any other write. It shares its rest with `before`."""
    after = {**before, "metadata": {**before["metadata"]}, "status": clone(status)}
    old = fields_of(shape, {"status": before["status"]}) if "status" in before else {}
    new = fields_of(shape, {"status": after["status"]})
    gone = frozenset(old.keys() - new.keys())
    changed = frozenset(field for field, value in new.items() if field not in old or old[field] != value)
    held: frozenset[tuple[str, ...]] = frozenset()
    entries: list[Obj] = []
    for entry in objs_at(before, "metadata", "managedFields"):
        if "f:status" not in obj_at(entry, "fieldsV1"):
            entries.append(entry)
            continue
        owner = _owner_of(entry)
        if owner.is_same(writer):
            held = owner.fields - gone
        elif left := owner.fields - gone - changed:
            entries.append(entry_of(replace(owner, fields=left)))
    if mine := held | changed:
        entries.append(entry_of(replace(writer, fields=mine)))
    entries.sort(key=_rank)
    after["metadata"]["managedFields"] = entries
    return after


def _owner_of(entry: Obj) -> Owner:
    return Owner(
        manager=text_at(entry, "manager"),
        operation="Apply" if text_at(entry, "operation") == "Apply" else "Update",
        api_version=text_at(entry, "apiVersion"),
        subresource=text_at(entry, "subresource"),
        time=text_at(entry, "time"),
        fields=frozenset(from_v1(obj_at(entry, "fieldsV1"))),
    )


def _rank(entry: Obj) -> tuple[bool, str, str, str]:
    late = text_at(entry, "operation") != "Apply"
    return late, text_at(entry, "time"), text_at(entry, "manager"), text_at(entry, "subresource")
