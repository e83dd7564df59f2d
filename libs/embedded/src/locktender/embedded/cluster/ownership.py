"""Who owns which field of an object: `metadata.managedFields`, read and written."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from locktender.embedded.cluster.fieldset import Field, fields_of, from_v1, to_v1
from locktender.embedded.cluster.listkeys import Shape
from locktender.embedded.cluster.shapes import Obj, obj_at, objs_at, text_at

Operation: TypeAlias = Literal["Apply", "Update"]


@dataclass(frozen=True, slots=True)
class Owner:
    """One manager of an object through one operation and subresource, and the fields it owns."""

    manager: str
    operation: Operation
    api_version: str
    subresource: str
    time: str
    fields: frozenset[Field]

    def is_same(self, other: "Owner") -> bool:
        """Whether both are the same manager in the same role; fields and time do not matter."""
        mine = (self.manager, self.operation, self.subresource)
        return mine == (other.manager, other.operation, other.subresource)

    def without(self, fields: Iterable[Field]) -> "Owner":
        return replace(self, fields=self.fields.difference(fields))

    def spoken(self) -> str:
        """The manager as conflict messages spell it."""
        said = f'"{self.manager}"'
        if self.subresource:
            said += f' with subresource "{self.subresource}"'
        if self.operation == "Update":
            said += f" using {self.api_version}"
            if self.time:
                said += f" at {self.time}"
        return said


def owners_of(obj: Obj) -> list[Owner]:
    """The owners an object records."""
    return [
        Owner(
            manager=text_at(entry, "manager"),
            operation="Apply" if text_at(entry, "operation") == "Apply" else "Update",
            api_version=text_at(entry, "apiVersion"),
            subresource=text_at(entry, "subresource"),
            time=text_at(entry, "time"),
            fields=frozenset(from_v1(obj_at(entry, "fieldsV1"))),
        )
        for entry in objs_at(obj, "metadata", "managedFields")
    ]


def record(obj: Obj, owners: Iterable[Owner]) -> None:
    """Write the owners into an object; those that own nothing are left out."""
    kept = [owner for owner in owners if owner.fields]
    kept.sort(key=lambda o: (o.operation != "Apply", o.time, o.manager, o.subresource))
    if kept:
        obj["metadata"]["managedFields"] = [entry_of(owner) for owner in kept]
    else:
        obj["metadata"].pop("managedFields", None)


def entry_of(owner: Owner) -> Obj:
    """An owner as an object records it."""
    entry: Obj = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.api_version,
        "time": owner.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": to_v1(owner.fields),
    }
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def after_update(shape: Shape, before: Obj | None, after: Obj, writer: Owner) -> list[Owner]:
    """The owners after a plain write: the writer owns what it changed, nobody owns what is gone."""
    # Parts that are the same hold no field that changed hands.
    known = before or {}
    same = {name for name, value in known.items() if after.get(name) == value}
    old = fields_of(shape, {name: value for name, value in known.items() if name not in same})
    new = fields_of(shape, {name: value for name, value in after.items() if name not in same})
    removed = old.keys() - new.keys()
    changed = {field for field, value in new.items() if field not in old or old[field] != value}
    owners = owners_of(after) if before is not None else []
    mine = next((owner for owner in owners if owner.is_same(writer)), None)
    others = [owner.without(removed | changed) for owner in owners if owner is not mine]
    held = mine.fields - removed if mine else frozenset[Field]()
    if mine and not changed:
        return [*others, replace(mine, fields=held)]
    return [*others, replace(writer, fields=held | changed)]
