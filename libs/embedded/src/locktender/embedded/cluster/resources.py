"""The kinds that the cluster serves, as data. Discovery, routing and storage all read this table."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from locktender.embedded.cluster.listkeys import UNTYPED, Shape
from locktender.embedded.cluster.shapes import Obj

_EMPTY: Obj = {}
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Custom:
    """What the definition of a custom kind says about one of its versions.

    Attributes:
        storage: the version in which its objects are stored.
        schema: structural schema of the version, empty for none.
        columns: `additionalPrinterColumns`.
        scale: the paths of the `scale` subresource, empty for none.
        deprecation: warning that every use of the version answers with, "" for none.
        terminating: whether the definition is being deleted, so that nothing new may be created.
    """

    storage: str
    singular: str
    list_kind: str
    schema: Obj = field(default_factory=dict[str, object])
    shape: Shape = UNTYPED
    columns: tuple[Obj, ...] = ()
    scale: Obj = field(default_factory=dict[str, object])
    deprecation: str = ""
    terminating: bool = False


@dataclass(frozen=True, slots=True)
class Resource:
    """One served kind.

    Attributes:
        status: whether status is a subresource, written apart from the rest.
        counted: whether a changed specification raises `metadata.generation`.
        scale: whether the kind has a `scale` subresource over `spec.replicas`.
        verbs: what can be done with it.
        builtin: whether it is a standard kind; a custom kind without a definition has no schema.
        custom: what its definition says, None for a standard kind.
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
    verbs: tuple[str, ...] = VERBS
    builtin: bool = True
    custom: Custom | None = field(default=None, compare=False)

    @property
    def qualified(self) -> str:
        """`deployments.apps`, or just `pods` in the core group; the identity of the stored kind."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def stored_version(self) -> str:
        """The `apiVersion` that its objects are stored with."""
        version = self.custom.storage if self.custom else self.version
        return f"{self.group}/{version}" if self.group else version

    @property
    def singular(self) -> str:
        return self.custom.singular if self.custom else self.kind.lower()

    @property
    def list_kind(self) -> str:
        return self.custom.list_kind if self.custom else f"{self.kind}List"

    @property
    def deprecation(self) -> str:
        """What every use of the version warns about, "" for nothing."""
        return self.custom.deprecation if self.custom else _DEPRECATED.get(self.qualified, "")

    @property
    def unconditional(self) -> bool:
        """Whether an update may leave out the version that it replaces."""
        return self.custom is None and self.qualified not in _CONDITIONAL

    @property
    def schema(self) -> Obj:
        """The schema of a custom kind, empty for none."""
        return self.custom.schema if self.custom else _EMPTY


_DEPRECATED = {"endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}
_CONDITIONAL = frozenset(("customresourcedefinitions.apiextensions.k8s.io", "leases.coordination.k8s.io"))
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
    Resource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
             "ValidatingWebhookConfiguration", namespaced=False, counted=True),
    Resource("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
             "MutatingWebhookConfiguration", namespaced=False, counted=True),
    Resource("apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False, status=True),
    Resource("apps", "v1", "controllerrevisions", "ControllerRevision"),
    Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False),
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
        if resource.api_version == resource.stored_version or resource.qualified not in self._named:
            self._named[resource.qualified] = resource

    def drop(self, qualified: str) -> None:
        """Serve a custom kind no longer, in any version; one that is not served is no error."""
        known = self._named.get(qualified)
        if known is None or known.custom is None:
            return
        del self._named[qualified]
        for place, resource in tuple(self._served.items()):
            if resource.qualified == qualified:
                del self._served[place]

    def served(self, group: str, version: str, plural: str) -> Resource | None:
        return self._served.get((group, version, plural))

    def named(self, qualified: str) -> Resource:
        """The kind called `deployments.apps`. A KeyError is a mistake in this program, never in a request."""
        return self._named[qualified]

    def find(self, qualified: str) -> Resource | None:
        """As `named`, for a name that a client or a stored object chose."""
        return self._named.get(qualified)

    def of_kind(self, group: str, kind: str) -> Resource | None:
        return next((r for r in self._served.values() if (r.group, r.kind) == (group, kind)), None)

    def versions(self) -> list[tuple[str, str]]:
        """Every served (group, version), in the order of the table."""
        return list(dict.fromkeys((r.group, r.version) for r in self._served.values()))
