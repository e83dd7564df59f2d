"""Objects go when their last owner is gone, and owners that asked for it wait for their dependents."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import Plane
from locktender.embedded.cluster.deletion import FOREGROUND
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import (
    Obj,
    clone,
    is_going,
    list_at,
    namespace_of,
    objs_at,
    text_at,
    uid_of,
)


class GarbageController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def keys(self, change: Change) -> Iterable[Key]:
        concerned: list[Key] = []
        if change.type == "DELETED":
            concerned += self._plane.cluster.store.dependents(uid_of(change.after))
            concerned += self._owner_keys(change.after)
        elif objs_at(change.after, "metadata", "ownerReferences") or _waits(change.after):
            concerned.append(change.key)
        return concerned

    def reconcile(self, key: Key) -> float | None:
        obj = self._plane.cluster.store.get(key)
        if obj is None:
            return None
        if _waits(obj):
            self._finish(key, obj)
            return None
        owners = objs_at(obj, "metadata", "ownerReferences")
        if owners and not is_going(obj) and not any(self._lives(obj, owner) for owner in owners):
            self._plane.delete(key.kind, obj)
        return None

    def _finish(self, key: Key, owner: Obj) -> None:
        store = self._plane.cluster.store
        waiting = False
        for child_key in store.dependents(uid_of(owner)):
            child = store.get(child_key)
            if child is not None:
                if not is_going(child):
                    self._plane.delete(child_key.kind, child)
                waiting = waiting or store.get(child_key) is not None
        if waiting:
            return
        freed = clone(owner)
        freed["metadata"]["finalizers"] = [f for f in list_at(owner, "metadata", "finalizers") if f != FOREGROUND]
        self._plane.replace(key.kind, freed)

    def _lives(self, obj: Obj, owner: Obj) -> bool:
        key = self._key_of(obj, owner)
        if key is None:
            # Of a kind that is not served: nobody can tell, so the object stays.
            return True
        found = self._plane.cluster.store.get(key)
        return found is not None and uid_of(found) == text_at(owner, "uid")

    def _owner_keys(self, obj: Obj) -> list[Key]:
        keys = (self._key_of(obj, owner) for owner in objs_at(obj, "metadata", "ownerReferences"))
        return [key for key in keys if key is not None]

    def _key_of(self, obj: Obj, owner: Obj) -> Key | None:
        group = text_at(owner, "apiVersion").rpartition("/")[0]
        resource = self._plane.cluster.registry.of_kind(group, text_at(owner, "kind"))
        if resource is None:
            return None
        return Key(resource.qualified, namespace_of(obj) if resource.namespaced else "", text_at(owner, "name"))


def _waits(obj: Obj) -> bool:
    return is_going(obj) and FOREGROUND in list_at(obj, "metadata", "finalizers")
