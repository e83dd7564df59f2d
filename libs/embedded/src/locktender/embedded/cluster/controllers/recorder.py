"""Events: what happened to objects, for people. Repetitions are counted, and all are forgotten after a while."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable

from locktender.embedded.cluster.clock import stamp
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import Obj, clone, int_at, is_going, name_of, namespace_of, uid_of
from locktender.embedded.cluster.writes import Author

MANAGER = "kube-controller-manager"
KUBELET = "kubelet"
_EVENTS = "events"
_LIFE = 3600.0
_MOST = 10_000
_SWEEP = Key(_EVENTS, "", "")


class Recorder:
    """Writes events in the name of whoever noticed them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def tell(self, kind: str, obj: Obj, reason: str, message: str, *, normal: bool) -> None:
        """Record an event; the same one again raises its count. A going namespace takes none."""
        resource = self._cluster.registry.named(kind)
        about = "/".join((uid_of(obj), reason, message))
        name = f"{name_of(obj)}.{hashlib.sha256(about.encode()).hexdigest()[:16]}"
        namespace = namespace_of(obj) or "default"
        now, store, events = stamp(self._cluster.clock), self._cluster.store, self._cluster.registry.named(_EVENTS)
        known = store.get(Key(_EVENTS, namespace, name))
        if known is not None:
            again = clone(known)
            again["count"] = int_at(known, "count", default=1) + 1
            again["lastTimestamp"] = now
            self._cluster.writer.replace(events, Key(_EVENTS, namespace, name), again, Author(MANAGER))
            return
        component = _COMPONENTS.get((kind, reason), KUBELET if kind == "pods" else MANAGER)
        event: Obj = {
            "metadata": {"name": name},
            "involvedObject": {
                "kind": resource.kind,
                "apiVersion": resource.api_version,
                "namespace": namespace_of(obj),
                "name": name_of(obj),
                "uid": uid_of(obj),
            },
            "type": "Normal" if normal else "Warning",
            "reason": reason,
            "message": message[:1024],
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": component},
            "reportingComponent": component,
            "reportingInstance": "",
        }
        space = store.get(Key("namespaces", "", namespace))
        if space is not None and not is_going(space):
            self._cluster.writer.create(events, namespace, event, Author(component))


_COMPONENTS = {
    ("pods", "FailedScheduling"): "default-scheduler",
    ("pods", "Scheduled"): "default-scheduler",
}


class EventController:
    """Forgets events an hour after they happened last, and the oldest when there are too many."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: OrderedDict[Key, float] = OrderedDict()

    def keys(self, change: Change) -> Iterable[Key]:
        """Every change of an event wakes the one sweep."""
        if change.key.kind != _EVENTS:
            return []
        if change.type == "DELETED":
            self._seen.pop(change.key, None)
            return []
        self._seen[change.key] = self._cluster.clock.monotonic()
        self._seen.move_to_end(change.key)
        return [_SWEEP] if len(self._seen) == 1 or len(self._seen) > _MOST else []

    def reconcile(self, key: Key) -> float | None:
        """Remove what is over, and come back when the next one is."""
        del key
        now = self._cluster.clock.monotonic()
        while self._seen:
            oldest, at = next(iter(self._seen.items()))
            if at + _LIFE > now and len(self._seen) <= _MOST:
                return at + _LIFE - now
            self._seen.pop(oldest)
            self._cluster.store.remove(oldest)
        return None
