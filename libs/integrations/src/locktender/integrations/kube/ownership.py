"""Handing the fields of other managers over to ours, so that what a manifest no longer says goes away.

Client-side apply and plain updates own fields under `Update`. Server-side apply never removes those: they belong to
somebody else. Here they become ours, as Kubernetes' own clients do it (`csaupgrade`): before the first apply, by a
change of `metadata.managedFields` alone.
"""

from collections.abc import Collection
from dataclasses import dataclass

from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object, as_text, copied
from locktender.integrations.kube.stamps import MANAGER

_SEVERAL = 5


@dataclass(frozen=True, slots=True)
class Handover:
    """Field ownership as it is to be.

    Attributes:
        managed_fields: the whole `metadata.managedFields`.
        resource_version: of the object that was read; a later one must not be overwritten.
        managers: whose fields become ours.
    """

    managed_fields: list[Json]
    resource_version: str
    managers: tuple[str, ...]


def handover(live: JsonObject, managers: Collection[str], *, ours: str = MANAGER) -> Handover | None:
    """How ownership of `live` passes from `managers` to `ours`; None where none of them owns anything.

    Only what was written by `Update` on the object itself counts, not on a subresource; entries of `ours` count like
    those of `managers`. Fields written in another version of the API than ours cannot be told apart from ours, so their
    entries are dropped, and the fields stay without an owner.
    """
    metadata = as_object(live.get("metadata"))
    entries = [as_object(entry) for entry in as_array(metadata.get("managedFields"))]
    giving = {*managers, ours}
    given = [entry for entry in entries if _gives(entry, giving)]
    if not given:
        return None
    rest = [entry for entry in entries if not _gives(entry, giving)]
    mine = next((entry for entry in rest if _is_applied_by(entry, ours)), None)
    taken = as_object(copied(mine if mine is not None else given[0]))
    for entry in given:
        if entry.get("apiVersion") == taken.get("apiVersion"):
            taken["fieldsV1"] = _union(as_object(taken.get("fieldsV1")), as_object(entry.get("fieldsV1")))
    kept: list[Json] = [entry for entry in rest if entry is not mine]
    names = tuple(dict.fromkeys(as_text(entry.get("manager")) for entry in given))
    return Handover(
        [taken | {"manager": ours, "operation": "Apply"}, *kept],
        as_text(metadata.get("resourceVersion")),
        names[:_SEVERAL],
    )


def _gives(entry: JsonObject, managers: Collection[str]) -> bool:
    return (
        entry.get("operation") == "Update"
        and not as_text(entry.get("subresource"))
        and as_text(entry.get("manager")) in managers
    )


def _is_applied_by(entry: JsonObject, manager: str) -> bool:
    return (
        entry.get("operation") == "Apply"
        and not as_text(entry.get("subresource"))
        and as_text(entry.get("manager")) == manager
    )


def _union(one: JsonObject, other: JsonObject) -> JsonObject:
    """The fields of both sets. A set is a tree in which `.` marks that a node itself is owned."""
    both: JsonObject = dict(one)
    for name, inner in other.items():
        both[name] = _union(as_object(both.get(name)), as_object(inner))
    return both
