"""Volumes follow the claims they belong to: available, bound, released, and removed when they are to be."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import CLAIMS, Plane
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.quantity import amount
from locktender.embedded.cluster.selectors import selects
from locktender.embedded.cluster.shapes import (
    Obj,
    is_going,
    labels_of,
    list_at,
    name_of,
    namespace_of,
    obj_at,
    text_at,
    uid_of,
)

VOLUMES = "persistentvolumes"


class VolumeController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def keys(self, change: Change) -> Iterable[Key]:
        if change.key.kind == VOLUMES:
            return [] if change.type == "DELETED" else [change.key]
        if change.key.kind == CLAIMS:
            name = text_at(change.after, "spec", "volumeName")
            return [Key(VOLUMES, "", name)] if name else []
        return []

    def reconcile(self, key: Key) -> float | None:
        volume = self._plane.get(VOLUMES, "", key.name)
        if volume is None or is_going(volume):
            return None
        reference = obj_at(volume, "spec", "claimRef")
        if not reference:
            self._phase(volume, "Available")
            return None
        claim = self._plane.get(CLAIMS, text_at(reference, "namespace"), text_at(reference, "name"))
        bound_to = text_at(reference, "uid")
        if claim is not None and (not bound_to or uid_of(claim) == bound_to):
            bound = text_at(claim, "spec", "volumeName") == key.name
            self._phase(volume, "Bound" if bound else "Available")
            return None
        if not bound_to:
            # Kept for a claim that is still to come.
            self._phase(volume, "Available")
            return None
        self._phase(volume, "Released")
        if text_at(volume, "spec", "persistentVolumeReclaimPolicy") == "Delete":
            self._plane.delete(VOLUMES, volume)
        return None

    def _phase(self, volume: Obj, phase: str) -> None:
        if text_at(volume, "status", "phase") != phase:
            self._plane.set_status(VOLUMES, volume, {"phase": phase, "lastPhaseTransitionTime": self._plane.stamp})


def fitting(plane: Plane, claim: Obj, storage_class: str) -> Obj | None:
    """The smallest volume made by hand that a claim may take, None when there is none."""
    wanted = amount(obj_at(claim, "spec", "resources", "requests").get("storage"))
    named = text_at(claim, "spec", "volumeName")
    modes, selector = list_at(claim, "spec", "accessModes"), obj_at(claim, "spec", "selector")
    fits: list[tuple[object, str, Obj]] = []
    for volume in plane.cluster.store.select(VOLUMES):
        size = amount(obj_at(volume, "spec", "capacity").get("storage"))
        if (
            not is_going(volume)
            and _is_free(volume, claim)
            and (not named or name_of(volume) == named)
            and text_at(volume, "spec", "storageClassName") == storage_class
            and size >= wanted
            and set(map(str, modes)) <= set(map(str, list_at(volume, "spec", "accessModes")))
            and (not selector or selects(selector, labels_of(volume)))
        ):
            fits.append((size, name_of(volume), volume))
    fits.sort(key=lambda row: (not obj_at(row[2], "spec", "claimRef"), row[0], row[1]))
    return fits[0][2] if fits else None


def _is_free(volume: Obj, claim: Obj) -> bool:
    reference = obj_at(volume, "spec", "claimRef")
    if not reference:
        return True
    mine = (text_at(reference, "namespace"), text_at(reference, "name")) == (namespace_of(claim), name_of(claim))
    return mine and text_at(reference, "uid") in ("", uid_of(claim))
