"""Claims get a volume: at once, or when a pod wants them, as their storage class says."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import CLAIMS, PODS, Plane
from locktender.embedded.cluster.controllers.references import claim_names
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import (
    Obj,
    at,
    clone,
    is_going,
    name_of,
    namespace_of,
    obj_at,
    own,
    text_at,
    uid_of,
)

_CLASSES = "storageclasses.storage.k8s.io"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


class ClaimController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._due: dict[str, float] = {}

    def keys(self, change: Change) -> Iterable[Key]:
        match change.key.kind:
            case "persistentvolumeclaims":
                if change.type == "DELETED":
                    self._due.pop(uid_of(change.after), None)
                    self._drop_volume(change.after)
                    return []
                return [change.key]
            case "pods" if change.type == "ADDED":
                return [Key(CLAIMS, change.key.namespace, name) for name in claim_names(change.after)]
            case "storageclasses.storage.k8s.io":
                rows = self._plane.cluster.store.select(CLAIMS)
                return [Key(CLAIMS, namespace_of(row), name_of(row)) for row in rows]
            case _:
                return []

    def reconcile(self, key: Key) -> float | None:
        claim = self._plane.get(CLAIMS, key.namespace, key.name)
        if claim is None or is_going(claim) or text_at(claim, "status", "phase") == "Bound":
            return None
        storage_class = self._class_of(claim)
        if storage_class is None:
            return None
        waits = text_at(storage_class, "volumeBindingMode") == "WaitForFirstConsumer"
        if waits and not self._is_wanted(claim):
            message = "waiting for first consumer to be created before binding"
            if uid_of(claim) not in self._due:
                self._due[uid_of(claim)] = float("inf")
                self._plane.tell(CLAIMS, claim, "WaitForFirstConsumer", message, normal=True)
            return None
        due = self._due.get(uid_of(claim), float("inf"))
        if due == float("inf"):
            due = self._plane.now + self._plane.pace.between(self._plane.pace.provisioning, key.name)
            self._due[uid_of(claim)] = due
        if due > self._plane.now:
            return due - self._plane.now
        self._bind(claim, storage_class)
        return None

    def _class_of(self, claim: Obj) -> Obj | None:
        wanted = at(claim, "spec", "storageClassName")
        if isinstance(wanted, str):
            return self._plane.get(_CLASSES, "", wanted) if wanted else None
        rows = self._plane.cluster.store.select(_CLASSES)
        return next((r for r in rows if obj_at(r, "metadata", "annotations").get(_DEFAULT_CLASS) == "true"), None)

    def _is_wanted(self, claim: Obj) -> bool:
        pods = self._plane.cluster.store.select(PODS, namespace_of(claim))
        return any(name_of(claim) in claim_names(pod) for pod in pods)

    def _bind(self, claim: Obj, storage_class: Obj) -> None:
        spec = obj_at(claim, "spec")
        capacity = {"storage": text_at(spec, "resources", "requests", "storage") or "1Gi"}
        name = f"pvc-{uid_of(claim)}"
        reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "uid": uid_of(claim)}
        volume: Obj = {
            "metadata": {"name": name},
            "spec": {
                "capacity": capacity,
                "accessModes": clone(spec.get("accessModes", [])),
                "storageClassName": name_of(storage_class),
                "persistentVolumeReclaimPolicy": text_at(storage_class, "reclaimPolicy") or "Delete",
                "claimRef": reference | {"namespace": namespace_of(claim), "name": name_of(claim)},
                "csi": {"driver": text_at(storage_class, "provisioner"), "volumeHandle": name},
            },
        }
        if self._plane.get("persistentvolumes", "", name) is None:
            created = self._plane.create("persistentvolumes", "", volume)
            self._plane.set_status("persistentvolumes", created, {"phase": "Bound"})
        bound = clone(claim)
        bound["spec"]["volumeName"] = name
        bound["spec"].setdefault("storageClassName", name_of(storage_class))
        own(bound, "metadata", "annotations")["pv.kubernetes.io/bind-completed"] = "yes"
        stored = self._plane.replace(CLAIMS, bound)
        status = {"phase": "Bound", "accessModes": clone(spec.get("accessModes", [])), "capacity": capacity}
        self._plane.set_status(CLAIMS, stored, status)
        told = f"Successfully provisioned volume {name}"
        self._plane.tell(CLAIMS, stored, "ProvisioningSucceeded", told, normal=True)

    def _drop_volume(self, claim: Obj) -> None:
        volume = self._plane.get("persistentvolumes", "", text_at(claim, "spec", "volumeName"))
        if volume is not None and text_at(volume, "spec", "persistentVolumeReclaimPolicy") == "Delete":
            self._plane.delete("persistentvolumes", volume)
