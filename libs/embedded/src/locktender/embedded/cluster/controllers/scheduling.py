"""Why a pod fits on no node, in the words of the scheduler."""

from collections.abc import Iterator

from locktender.embedded.cluster.controllers.plane import CLAIMS, Plane
from locktender.embedded.cluster.controllers.references import claim_names
from locktender.embedded.cluster.policies.footprint import demand
from locktender.embedded.cluster.quantity import amount
from locktender.embedded.cluster.shapes import (
    Obj,
    at,
    is_going,
    labels_of,
    list_at,
    name_of,
    namespace_of,
    obj_at,
    objs_at,
    text_at,
)

_HOPELESS = "Preemption is not helpful for scheduling."
_NOBODY = "No preemption victims found for incoming pod."
BINDING_TIMED_OUT = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
_CLASSES = "storageclasses.storage.k8s.io"


def unschedulable(plane: Plane, pod: Obj) -> str:
    """Why a pod cannot be scheduled yet; "" when it can. Pods are compared with a node one by one, not in sum."""
    nodes = plane.cluster.store.select("nodes")
    total = len(nodes)
    for name in claim_names(pod):
        why = _claim(plane, namespace_of(pod), name)
        if why:
            return (
                f"0/{total} nodes are available: {why} preemption: 0/{total} nodes are available: {total} {_HOPELESS}"
            )
    reasons: dict[str, int] = {}
    for node in nodes:
        mine = list(_unfit(node, pod))
        if not mine:
            return ""
        for reason in mine:
            reasons[reason] = reasons.get(reason, 0) + 1
    told = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    tail = _NOBODY if all(reason.startswith("Insufficient") for reason in reasons) else _HOPELESS
    if not nodes:
        return "no nodes available to schedule pods"
    return f"0/{total} nodes are available: {told}. preemption: 0/{total} nodes are available: {total} {tail}"


def has_node(plane: Plane, template: Obj) -> bool:
    """Whether the selectors and tolerations of a pod template leave any node; room does not matter."""
    for node in plane.cluster.store.select("nodes"):
        if all(reason.startswith("Insufficient") for reason in _unfit(node, template)):
            return True
    return False


def _claim(plane: Plane, namespace: str, name: str) -> str:
    claim = plane.get(CLAIMS, namespace, name)
    if claim is None:
        return f'persistentvolumeclaim "{name}" not found.'
    if is_going(claim):
        return f'persistentvolumeclaim "{name}" is being deleted.'
    phase = text_at(claim, "status", "phase")
    if phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{_volume(claim)}".'
    if phase != "Bound" and not _is_lazy(plane, claim):
        return "pod has unbound immediate PersistentVolumeClaims."
    return ""


def waits_for_volume(plane: Plane, pod: Obj) -> bool:
    """Whether a claim of a waiting class still has no volume: the scheduler then waits and says nothing."""
    claims = [plane.get(CLAIMS, namespace_of(pod), name) for name in claim_names(pod)]
    return any(text_at(claim, "status", "phase") != "Bound" for claim in claims if claim is not None)


def _is_lazy(plane: Plane, claim: Obj) -> bool:
    return text_at(_class_of(plane, claim), "volumeBindingMode") == "WaitForFirstConsumer"


def _class_of(plane: Plane, claim: Obj) -> Obj | None:
    return plane.get(_CLASSES, "", text_at(claim, "spec", "storageClassName"))


def _volume(claim: Obj) -> str:
    return text_at(claim, "spec", "volumeName")


def _unfit(node: Obj, pod: Obj) -> Iterator[str]:
    if at(node, "spec", "unschedulable") is True and not _tolerates(pod, _CORDON):
        yield "node(s) were unschedulable"
        return
    for taint in objs_at(node, "spec", "taints"):
        if taint.get("effect") != "PreferNoSchedule" and not _tolerates(pod, taint):
            value = f": {taint['value']}" if taint.get("value") else ": "
            yield f"node(s) had untolerated taint {{{text_at(taint, 'key')}{value}}}"
            return
    chosen = text_at(pod, "spec", "nodeName")
    labels = labels_of(node)
    if not (obj_at(pod, "spec", "nodeSelector").items() <= labels.items() and _affine(pod, node)):
        yield "node(s) didn't match Pod's node affinity/selector"
        return
    if chosen and chosen != name_of(node):
        return
    room = obj_at(node, "status", "allocatable")
    for name, wanted in demand(pod, "requests").items():
        if wanted > amount(room.get(name)):
            yield f"Insufficient {name}"


_CORDON: Obj = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def _tolerates(pod: Obj, taint: Obj) -> bool:
    for toleration in objs_at(pod, "spec", "tolerations"):
        exists = toleration.get("operator") == "Exists"
        same_key = toleration.get("key") == taint.get("key") or (exists and not toleration.get("key"))
        same_effect = toleration.get("effect") in (None, "", taint.get("effect"))
        same_value = exists or (toleration.get("value") or "") == (taint.get("value") or "")
        if same_key and same_effect and same_value:
            return True
    return False


def _affine(pod: Obj, node: Obj) -> bool:
    required = at(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = objs_at(required, "nodeSelectorTerms")
    return not terms or any(
        all(_expressed(entry, labels_of(node)) for entry in objs_at(term, "matchExpressions")) for term in terms
    )


def _expressed(entry: Obj, labels: Obj) -> bool:
    value, values = labels.get(text_at(entry, "key")), list_at(entry, "values")
    match entry.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
