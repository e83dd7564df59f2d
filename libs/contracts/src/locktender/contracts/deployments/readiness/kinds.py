"""The table of kinds. What people read about readiness is made from it, so that it is told once."""

from locktender.contracts.deployments.observed import Observed, group_of, text
from locktender.contracts.deployments.readiness import cluster, gateways, network, runs, storage, workloads
from locktender.contracts.deployments.readiness.conventions import by_conditions
from locktender.contracts.deployments.readiness.rule import Reads, Rule

_PODS = frozenset({Reads.PODS, Reads.EVENTS})
_EVENTS = frozenset({Reads.EVENTS})
_POD_TROUBLE = "trouble of a pod"
_OUTSIDE = "answered by a controller outside of the deployment"
_GATEWAY = "gateway.networking.k8s.io"

RULES: tuple[Rule, ...] = (
    Rule("apps", ("Deployment",), workloads.deployment, reads=_PODS, observes=True,
         ready="all replicas are of this revision and available, and no old one is left",
         fails=f"`ProgressDeadlineExceeded`; pods that cannot be created; {_POD_TROUBLE}",
         waits="the controller, updated and available replicas, old replicas to end; `paused` blocks"),
    Rule("apps", ("StatefulSet",), workloads.stateful_set, reads=_PODS | {Reads.STORAGE_CLASSES}, observes=True,
         ready="all replicas are available, and those above the partition are of this revision; with `OnDelete`, "
               "all are available",
         fails="pods that cannot be created; a storage class that is not there; a broken pod of an earlier revision "
               f"that is waited for; {_POD_TROUBLE}; no progress",
         waits="updated and available replicas"),
    Rule("apps", ("DaemonSet",), workloads.daemon_set, reads=_PODS, observes=True,
         ready="updated and available on every node that matches, or no node matches; with `OnDelete`, available",
         fails=f"pods that cannot be created; {_POD_TROUBLE}; no progress",
         waits="nodes that are updated and available"),
    Rule("apps", ("ReplicaSet",), workloads.replica_set, reads=_PODS, observes=True,
         ready="as many replicas as wanted, all available",
         fails=f"pods that cannot be created; {_POD_TROUBLE}; no progress", waits="available replicas"),
    Rule("", ("ReplicationController",), workloads.replica_set, reads=_PODS, observes=True,
         ready="as many replicas as wanted, all available",
         fails=f"pods that cannot be created; {_POD_TROUBLE}; no progress", waits="available replicas"),
    Rule("", ("Pod",), runs.pod, reads=_EVENTS,
         ready="`Ready` with all readiness gates, or completed",
         fails=f"phase `Failed`; {_POD_TROUBLE}; no progress", waits="a node, its images, its probes"),
    Rule("batch", ("Job",), runs.job, reads=_PODS,
         ready="completed; also suspended, or of parallelism 0, because it then runs nothing",
         fails=f"`Failed` with its reason; pods that cannot be created; {_POD_TROUBLE}, except crashes, which "
               "`backoffLimit` counts; no progress where `activeDeadlineSeconds` is not set",
         waits="completions"),
    Rule("batch", ("CronJob",), runs.cron_job, reads=_EVENTS,
         ready="accepted, also when suspended; a last job that failed is told and fails nothing",
         fails="a schedule or time zone that cannot be read"),
    Rule("", ("Service",), network.service, reads=frozenset({Reads.EVENTS, Reads.ENDPOINT_SLICES}),
         ready="at once, with a note when no endpoint is ready; a `LoadBalancer` once it has an address",
         fails="no progress, for a `LoadBalancer`", waits="the address of a `LoadBalancer`"),
    Rule("networking.k8s.io", ("Ingress",), network.ingress, reads=_EVENTS, optional=_OUTSIDE,
         ready="a controller has published an address", waits="an address"),
    Rule("", ("PersistentVolumeClaim",), storage.claim, reads=frozenset({Reads.EVENTS, Reads.STORAGE_CLASSES}),
         optional="what needs it is waited for itself",
         ready="bound and not being resized; `WaitForFirstConsumer`, until a pod uses it",
         fails="phase `Lost`; no such storage class; `ProvisioningFailed`", waits="a volume"),
    Rule("", ("PersistentVolume",), storage.volume, optional="what needs it is waited for itself",
         ready="available or bound", fails="phase `Failed`", waits="the cluster; `Released` blocks"),
    Rule("snapshot.storage.k8s.io", ("VolumeSnapshot",), storage.snapshot,
         ready="ready to use", fails="an error of the snapshot controller", waits="the snapshot"),
    Rule(_GATEWAY, ("GatewayClass",), gateways.gateway_class, optional=_OUTSIDE,
         ready="`Accepted`", fails="not accepted", waits="its controller"),
    Rule(_GATEWAY, ("Gateway",), gateways.gateway, optional=_OUTSIDE,
         ready="`Programmed`", fails="not accepted; a listener in conflict, or with references that do not resolve",
         waits="its controller, an address"),
    Rule(_GATEWAY, ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "BackendTLSPolicy"), gateways.route,
         optional=_OUTSIDE, ready="each parent says `Accepted`, and `ResolvedRefs` where it says anything of it",
         fails="a parent that does not accept it, or a reference that does not resolve, both named",
         waits="every parent"),
    Rule(_GATEWAY, ("ReferenceGrant",), cluster.at_once, ready="at once"),
    Rule("apiextensions.k8s.io", ("CustomResourceDefinition",), cluster.definition,
         ready="`Established`", fails="its names are taken", waits="the API server"),
    Rule("apiregistration.k8s.io", ("APIService",), cluster.api_service,
         ready="`Available`", fails="no progress", waits="the service behind it"),
    Rule("", ("Namespace",), cluster.namespace,
         ready="active", fails="no progress", waits="the cluster; a terminating one blocks"),
    Rule("autoscaling", ("HorizontalPodAutoscaler",), cluster.autoscaler,
         optional="metrics come in their own time",
         ready="`ScalingActive`, or its target is scaled to zero", waits="its target and metrics"),
    Rule("policy", ("PodDisruptionBudget",), cluster.disruption_budget, optional="it guards what is waited for itself",
         observes=True, ready="its controller has seen it", waits="its controller"),
    Rule("admissionregistration.k8s.io", ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
         cluster.webhooks, ready="at once, with a note when a `caBundle` is missing"),
    Rule("certificates.k8s.io", ("CertificateSigningRequest",), cluster.signing_request,
         optional="people approve it", ready="signed", fails="denied, or failed", waits="approval"),
)  # fmt: skip

AT_ONCE = Rule("", (), cluster.at_once, ready="at once: it is configuration, which counts once it is stored")
BY_CONDITIONS = Rule(
    "*", (), by_conditions,
    ready="`Ready`, `Available` or another condition that sums it up holds; else a phase that says so; without any "
          "status, once nothing is said for a while",
    fails="`Stalled`; `Failed` and its like after their patience; no progress",
    waits="`observedGeneration`, `Reconciling`, `Degraded`, and conditions that do not hold yet",
)  # fmt: skip

_BY_KIND = {(rule.group, kind): rule for rule in RULES for kind in rule.kinds}
_BUILT_IN = {
    "", "apps", "batch", "autoscaling", "policy", "extensions", "admissionregistration.k8s.io", "apiextensions.k8s.io",
    "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io",
    "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
    "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}  # fmt: skip


def rule_of(obj: Observed) -> Rule:
    """The rule for the kind of `obj`, which for kinds unknown here goes by conditions."""
    group = group_of(obj)
    known = _BY_KIND.get((group, text(obj, "kind")))
    if known is not None:
        return known
    return AT_ONCE if group in _BUILT_IN else BY_CONDITIONS
