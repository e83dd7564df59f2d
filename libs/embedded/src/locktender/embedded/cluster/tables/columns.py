"""The columns of the usual kinds, as data: name, type, and a path or a function; wide columns are marked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from locktender.embedded.cluster.shapes import Obj
from locktender.embedded.cluster.tables import cells

Cell: TypeAlias = str | Callable[..., Any]
"""A path; or a function of the object, or of the object and the present (marked as `timed`)."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        timed: the cell is a function of the object and the present; for a path, an age.
        wide: shown only by `-o wide`.
        empty: what stands there when there is no value.
    """

    name: str
    cell: Cell
    type: str = "string"
    timed: bool = False
    wide: bool = False
    empty: Any = ""
    format: str = ""


NAME = Column("Name", ".metadata.name", format="name")
AGE = Column("Age", ".metadata.creationTimestamp", timed=True)
CREATED = Column("Created At", ".metadata.creationTimestamp")
_CONTAINERS = (
    Column("Containers", cells.containers("name"), wide=True),
    Column("Images", cells.containers("image"), wide=True),
    Column("Selector", cells.selector, wide=True),
)


def _number(name: str, path: str) -> Column:
    return Column(name, path, "integer", empty=0)


def _none(name: str, path: str, *, wide: bool = False) -> Column:
    return Column(name, path, wide=wide, empty="<none>")


COLUMNS: dict[str, tuple[Column, ...]] = {
    "pods": (
        Column("Ready", cells.pod_ready), Column("Status", cells.pod_status), Column("Restarts", cells.pod_restarts),
        AGE, _none("IP", ".status.podIP", wide=True), _none("Node", ".spec.nodeName", wide=True),
        _none("Nominated Node", ".status.nominatedNodeName", wide=True),
        _none("Readiness Gates", ".spec.readinessGates", wide=True),
    ),
    "deployments.apps": (
        Column("Ready", cells.ready_replicas), _number("Up-to-date", ".status.updatedReplicas"),
        _number("Available", ".status.availableReplicas"), AGE, *_CONTAINERS,
    ),
    "replicasets.apps": (
        _number("Desired", ".spec.replicas"), _number("Current", ".status.replicas"),
        _number("Ready", ".status.readyReplicas"), AGE, *_CONTAINERS,
    ),
    "statefulsets.apps": (Column("Ready", cells.ready_replicas), AGE, *_CONTAINERS[:2]),
    "daemonsets.apps": (
        _number("Desired", ".status.desiredNumberScheduled"), _number("Current", ".status.currentNumberScheduled"),
        _number("Ready", ".status.numberReady"), _number("Up-to-date", ".status.updatedNumberScheduled"),
        _number("Available", ".status.numberAvailable"), _none("Node Selector", ".spec.template.spec.nodeSelector"),
        AGE, *_CONTAINERS,
    ),
    "jobs.batch": (
        Column("Status", cells.job_status), Column("Completions", cells.job_completions),
        Column("Duration", cells.job_duration, timed=True), AGE, *_CONTAINERS,
    ),
    "cronjobs.batch": (
        Column("Schedule", ".spec.schedule"), _none("Timezone", ".spec.timeZone"),
        Column("Suspend", ".spec.suspend", empty=False), Column("Active", cells.active_jobs, "integer"),
        Column("Last Schedule", ".status.lastScheduleTime", timed=True, empty="<none>"), AGE,
    ),
    "services": (
        Column("Type", ".spec.type"), _none("Cluster-IP", ".spec.clusterIP"),
        Column("External-IP", cells.service_address), Column("Port(s)", cells.service_ports), AGE,
        Column("Selector", cells.selector, wide=True),
    ),
    "ingresses.networking.k8s.io": (
        _none("Class", ".spec.ingressClassName"), Column("Hosts", cells.ingress_hosts),
        Column("Address", cells.balancer), Column("Ports", cells.ingress_ports), AGE,
    ),
    "networkpolicies.networking.k8s.io": (_none("Pod-Selector", ".spec.podSelector.matchLabels"), AGE),
    "ingressclasses.networking.k8s.io": (Column("Controller", ".spec.controller"), AGE),
    "configmaps": (Column("Data", cells.size_of_data), AGE),
    "secrets": (Column("Type", ".type"), Column("Data", cells.size_of_data), AGE),
    "namespaces": (Column("Status", ".status.phase"), AGE),
    "nodes": (
        Column("Status", cells.node_status), Column("Roles", cells.node_roles), AGE,
        Column("Version", ".status.nodeInfo.kubeletVersion"),
    ),
    "persistentvolumes": (
        Column("Capacity", ".spec.capacity.storage"), Column("Access Modes", cells.claim_modes),
        Column("Reclaim Policy", ".spec.persistentVolumeReclaimPolicy"), Column("Status", cells.claim_status),
        Column("Claim", cells.volume_claim), Column("StorageClass", ".spec.storageClassName"), AGE,
    ),
    "persistentvolumeclaims": (
        Column("Status", cells.claim_status), Column("Volume", ".spec.volumeName"),
        Column("Capacity", ".status.capacity.storage"), Column("Access Modes", cells.claim_modes),
        Column("StorageClass", ".spec.storageClassName"), AGE,
    ),
    "events": (
        Column("Last Seen", cells.event_seen, timed=True), Column("Type", ".type"), Column("Reason", ".reason"),
        Column("Object", cells.event_object), _none("Source", ".source.component", wide=True),
        Column("Message", ".message"), Column("Count", ".count", "integer", wide=True, empty=1),
        Column("Name", ".metadata.name", wide=True, format="name"),
    ),
    "horizontalpodautoscalers.autoscaling": (
        Column("Reference", cells.scaler_reference), Column("Targets", cells.scaler_targets),
        Column("MinPods", ".spec.minReplicas"), _number("MaxPods", ".spec.maxReplicas"),
        _number("Replicas", ".status.currentReplicas"), AGE,
    ),
    "poddisruptionbudgets.policy": (
        Column("Min Available", ".spec.minAvailable", empty="N/A"),
        Column("Max Unavailable", ".spec.maxUnavailable", empty="N/A"),
        _number("Allowed Disruptions", ".status.disruptionsAllowed"), AGE,
    ),
    "storageclasses.storage.k8s.io": (
        Column("Provisioner", ".provisioner"), Column("ReclaimPolicy", ".reclaimPolicy", empty="Delete"),
        Column("VolumeBindingMode", ".volumeBindingMode", empty="Immediate"),
        Column("AllowVolumeExpansion", ".allowVolumeExpansion", empty=False), AGE,
    ),
    "endpoints": (Column("Endpoints", cells.endpoint_addresses), AGE),
    "endpointslices.discovery.k8s.io": (
        Column("AddressType", ".addressType"), Column("Endpoints", cells.slice_addresses), AGE,
    ),
    "customresourcedefinitions.apiextensions.k8s.io": (CREATED,),
    "roles.rbac.authorization.k8s.io": (CREATED,),
    "clusterroles.rbac.authorization.k8s.io": (CREATED,),
    "rolebindings.rbac.authorization.k8s.io": (Column("Role", cells.role_of), AGE),
    "clusterrolebindings.rbac.authorization.k8s.io": (Column("Role", cells.role_of), AGE),
    "leases.coordination.k8s.io": (Column("Holder", ".spec.holderIdentity"), AGE),
    "priorityclasses.scheduling.k8s.io": (
        Column("Value", ".value"), Column("Global-Default", ".globalDefault", empty=False), AGE,
    ),
}  # fmt: skip


def columns_of(qualified: str, custom: tuple[Obj, ...] | None) -> tuple[Column, ...]:
    """The columns of a kind, its name first. `custom` are the printer columns of a custom kind."""
    if qualified == "events":
        # The name of an event says nothing, so it stands last.
        return COLUMNS[qualified]
    if custom is None:
        return (NAME, *COLUMNS.get(qualified, (AGE,)))
    if not custom:
        return NAME, AGE
    return NAME, *(
        Column(
            str(one.get("name", "")),
            str(one.get("jsonPath", "")),
            str(one.get("type", "string")),
            timed=one.get("type") == "date",
            wide=bool(one.get("priority")),
            format=str(one.get("format", "")),
        )
        for one in custom
    )
