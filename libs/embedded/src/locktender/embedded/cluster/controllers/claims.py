"""Claims get a volume: at once, or when a pod wants them, as their storage class says."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import CLAIMS, PODS, Plane
from locktender.embedded.cluster.controllers.provisioning import provision, refusal_of
from locktender.embedded.cluster.controllers.references import claim_names
from locktender.embedded.cluster.controllers.volumes import VOLUMES, fitting
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.quantity import amount
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

CLASSES = "storageclasses.storage.k8s.io"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_RETRY = 15.0


class ClaimController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._due: dict[str, float] = {}

    def keys(self, change: Change) -> Iterable[Key]:  # noqa: PLR0911 - one for each kind that matters
        match change.key.kind:
            case "persistentvolumeclaims":
                if change.type == "DELETED":
                    self._due.pop(uid_of(change.after), None)
                    return []
                return [change.key]
            case "pods" if change.type == "ADDED":
                return [Key(CLAIMS, change.key.namespace, name) for name in claim_names(change.after)]
            case "storageclasses.storage.k8s.io":
                return self._all("")
            case "persistentvolumes":
                reference = obj_at(change.after, "spec", "claimRef")
                if reference:
                    return [Key(CLAIMS, text_at(reference, "namespace"), text_at(reference, "name"))]
                return self._all("Pending")
            case _:
                return []

    def _all(self, phase: str) -> list[Key]:
        rows = self._plane.cluster.store.select(CLAIMS)
        wanted = [row for row in rows if not phase or text_at(row, "status", "phase") == phase]
        return [Key(CLAIMS, namespace_of(row), name_of(row)) for row in wanted]

    def reconcile(self, key: Key) -> float | None:
        claim = self._plane.get(CLAIMS, key.namespace, key.name)
        if claim is None or is_going(claim):
            return None
        match text_at(claim, "status", "phase"):
            case "Bound":
                return self._keep(claim)
            case "Lost":
                return None
            case _:
                return self._settle(claim)

    def _settle(self, claim: Obj) -> float | None:
        """Bring a pending claim a step further."""
        storage_class = self._class_of(claim)
        name = name_of(storage_class) if storage_class is not None else text_at(claim, "spec", "storageClassName")
        lazy = text_at(storage_class, "volumeBindingMode") == "WaitForFirstConsumer"
        if lazy and not self._is_wanted(claim):
            message = "waiting for first consumer to be created before binding"
            if uid_of(claim) not in self._due:
                self._due[uid_of(claim)] = float("inf")
                self._plane.tell(CLAIMS, claim, "WaitForFirstConsumer", message, normal=True)
            return None
        volume = fitting(self._plane, claim, name)
        if volume is not None:
            self._bind(claim, volume, storage_class)
            return None
        if storage_class is None and not name:
            why = "no persistent volumes available for this claim and no storage class is set"
            self._plane.tell(CLAIMS, claim, "FailedBinding", why, normal=True)
            return self._plane.pace.factor * _RETRY
        if storage_class is None:
            why = f'storageclass.storage.k8s.io "{name}" not found'
            self._plane.tell(CLAIMS, claim, "ProvisioningFailed", why)
            return self._plane.pace.factor * _RETRY
        return self._provision(claim, storage_class)

    def _provision(self, claim: Obj, storage_class: Obj) -> float | None:
        refusal = refusal_of(claim, storage_class)
        if refusal is not None:
            self._plane.tell(CLAIMS, claim, refusal.reason, refusal.message, normal=refusal.normal)
            return self._plane.pace.factor * _RETRY
        due = self._due.get(uid_of(claim), float("inf"))
        if due == float("inf"):
            due = self._plane.now + self._plane.pace.between(self._plane.pace.provisioning, name_of(claim))
            self._due[uid_of(claim)] = due
        if due > self._plane.now:
            return due - self._plane.now
        volume = provision(self._plane, claim, storage_class)
        self._bind(claim, volume, storage_class)
        return None

    def _class_of(self, claim: Obj) -> Obj | None:
        wanted = at(claim, "spec", "storageClassName")
        if isinstance(wanted, str):
            return self._plane.get(CLASSES, "", wanted) if wanted else None
        rows = self._plane.cluster.store.select(CLASSES)
        return next((r for r in rows if obj_at(r, "metadata", "annotations").get(_DEFAULT_CLASS) == "true"), None)

    def _is_wanted(self, claim: Obj) -> bool:
        pods = self._plane.cluster.store.select(PODS, namespace_of(claim))
        return any(name_of(claim) in claim_names(pod) for pod in pods)

    def _bind(self, claim: Obj, volume: Obj, storage_class: Obj | None) -> None:
        if text_at(volume, "spec", "claimRef", "uid") != uid_of(claim):
            taken = clone(volume)
            reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "uid": uid_of(claim)}
            taken["spec"]["claimRef"] = reference | {"namespace": namespace_of(claim), "name": name_of(claim)}
            volume = self._plane.replace(VOLUMES, taken)
        bound = clone(claim)
        bound["spec"]["volumeName"] = name_of(volume)
        if storage_class is not None:
            bound["spec"].setdefault("storageClassName", name_of(storage_class))
        annotations = own(bound, "metadata", "annotations")
        annotations["pv.kubernetes.io/bind-completed"] = "yes"
        annotations["pv.kubernetes.io/bound-by-controller"] = "yes"
        stored = self._plane.replace(CLAIMS, bound)
        modes = clone(volume["spec"].get("accessModes", []))
        status: Obj = {"phase": "Bound", "accessModes": modes, "capacity": clone(volume["spec"].get("capacity", {}))}
        self._plane.set_status(CLAIMS, stored, status)

    def _keep(self, claim: Obj) -> float | None:
        """A bound claim may lose its volume, or want a larger one."""
        volume = self._plane.get(VOLUMES, "", text_at(claim, "spec", "volumeName"))
        if volume is None:
            message = "Bound claim has lost its PersistentVolume. Any data on the volume is lost!"
            self._plane.tell(CLAIMS, claim, "ClaimLost", message)
            self._plane.set_status(CLAIMS, claim, {"phase": "Lost"})
            return None
        wanted = obj_at(claim, "spec", "resources", "requests").get("storage")
        if amount(wanted) <= amount(obj_at(claim, "status", "capacity").get("storage")):
            self._due.pop(uid_of(claim), None)
            return None
        if uid_of(claim) not in self._due or self._due[uid_of(claim)] + _RETRY < self._plane.now:
            delay = self._plane.pace.between(self._plane.pace.provisioning, name_of(claim))
            self._due[uid_of(claim)] = self._plane.now + delay
            self._plane.tell(
                CLAIMS, claim, "Resizing", f"External resizer is resizing volume {name_of(volume)}", normal=True
            )
            return delay
        left = self._due[uid_of(claim)] - self._plane.now
        if left > 0:
            return left
        grown = clone(volume)
        grown["spec"]["capacity"]["storage"] = wanted
        self._plane.replace(VOLUMES, grown)
        self._plane.set_status(CLAIMS, claim, clone(claim["status"]) | {"capacity": {"storage": wanted}})
        message = "MountVolume.NodeExpandVolume succeeded for volume"
        self._plane.tell(CLAIMS, claim, "FileSystemResizeSuccessful", f"{message} {name_of(volume)}", normal=True)
        return None
