"""The kinds that the cluster serves, as data. Discovery, routing and storage all read this table."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """One served kind.

    Attributes:
        status: whether status is a subresource, written apart from the rest.
        counted: whether a changed specification raises `metadata.generation`.
        scale: whether the kind has a `scale` subresource over `spec.replicas`.
        builtin: whether the list keys of the standard kinds hold for it.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    status: bool = False
    counted: bool = False
    scale: bool = False
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    builtin: bool = True

    @property
    def qualified(self) -> str:
        """`deployments.apps`, or just `pods` in the core group; the identity of the stored kind."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def singular(self) -> str:
        return self.kind.lower()


_ALL = ("all",)
# fmt: off
STANDARD: tuple[Resource, ...] = (
    Resource("", "v1", "namespaces", "Namespace", namespaced=False, status=True, short=("ns",)),
    Resource("", "v1", "nodes", "Node", namespaced=False, status=True, short=("no",)),
    Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False, status=True, short=("pv",)),
    Resource("", "v1", "pods", "Pod", status=True, counted=True, short=("po",), categories=_ALL),
    Resource("", "v1", "services", "Service", status=True, short=("svc",), categories=_ALL),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", short=("sa",)),
    Resource("", "v1", "configmaps", "ConfigMap", short=("cm",)),
    Resource("", "v1", "secrets", "Secret"),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", status=True, short=("pvc",)),
    Resource("", "v1", "endpoints", "Endpoints", short=("ep",)),
    Resource("", "v1", "events", "Event", short=("ev",)),
    Resource("", "v1", "limitranges", "LimitRange", short=("limits",)),
    Resource("", "v1", "resourcequotas", "ResourceQuota", status=True, short=("quota",)),
    Resource("", "v1", "replicationcontrollers", "ReplicationController", status=True, counted=True,
             short=("rc",), categories=_ALL),
    Resource("apps", "v1", "deployments", "Deployment", status=True, counted=True, scale=True,
             short=("deploy",), categories=_ALL),
    Resource("apps", "v1", "replicasets", "ReplicaSet", status=True, counted=True, scale=True,
             short=("rs",), categories=_ALL),
    Resource("apps", "v1", "statefulsets", "StatefulSet", status=True, counted=True, scale=True,
             short=("sts",), categories=_ALL),
    Resource("apps", "v1", "daemonsets", "DaemonSet", status=True, counted=True, short=("ds",), categories=_ALL),
    Resource("batch", "v1", "jobs", "Job", status=True, counted=True, categories=_ALL),
    Resource("batch", "v1", "cronjobs", "CronJob", status=True, counted=True, short=("cj",), categories=_ALL),
    Resource("networking.k8s.io", "v1", "ingresses", "Ingress", status=True, counted=True, short=("ing",)),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", counted=True, short=("netpol",)),
    Resource("networking.k8s.io", "v1", "ingressclasses", "IngressClass", namespaced=False, counted=True),
    Resource("rbac.authorization.k8s.io", "v1", "roles", "Role"),
    Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
    Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False),
    Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", status=True, counted=True,
             short=("pdb",)),
    Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", status=True,
             short=("hpa",), categories=_ALL),
    Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False, short=("sc",)),
    Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
             namespaced=False, status=True, counted=True, short=("crd", "crds")),
    Resource("coordination.k8s.io", "v1", "leases", "Lease"),
    Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False, short=("pc",)),
    Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
)
# fmt: on


class Registry:
    """The served kinds, looked up by where they are served and by their name. It may grow at run time."""

    def __init__(self, resources: Iterable[Resource] = STANDARD) -> None:
        self._served: dict[tuple[str, str, str], Resource] = {}
        self._named: dict[str, Resource] = {}
        for resource in resources:
            self.add(resource)

    def __iter__(self) -> Iterator[Resource]:
        return iter(tuple(self._served.values()))

    def add(self, resource: Resource) -> None:
        self._served[resource.group, resource.version, resource.plural] = resource
        self._named[resource.qualified] = resource

    def served(self, group: str, version: str, plural: str) -> Resource | None:
        return self._served.get((group, version, plural))

    def named(self, qualified: str) -> Resource:
        """The kind called `deployments.apps`. A KeyError is a mistake in this program, never in a request."""
        return self._named[qualified]

    def of_kind(self, group: str, kind: str) -> Resource | None:
        return next((r for r in self._served.values() if (r.group, r.kind) == (group, kind)), None)

    def versions(self) -> list[tuple[str, str]]:
        """Every served (group, version), in the order of the table."""
        return list(dict.fromkeys((r.group, r.version) for r in self._served.values()))
