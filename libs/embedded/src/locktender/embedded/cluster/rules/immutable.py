"""Fields that must not change once they are set."""

from collections.abc import Callable, Iterator

from locktender.embedded.cluster.quantity import amount
from locktender.embedded.cluster.refusal import Cause
from locktender.embedded.cluster.rules.faults import forbidden, wrong
from locktender.embedded.cluster.shapes import Obj, at, clone, obj_at, objs_at, text_at

_FIXED = "field is immutable"
_STATEFUL = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip
_STATEFUL_RULE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_POD_RULE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_CLAIM_RULE = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
# Kinds whose fields are compared one by one: path, and the message when it is not the usual one.
_FIELDS: dict[str, tuple[tuple[str, str], ...]] = {
    "Deployment": (("spec.selector", _FIXED),),
    "ReplicaSet": (("spec.selector", _FIXED),),
    "DaemonSet": (("spec.selector", _FIXED),),
    "Job": (
        ("spec.selector", _FIXED), ("spec.template", _FIXED), ("spec.completionMode", _FIXED),
        ("spec.completions", _FIXED), ("spec.podFailurePolicy", _FIXED), ("spec.backoffLimitPerIndex", _FIXED),
    ),
    "RoleBinding": (("roleRef", "cannot change roleRef"),),
    "ClusterRoleBinding": (("roleRef", "cannot change roleRef"),),
    "Secret": (("type", _FIXED),),
    "StorageClass": (("volumeBindingMode", _FIXED),),
    "IngressClass": (("spec.controller", _FIXED),),
    "CustomResourceDefinition": (("spec.scope", _FIXED), ("spec.group", _FIXED)),
    "RuntimeClass": (("handler", _FIXED),),
}  # fmt: skip
_CLASS_FIELDS = ("parameters", "provisioner", "reclaimPolicy")


def immutable_rules(kind: str, before: Obj, after: Obj) -> Iterator[Cause]:
    """Every field of a standard kind that changed and must not."""
    for path, why in _FIELDS.get(kind, ()):
        steps = path.split(".")
        old, new = at(before, *steps), at(after, *steps)
        # A value that the server fills in may be set once.
        if old is not None and old != new:
            yield wrong(path, new, why)
    if kind in _BY_KIND:
        yield from _BY_KIND[kind](before, after)


def _stateful(before: Obj, after: Obj) -> Iterator[Cause]:
    old, new = ({k: v for k, v in obj_at(o, "spec").items() if k not in _STATEFUL} for o in (before, after))
    if old != new:
        yield forbidden("spec", _STATEFUL_RULE)


def _config(before: Obj, after: Obj) -> Iterator[Cause]:
    if before.get("immutable") is not True:
        return
    why = "field is immutable when `immutable` is set"
    if after.get("immutable") is not True:
        yield forbidden("immutable", why)
    for name in ("data", "binaryData"):
        if (before.get(name) or {}) != (after.get(name) or {}):
            yield forbidden(name, why)


def _class(before: Obj, after: Obj) -> Iterator[Cause]:
    for name in _CLASS_FIELDS:
        if before.get(name) is not None and before.get(name) != after.get(name):
            yield forbidden(name, f"updates to {name} are forbidden.")


def _claim(before: Obj, after: Obj) -> Iterator[Cause]:
    old, new = clone(obj_at(before, "spec")), clone(obj_at(after, "spec"))
    for spec in (old, new):
        spec.pop("resources", None)
        spec.pop("volumeAttributesClassName", None)
    for name in ("volumeName", "storageClassName"):
        # Binding chooses the volume, and the default class is filled in later.
        if old.get(name) in (None, ""):
            old[name] = new.get(name)
    if {k: v for k, v in old.items() if v is not None} != {k: v for k, v in new.items() if v is not None}:
        yield forbidden("spec", _CLAIM_RULE)
        return
    was, wanted = (at(o, "spec", "resources", "requests", "storage") for o in (before, after))
    held = at(before, "status", "capacity", "storage")
    if wanted is not None and was is not None and wanted != was:
        if text_at(before, "status", "phase") != "Bound":
            yield forbidden("spec", _CLAIM_RULE)
        elif amount(wanted) < amount(held if held is not None else was):
            yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")


def _service(before: Obj, after: Obj) -> Iterator[Cause]:
    old, new = at(before, "spec", "clusterIP"), at(after, "spec", "clusterIP")
    kinds = {text_at(one, "spec", "type") for one in (before, after)}
    if old and old != new and "ExternalName" not in kinds:
        yield wrong("spec.clusterIPs[0]", [new], "may not change once set")


def _pod(before: Obj, after: Obj) -> Iterator[Cause]:
    if not text_at(before, "spec", "nodeName"):
        # Only the scheduler changes a pod without a node, by giving it one.
        before = {**before, "spec": {**obj_at(before, "spec"), "nodeName": at(after, "spec", "nodeName")}}
    old, new = (_fixed_part(clone(obj_at(pod, "spec"))) for pod in (before, after))
    if old != new:
        yield forbidden("spec", _POD_RULE)


def _fixed_part(spec: Obj) -> Obj:
    for name in ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"):
        spec.pop(name, None)
    for part in ("containers", "initContainers"):
        for container in objs_at(spec, part):
            container.pop("image", None)
    return {name: value for name, value in spec.items() if value is not None}


def _volume(before: Obj, after: Obj) -> Iterator[Cause]:
    def source(volume: Obj) -> Obj:
        kept = ("hostPath", "nfs", "csi", "local")
        return {name: value for name, value in obj_at(volume, "spec").items() if name in kept}

    if source(before) != source(after):
        why = "spec.persistentvolumesource is immutable after creation"
        yield forbidden("spec.persistentvolumesource", why)


def _priority(before: Obj, after: Obj) -> Iterator[Cause]:
    if before.get("value") != after.get("value"):
        yield forbidden("value", "may not be changed in an update.")


_BY_KIND: dict[str, Callable[[Obj, Obj], Iterator[Cause]]] = {
    "StatefulSet": _stateful,
    "ConfigMap": _config,
    "Secret": _config,
    "StorageClass": _class,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "Service": _service,
    "Pod": _pod,
    "PriorityClass": _priority,
}
