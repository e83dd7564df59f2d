"""The order in which objects are applied: what others need comes first. Data, and one stable sort."""

from collections.abc import Sequence
from enum import IntEnum, auto
from typing import Protocol


class Phase(IntEnum):
    """Steps of an apply, in order."""

    NAMESPACES = auto()
    DEFINITIONS = auto()
    CLASSES = auto()
    LIMITS = auto()
    ACCOUNTS = auto()
    BINDINGS = auto()
    CONFIGURATION = auto()
    STORAGE = auto()
    SERVICES = auto()
    WORKLOADS = auto()
    CUSTOM = auto()
    EDGE = auto()
    WEBHOOKS = auto()


class HasKind(Protocol):
    """Anything that says which kind of object it is."""

    @property
    def api_version(self) -> str: ...

    @property
    def kind(self) -> str: ...


_BATCH, _APPS, _CORE, _RBAC = "batch", "apps", "", "rbac.authorization.k8s.io"
_NETWORK, _ADMISSION = "networking.k8s.io", "admissionregistration.k8s.io"
_GATEWAY = "gateway.networking.k8s.io"

# fmt: off
_KINDS: dict[Phase, tuple[tuple[str, str], ...]] = {
    Phase.NAMESPACES:    ((_CORE, "Namespace"),),
    Phase.DEFINITIONS:   (("apiextensions.k8s.io", "CustomResourceDefinition"),),
    Phase.CLASSES:       (("scheduling.k8s.io", "PriorityClass"), ("storage.k8s.io", "StorageClass"),
                          ("node.k8s.io", "RuntimeClass"), (_NETWORK, "IngressClass"), ("storage.k8s.io", "CSIDriver"),
                          (_GATEWAY, "GatewayClass")),
    Phase.LIMITS:        ((_CORE, "ResourceQuota"), (_CORE, "LimitRange"), (_NETWORK, "NetworkPolicy")),
    Phase.ACCOUNTS:      ((_CORE, "ServiceAccount"), (_RBAC, "ClusterRole"), (_RBAC, "Role")),
    Phase.BINDINGS:      ((_RBAC, "ClusterRoleBinding"), (_RBAC, "RoleBinding")),
    Phase.CONFIGURATION: ((_CORE, "Secret"), (_CORE, "ConfigMap")),
    Phase.STORAGE:       ((_CORE, "PersistentVolume"), (_CORE, "PersistentVolumeClaim")),
    Phase.SERVICES:      ((_CORE, "Service"), (_CORE, "Endpoints"), ("discovery.k8s.io", "EndpointSlice")),
    Phase.WORKLOADS:     ((_CORE, "Pod"), (_CORE, "ReplicationController"), (_APPS, "ReplicaSet"),
                          (_APPS, "Deployment"), (_APPS, "StatefulSet"), (_APPS, "DaemonSet"),
                          (_BATCH, "Job"), (_BATCH, "CronJob")),
    Phase.EDGE:          ((_NETWORK, "Ingress"), ("autoscaling", "HorizontalPodAutoscaler"),
                          ("policy", "PodDisruptionBudget"), (_GATEWAY, "Gateway"), (_GATEWAY, "HTTPRoute"),
                          (_GATEWAY, "GRPCRoute"), (_GATEWAY, "TLSRoute"), (_GATEWAY, "TCPRoute"),
                          (_GATEWAY, "UDPRoute"), (_GATEWAY, "ReferenceGrant")),
    Phase.WEBHOOKS:      ((_ADMISSION, "MutatingWebhookConfiguration"), (_ADMISSION, "ValidatingWebhookConfiguration"),
                          (_ADMISSION, "ValidatingAdmissionPolicy"), (_ADMISSION, "ValidatingAdmissionPolicyBinding"),
                          ("apiregistration.k8s.io", "APIService")),
}
# fmt: on
_PHASES = {kind: phase for phase, kinds in _KINDS.items() for kind in kinds}


def phase_of(api_version: str, kind: str) -> Phase:
    """When objects of a kind are applied. Kinds that are not Kubernetes' own come after the workloads."""
    group = api_version.partition("/")[0] if "/" in api_version else _CORE
    return _PHASES.get((group, kind), Phase.CUSTOM)


def apply_order(items: Sequence[HasKind]) -> list[int]:
    """The indexes of `items` in the order of applying; items of one phase keep the order they were written in."""
    return sorted(range(len(items)), key=lambda index: phase_of(items[index].api_version, items[index].kind))
