"""Deployments roll from one ReplicaSet to the next."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import (
    DEPLOYMENTS,
    REPLICA_SETS,
    Plane,
    controller_key,
    controller_of,
    reference_to,
    template_hash,
)
from locktender.embedded.cluster.controllers.rollout import room, shrink
from locktender.embedded.cluster.controllers.rolloutstatus import Progress, deployment_status
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import (
    Obj,
    clone,
    int_at,
    is_going,
    name_of,
    namespace_of,
    obj_at,
    own,
    text_at,
    uid_of,
)

REVISION = "deployment.kubernetes.io/revision"
HASH = "pod-template-hash"


class DeploymentController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._progress: dict[str, Progress] = {}

    def keys(self, change: Change) -> Iterable[Key]:
        match change.key.kind:
            case "deployments.apps":
                if change.type == "DELETED":
                    self._progress.pop(uid_of(change.after), None)
                return [change.key]
            case "replicasets.apps":
                return controller_key(change.after, DEPLOYMENTS, "Deployment")
            case _:
                return []

    def reconcile(self, key: Key) -> float | None:
        found = self._plane.get(DEPLOYMENTS, key.namespace, key.name)
        if found is None or is_going(found):
            return None
        sets = [rs for rs in self._plane.children(found, REPLICA_SETS) if not is_going(rs)]
        wanted_hash = template_hash(found["spec"]["template"])
        new = next((rs for rs in sets if obj_at(rs, "metadata", "labels").get(HASH) == wanted_hash), None)
        paused = found["spec"].get("paused") is True
        if new is None and not paused:
            new = self._create_set(found, sets, wanted_hash)
            if new is None:
                return None
        old = [rs for rs in sets if new is None or uid_of(rs) != uid_of(new)]
        if new is not None and not paused:
            new = self._renew(found, new, old)
            self._roll(found, new, old)
            self._forget(found, old)
        elif new is not None and not old:
            self._plane.scale(REPLICA_SETS, new, int_at(found, "spec", "replicas"))
        return self._report(found, wanted_hash)

    def _create_set(self, found: Obj, sets: list[Obj], wanted_hash: str) -> Obj | None:
        template = clone(found["spec"]["template"])
        own(template, "metadata", "labels")[HASH] = wanted_hash
        selector = clone(found["spec"]["selector"])
        own(selector, "matchLabels")[HASH] = wanted_hash
        body: Obj = {
            "metadata": {
                "name": f"{name_of(found)}-{wanted_hash}",
                "labels": clone(template["metadata"]["labels"]),
                "annotations": {REVISION: str(_latest(sets) + 1)},
            },
            "spec": {
                "replicas": 0,
                "selector": selector,
                "template": template,
                "minReadySeconds": int_at(found, "spec", "minReadySeconds"),
            },
        }
        known = self._plane.get(REPLICA_SETS, namespace_of(found), body["metadata"]["name"])
        if known is None:
            return self._plane.create(REPLICA_SETS, namespace_of(found), body, owner=found)
        if controller_of(known) is not None:
            # It belongs to a Deployment of the same name that is gone, and follows it; that wakes this one again.
            return None
        adopted = clone(known)
        adopted["metadata"]["ownerReferences"] = [reference_to(found)]
        return self._plane.replace(REPLICA_SETS, adopted)

    def _renew(self, found: Obj, new: Obj, old: list[Obj]) -> Obj:
        """Give the wanted set the highest revision (it may be an older one that is wanted again)."""
        revision = _revision(new)
        if revision <= _latest(old):
            revision = _latest(old) + 1
            changed = clone(new)
            own(changed, "metadata", "annotations")[REVISION] = str(revision)
            new = self._plane.replace(REPLICA_SETS, changed)
        if obj_at(found, "metadata", "annotations").get(REVISION) != str(revision):
            current = clone(self._plane.get(DEPLOYMENTS, namespace_of(found), name_of(found)))
            own(current, "metadata", "annotations")[REVISION] = str(revision)
            self._plane.replace(DEPLOYMENTS, current)
        return new

    def _roll(self, found: Obj, new: Obj, old: list[Obj]) -> None:
        replicas = int_at(found, "spec", "replicas")
        if text_at(found, "spec", "strategy", "type") == "Recreate":
            for rs in old:
                self._scale(found, rs, 0)
            if not any(int_at(rs, "status", "replicas") for rs in old):
                self._scale(found, new, replicas)
            return
        surge, unavailable = room(found)
        total = sum(int_at(rs, "spec", "replicas") for rs in [new, *old])
        current = int_at(new, "spec", "replicas")
        grown = current if current > replicas else min(replicas, current + max(0, replicas + surge - total))
        new = self._scale(found, new, replicas if current > replicas else grown)
        for rs, size in shrink(new, old, replicas - unavailable):
            self._scale(found, rs, size)

    def _scale(self, found: Obj, rs: Obj, size: int) -> Obj:
        before = int_at(rs, "spec", "replicas")
        scaled = self._plane.scale(REPLICA_SETS, rs, size)
        if before != size:
            way = "up" if size > before else "down"
            message = f"Scaled {way} replica set {name_of(rs)} from {before} to {size}"
            self._plane.tell(DEPLOYMENTS, found, "ScalingReplicaSet", message, normal=True)
        return scaled

    def _forget(self, found: Obj, old: list[Obj]) -> None:
        empty = [rs for rs in old if not int_at(rs, "spec", "replicas") and not int_at(rs, "status", "replicas")]
        empty.sort(key=_revision)
        for rs in empty[: max(0, len(empty) - int_at(found, "spec", "revisionHistoryLimit", default=10))]:
            self._plane.delete(REPLICA_SETS, rs)

    def _report(self, found: Obj, wanted_hash: str) -> float | None:
        current = self._plane.get(DEPLOYMENTS, namespace_of(found), name_of(found))
        if current is None:
            return None
        sets = self._plane.children(current, REPLICA_SETS)
        new = next((rs for rs in sets if obj_at(rs, "metadata", "labels").get(HASH) == wanted_hash), None)
        progress = self._progress.setdefault(uid_of(current), Progress())
        status, again = deployment_status(self._plane, current, new, sets, progress)
        self._plane.set_status(DEPLOYMENTS, current, status)
        return again


def _revision(rs: Obj) -> int:
    text = text_at(rs, "metadata", "annotations", REVISION)
    return int(text) if text.isdigit() else 0


def _latest(sets: list[Obj]) -> int:
    return max((_revision(rs) for rs in sets), default=0)
