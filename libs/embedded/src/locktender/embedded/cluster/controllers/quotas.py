"""ResourceQuotas tell what is used of them."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import PODS, Plane
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.policies.quota import QUOTAS, used_by
from locktender.embedded.cluster.quantity import is_binary, written
from locktender.embedded.cluster.shapes import Obj, clone, is_going, obj_at, text_at


class QuotaController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._names: dict[str, set[str]] = {}

    def keys(self, change: Change) -> Iterable[Key]:
        key = change.key
        if key.kind == QUOTAS:
            names = self._names.setdefault(key.namespace, set())
            (names.discard if change.type == "DELETED" else names.add)(key.name)
        elif not _matters(change):
            return []
        return [Key(QUOTAS, key.namespace, name) for name in sorted(self._names.get(key.namespace, ()))]

    def reconcile(self, key: Key) -> float | None:
        quota = self._plane.get(QUOTAS, key.namespace, key.name)
        if quota is None or is_going(quota):
            return None
        hard = obj_at(quota, "spec", "hard")
        cluster = self._plane.cluster
        used = used_by(cluster.store, cluster.registry, key.namespace, set(hard))
        status: Obj = {
            "hard": clone(hard),
            "used": {name: written(used[name], binary=is_binary(name)) for name in hard},
        }
        self._plane.set_status(QUOTAS, quota, status)
        return None


def _matters(change: Change) -> bool:
    """Births and removals count, and what may change how much an object uses."""
    if change.type != "MODIFIED":
        return True
    if change.key.kind == PODS:
        return text_at(change.before, "status", "phase") != text_at(change.after, "status", "phase")
    return change.key.kind in ("persistentvolumeclaims", "services")
