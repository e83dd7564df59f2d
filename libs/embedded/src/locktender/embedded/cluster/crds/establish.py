"""Definitions become served kinds a moment after they were stored, and take their objects with them when they go."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import Plane, conditioned
from locktender.embedded.cluster.crds.definition import CLEANUP, CRDS, is_established
from locktender.embedded.cluster.crds.naming import clash
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import (
    Obj,
    clone,
    is_going,
    list_at,
    name_of,
    obj_at,
    objs_at,
    text_at,
    uid_of,
)

_FREE = ("NoConflicts", "no conflicts found")
_FIRST = ("InitialNamesAccepted", "the initial names have been accepted")


class DefinitionController:
    """Accepts names and establishes kinds."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._due: dict[str, float] = {}

    def keys(self, change: Change) -> Iterable[Key]:
        if change.key.kind == CRDS:
            # A definition that goes frees names that others wait for.
            others = self._plane.cluster.store.select(CRDS) if change.type == "DELETED" else []
            return [change.key, *(Key(CRDS, "", name_of(other)) for other in others)]
        # The last object of a going definition lets it go.
        return [Key(CRDS, "", change.key.kind)] if change.type == "DELETED" and "." in change.key.kind else []

    def reconcile(self, key: Key) -> float | None:
        crd = self._plane.get(CRDS, "", key.name)
        if crd is None:
            return None
        if is_going(crd):
            self._clear(crd)
            return None
        if not objs_at(crd, "status", "conditions"):
            due = self._due.setdefault(uid_of(crd), self._plane.now + self._plane.pace.between((0.05, 0.3), key.name))
            if due > self._plane.now:
                return due - self._plane.now
        self._due.pop(uid_of(crd), None)
        self._plane.set_status(CRDS, crd, self._status(crd))
        return None

    def _status(self, crd: Obj) -> Obj:
        store, registry = self._plane.cluster.store, self._plane.cluster.registry
        status: Obj = clone(obj_at(crd, "status"))
        reason, message = clash(store, registry, crd)
        was = is_established(crd)
        conditions = objs_at(status, "conditions")
        entry = ("NamesAccepted", "False", reason, message) if reason else ("NamesAccepted", "True", *_FREE)
        conditions = self._with(conditions, *entry)
        if reason and not was:
            conditions = self._with(conditions, "Established", "False", "NotAccepted", "not all names are accepted")
        else:
            conditions = self._with(conditions, "Established", "True", *_FIRST)
        status["conditions"] = conditions
        if not reason:
            names: Obj = clone(obj_at(crd, "spec", "names"))
            names.setdefault("singular", text_at(names, "kind").lower())
            names.setdefault("listKind", f"{text_at(names, 'kind')}List")
            status["acceptedNames"] = names
        else:
            status.setdefault("acceptedNames", {"plural": "", "kind": ""})
        stored = [text_at(v, "name") for v in objs_at(crd, "spec", "versions") if v.get("storage") is True]
        status["storedVersions"] = list(dict.fromkeys([*list_at(status, "storedVersions"), *stored]))
        return status

    def _with(self, conditions: list[Obj], kind: str, status: str, reason: str, message: str) -> list[Obj]:
        entry: Obj = {"type": kind, "status": status, "reason": reason, "message": message}
        told = conditioned(conditions, entry, self._plane.stamp)
        return [{name: value for name, value in one.items() if name != "lastUpdateTime"} for one in told]

    def _clear(self, crd: Obj) -> None:
        store, kind = self._plane.cluster.store, name_of(crd)
        resource = self._plane.cluster.registry.find(kind)
        if resource is not None and resource.custom is not None:
            for obj in store.select(kind):
                if not is_going(obj):
                    self._plane.delete(kind, obj)
            if store.count(kind):
                return
        finalizers = list_at(crd, "metadata", "finalizers")
        if CLEANUP in finalizers:
            freed = clone(crd)
            freed["metadata"]["finalizers"] = [name for name in finalizers if name != CLEANUP]
            self._plane.replace(CRDS, freed)
