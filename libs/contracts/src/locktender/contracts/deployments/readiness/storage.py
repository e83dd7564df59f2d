"""Claims, volumes and snapshots."""

from locktender.contracts.deployments.cards import (
    Grace,
    Readiness,
    Trouble,
    blocked,
    creating,
    failed,
    pending,
    ready,
    troubled,
)
from locktender.contracts.deployments.observed import (
    Observed,
    Related,
    annotation,
    condition,
    flag,
    is_true,
    part,
    text,
)
from locktender.contracts.deployments.readiness.pods import about, latest, said_of

_NODE = "volume.kubernetes.io/selected-node"
_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_FIRST = "WaitForFirstConsumer"


def claim(obj: Observed, related: Related) -> Readiness:
    match text(obj, "status", "phase"):
        case "":
            return pending("waiting for the cluster to take it up")
        case "Bound":
            return _bound(obj)
        case "Lost":
            return failed("its volume is gone", "Lost", "restore the volume, or make a new claim")
        case _:
            return _unbound(obj, related)


def _unbound(obj: Observed, related: Related) -> Readiness:
    volume = text(obj, "spec", "volumeName")
    if volume:
        return pending(f"waiting for the volume {volume}", "unbound")
    named, events = text(obj, "spec", "storageClassName"), about(obj, related.events)
    missing = missing_class(part(obj, "spec"), related)
    if missing is not None:
        return troubled(missing)
    if _waits_for_pod(obj, named, related, events):
        return ready("bound once a pod uses it, as its storage class has it", _FIRST)
    broken = latest(events, "ProvisioningFailed", "FailedBinding", "VolumeMismatch")
    if broken is None:
        return pending("waiting for a volume", "unbound")
    if broken.get("reason") == "FailedBinding":
        return pending(f"waiting for a volume: {said_of(broken)}", "unbound", "name a storage class, or make a volume")
    message = f"no volume could be made: {said_of(broken)}"
    return troubled(Trouble(text(broken, "reason"), message, "check its storage class and size", Grace.CLAIM))


def _bound(obj: Observed) -> Readiness:
    for kind in ("ControllerResizeError", "NodeResizeError", "ModifyVolumeError"):
        found = condition(obj, kind)
        if is_true(found):
            message = f"it cannot be changed: {text(found, 'message') or kind}"
            return blocked(message, kind, "see whether its storage class allows expansion")
    if is_true(condition(obj, "FileSystemResizePending")):
        return creating(
            "its volume has grown, and its file system grows when a pod mounts it", "FileSystemResizePending"
        )
    if is_true(condition(obj, "Resizing")) or is_true(condition(obj, "ModifyingVolume")):
        return creating("its volume is being changed", "Resizing")
    return ready("bound", "bound")


def missing_class(spec: Observed, related: Related) -> Trouble | None:
    """The storage class that the `spec` of a claim needs and the cluster does not have; None also when not known."""
    classes, named = related.storage_classes, text(spec, "storageClassName")
    if classes is None or spec.get("storageClassName") == "":
        return None
    if named and named not in classes:
        known = ", ".join(sorted(classes)[:5]) or "none"
        hint = f"use a storage class that the cluster has: {known}"
        return Trouble("StorageClassNotFound", f"there is no storage class {named}", hint, Grace.CLAIM)
    if not named and not any(annotation(one, _DEFAULT) == "true" for one in classes.values()):
        return Trouble("NoDefaultClass", "it names no storage class, and the cluster has no default",
                       "name a storage class in spec.storageClassName", Grace.CLAIM)  # fmt: skip
    return None


def _waits_for_pod(obj: Observed, named: str, related: Related, events: list[Observed]) -> bool:
    """Whether it is as it should be until a pod comes: then a node is chosen, and a volume is waited for."""
    if annotation(obj, _NODE):
        return False
    classes = related.storage_classes or {}
    mine = (
        classes.get(named) if named else next((c for c in classes.values() if annotation(c, _DEFAULT) == "true"), None)
    )
    if mine is not None:
        return mine.get("volumeBindingMode") == _FIRST
    return latest(events, _FIRST, "WaitForPodScheduled") is not None


def volume(obj: Observed, _related: Related) -> Readiness:
    phase = text(obj, "status", "phase")
    match phase:
        case "Available" | "Bound":
            return ready(phase.lower())
        case "Failed":
            said = text(obj, "status", "message") or "the volume failed"
            return failed(said, "Failed", "see `kubectl describe` of the volume")
        case "Released":
            hint = "remove spec.claimRef when what is on it may be used again"
            return blocked("its claim is gone, and it takes no other", "Released", hint)
        case _:
            return pending("waiting for the volume")


def snapshot(obj: Observed, _related: Related) -> Readiness:
    said = text(obj, "status", "error", "message")
    if flag(obj, "status", "readyToUse"):
        return ready("ready to use")
    if said:
        message = f"the snapshot cannot be taken: {said}"
        return troubled(Trouble("SnapshotFailed", message, "check its class and its source", Grace.CLAIM))
    return (
        creating("the snapshot is being taken")
        if part(obj, "status")
        else pending("waiting for the snapshot controller")
    )
