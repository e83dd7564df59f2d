"""`fieldValidation`: fields that a kind does not have.

Only the levels that people write by hand are known here: the top of an object, its metadata, and for workloads the
specification, the pod and its containers. Anything else passes.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from locktender.embedded.cluster.refusal import bad_request
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj, is_obj, obj_at, objs_at

Strictness: TypeAlias = Literal["Strict", "Warn", "Ignore"]


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_HEAD = _names("apiVersion kind metadata")
_TOP = {
    "ConfigMap": _names("data binaryData immutable"),
    "Secret": _names("data stringData type immutable"),
    "ServiceAccount": _names("secrets imagePullSecrets automountServiceAccountToken"),
    "Role": _names("rules"),
    "ClusterRole": _names("rules aggregationRule"),
    "RoleBinding": _names("subjects roleRef"),
    "ClusterRoleBinding": _names("subjects roleRef"),
    **dict.fromkeys(
        (
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
            "DaemonSet",
            "Job",
            "CronJob",
            "Pod",
            "Service",
            "Ingress",
            "Namespace",
            "PersistentVolumeClaim",
            "HorizontalPodAutoscaler",
            "PodDisruptionBudget",
        ),
        _names("spec status"),
    ),
    "NetworkPolicy": _names("spec"),
}
_METADATA = _names(
    "name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds labels annotations ownerReferences finalizers managedFields"
)
_SPEC = {
    "Deployment": _names(
        "replicas selector template strategy minReadySeconds revisionHistoryLimit paused progressDeadlineSeconds"
    ),
    "StatefulSet": _names(
        "replicas selector template volumeClaimTemplates serviceName podManagementPolicy updateStrategy "
        "revisionHistoryLimit minReadySeconds persistentVolumeClaimRetentionPolicy ordinals"
    ),
    "DaemonSet": _names("selector template updateStrategy minReadySeconds revisionHistoryLimit"),
    "Job": _names(
        "parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy backoffLimit "
        "backoffLimitPerIndex maxFailedIndexes selector manualSelector template ttlSecondsAfterFinished "
        "completionMode suspend podReplacementPolicy managedBy"
    ),
}
_POD = _names(
    "volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds "
    "activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName serviceAccount automountServiceAccountToken "
    "nodeName hostNetwork hostPID hostIPC shareProcessNamespace securityContext imagePullSecrets hostname subdomain "
    "affinity schedulerName tolerations hostAliases priorityClassName priority dnsConfig readinessGates "
    "runtimeClassName enableServiceLinks preemptionPolicy overhead topologySpreadConstraints setHostnameAsFQDN os "
    "hostUsers schedulingGates resourceClaims resources hostnameOverride"
)
_CONTAINER = _names(
    "name image command args workingDir ports envFrom env resources resizePolicy restartPolicy volumeMounts "
    "volumeDevices livenessProbe readinessProbe startupProbe lifecycle terminationMessagePath "
    "terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty restartPolicyRules"
)


def strictness(query: dict[str, str]) -> Strictness:
    """Pass, or refuse.

    Raises:
        Refusal: 400 for a value that does not exist.
    """
    match query.get("fieldValidation") or "Warn":
        case "Strict":
            return "Strict"
        case "Warn":
            return "Warn"
        case "Ignore":
            return "Ignore"
        case other:
            raise bad_request(f"fieldValidation {other[:40]} is not one of Strict, Warn, Ignore")


def check_fields(resource: Resource, obj: Obj, level: Strictness) -> list[str]:
    """Warnings about unknown fields.

    Raises:
        Refusal: 400 that names them all, under `Strict`.
    """
    if level == "Ignore" or not resource.builtin:
        return []
    unknown = [f'unknown field "{field}"' for field in _unknown(resource.kind, obj)]
    if unknown and level == "Strict":
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"strict decoding error: {', '.join(unknown)}"
        )
    return unknown


def _unknown(kind: str, obj: Obj) -> Iterator[str]:
    top = _TOP.get(kind)
    if top is not None:
        yield from _extra(obj, _HEAD | top, "")
    yield from _extra(obj_at(obj, "metadata"), _METADATA, "metadata.")
    spec = obj_at(obj, "spec")
    if kind in _SPEC:
        yield from _extra(spec, _SPEC[kind], "spec.")
        yield from _unknown_in_pod(obj_at(spec, "template", "spec"), "spec.template.spec.")
    elif kind == "Pod":
        yield from _unknown_in_pod(spec, "spec.")


def _unknown_in_pod(spec: Obj, where: str) -> Iterator[str]:
    yield from _extra(spec, _POD, where)
    for part in ("initContainers", "containers"):
        for index, container in enumerate(objs_at(spec, part)):
            yield from _extra(container, _CONTAINER, f"{where}{part}[{index}].")


def _extra(obj: Obj, known: frozenset[str], where: str) -> Iterator[str]:
    if is_obj(obj):
        yield from (f"{where}{name}" for name in obj if name not in known)
