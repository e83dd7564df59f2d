"""What controllers work with: reading, writing and deleting objects, and telling people by events."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime

from locktender.embedded.cluster.clock import STAMP, stamp
from locktender.embedded.cluster.cluster import Cluster
from locktender.embedded.cluster.controllers.labelindex import LabelIndex
from locktender.embedded.cluster.controllers.pace import Pace
from locktender.embedded.cluster.controllers.recorder import KUBELET, MANAGER, Recorder
from locktender.embedded.cluster.deletion import Options, delete
from locktender.embedded.cluster.objects import Key
from locktender.embedded.cluster.refusal import Refusal
from locktender.embedded.cluster.shapes import (
    Obj,
    clone,
    int_at,
    is_going,
    name_of,
    namespace_of,
    objs_at,
    text_at,
    uid_of,
)
from locktender.embedded.cluster.writes import Author

DEPLOYMENTS = "deployments.apps"
REPLICA_SETS = "replicasets.apps"
STATEFUL_SETS = "statefulsets.apps"
DAEMON_SETS = "daemonsets.apps"
JOBS = "jobs.batch"
PODS = "pods"
CLAIMS = "persistentvolumeclaims"

__all__ = ["KUBELET", "MANAGER"]


@dataclass
class Plane:
    """The hands of the controllers. Objects that are handed out are shared: clone before changing."""

    cluster: Cluster
    pace: Pace

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.cluster)
        self.pods = LabelIndex(self.cluster.store, PODS)

    @property
    def now(self) -> float:
        return self.cluster.clock.monotonic()

    @property
    def stamp(self) -> str:
        return stamp(self.cluster.clock)

    def since(self, told: str) -> float:
        """The monotonic moment of a stamp, at most the present; the present for "". It is exact to a second."""
        if not told:
            return self.now
        then = datetime.strptime(told, STAMP).replace(tzinfo=UTC)
        return self.now - max(0.0, (self.cluster.clock.now() - then).total_seconds())

    def get(self, kind: str, namespace: str, name: str) -> Obj | None:
        return self.cluster.store.get(Key(kind, namespace, name))

    def children(self, owner: Obj, kind: str) -> list[Obj]:
        """The objects of a kind that this one controls, by name."""
        uid = uid_of(owner)
        found = [self.cluster.store.get(key) for key in self.cluster.store.dependents(uid) if key.kind == kind]
        return [obj for obj in found if obj is not None and controller_uid(obj) == uid]

    def create(self, kind: str, namespace: str, body: Obj, *, owner: Obj | None = None) -> Obj:
        """Create an object, controlled by `owner` where one is given.

        Raises:
            Refusal: as for any client.
        """
        if owner is not None:
            body["metadata"]["ownerReferences"] = [reference_to(owner)]
        return self.cluster.writer.create(self.cluster.registry.named(kind), namespace, body, Author(MANAGER))

    def replace(self, kind: str, obj: Obj) -> Obj:
        """Store a changed clone of an object."""
        key = Key(kind, namespace_of(obj), name_of(obj))
        return self.cluster.writer.replace(self.cluster.registry.named(kind), key, obj, Author(MANAGER))

    def autoscale(self, kind: str, obj: Obj, replicas: int) -> Obj:
        """Change the number of replicas through the `scale` subresource, which then owns it."""
        body: Obj = {"metadata": {}, "spec": {"replicas": replicas}}
        key = Key(kind, namespace_of(obj), name_of(obj))
        author = Author(MANAGER, subresource="scale")
        return self.cluster.writer.replace(self.cluster.registry.named(kind), key, body, author)

    def scale(self, kind: str, obj: Obj, replicas: int) -> Obj:
        """Change the number of replicas where it differs."""
        if int_at(obj, "spec", "replicas") == replicas:
            return obj
        changed = clone(obj)
        changed["spec"]["replicas"] = replicas
        return self.replace(kind, changed)

    def set_status(self, kind: str, obj: Obj, status: Obj, *, manager: str = MANAGER) -> Obj:
        """Write a status; the same status changes nothing."""
        return self.cluster.writer.set_status(self.cluster.registry.named(kind), obj, status, manager)

    def delete(self, kind: str, obj: Obj, *, grace: int | None = None) -> None:
        """Delete an object in the background; one that is gone already is no error."""
        key = Key(kind, namespace_of(obj), name_of(obj))
        try:
            delete(self.cluster.writer, self.cluster.registry.named(kind), key, Options(grace=grace))
        except Refusal as refusal:
            if refusal.code != 404:  # noqa: PLR2004 - not found
                raise

    def tell(self, kind: str, obj: Obj, reason: str, message: str, *, normal: bool = False) -> None:
        """Record an event about an object; the same event again raises its count."""
        self.recorder.tell(kind, obj, reason, message, normal=normal)


def reference_to(owner: Obj) -> Obj:
    """The owner reference of a controlled child."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(obj: Obj) -> Obj | None:
    """The owner reference of the controller of an object."""
    return next((ref for ref in objs_at(obj, "metadata", "ownerReferences") if ref.get("controller") is True), None)


def controller_uid(obj: Obj) -> str:
    return text_at(controller_of(obj), "uid")


def controller_key(obj: Obj, kind: str, owner_kind: str) -> list[Key]:
    """The key of the controller of an object when it is of kind `owner_kind` (stored as `kind`)."""
    owner = controller_of(obj)
    if owner is None or owner.get("kind") != owner_kind:
        return []
    return [Key(kind, namespace_of(obj), text_at(owner, "name"))]


def template_hash(template: Obj) -> str:
    """Ten characters that name a pod template."""
    digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()
    return digest[:10]


def condition(conditions: list[Obj], kind: str) -> Obj | None:
    return next((c for c in conditions if c.get("type") == kind), None)


def conditioned(conditions: list[Obj], entry: Obj, now: str, *, updated: bool = False) -> list[Obj]:
    """The conditions with `entry` (type, status, reason, message) put in; unchanged when it says nothing new.

    With `updated`, the condition also tells when it was last changed in any way, as some kinds do.
    """
    old = condition(conditions, entry["type"])
    if old is not None and all(old.get(name) == value for name, value in entry.items()):
        return conditions
    flipped = old is None or old.get("status") != entry["status"]
    new = entry | ({"lastUpdateTime": now} if updated else {})
    new["lastTransitionTime"] = now if flipped else text_at(old, "lastTransitionTime")
    if old is None:
        return [*conditions, new]
    return [new if c is old else c for c in conditions]


def is_ready(pod: Obj) -> bool:
    """Whether a pod is ready and not being deleted."""
    found = condition(objs_at(pod, "status", "conditions"), "Ready")
    return found is not None and found.get("status") == "True" and not is_going(pod)


def is_active(pod: Obj) -> bool:
    return not is_going(pod) and text_at(pod, "status", "phase") not in ("Succeeded", "Failed")
