# ruff: noqa: E501 - one row a line reads as the table it is
"""The truth table of readiness, everything that is no workload: what the cluster says, and what a person is told."""

import json
from typing import Any

import pytest

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.observed import Related
from locktender.testkit.verdicts import Body, Row, cond, ended, event, obj, pod, waiting

PENDING, CREATING, RUNNING = CardStatus.PENDING, CardStatus.CREATING, CardStatus.RUNNING
BLOCKED, FAILED, UNKNOWN = CardStatus.BLOCKED, CardStatus.FAILED, CardStatus.UNKNOWN

ADDRESS = {"ingress": [{"ip": "10.0.0.1"}]}
GATEWAY = "gateway.networking.k8s.io/v1"
CUSTOM = "example.com/v1"


def core(kind: str, spec: Any = None, **status: Any) -> Body:
    return obj("v1", kind, spec, status)


def judged(api: str, kind: str, *conditions: Body, spec: Any = None, **status: Any) -> Body:
    return obj(api, kind, spec, {"conditions": [*conditions], **status})


def job(*conditions: Body, spec: Any = None, **status: Any) -> Body:
    return judged("batch/v1", "Job", *conditions, spec=spec, **status)


STARTED: dict[str, Any] = {"startTime": "2026-01-01T00:00:00Z", "active": 1}
LOST_ATTEMPT = pod("web-x1", ended(3), phase="Failed")
LOOPING = pod("web-x1", waiting("CrashLoopBackOff", restarts=9, exitCode=1), phase="Running")

JOBS = [
    Row("unseen", job(), PENDING, "not-observed"),
    Row("under way", job(spec={"completions": 3}, **STARTED), CREATING, "progressing", "0 of 3 completions"),
    Row("a work queue has no number of completions", job(spec={"parallelism": 2}, succeeded=1, **STARTED), CREATING, "progressing", "1 completed"),
    Row("indexed", job(spec={"completions": 5, "completionMode": "Indexed"}, succeeded=2, completedIndexes="0,3", **STARTED), CREATING, "progressing", "indexes 0,3"),
    Row("trying again", job(spec={"completions": 1, "backoffLimit": 2}, failed=1, **STARTED), CREATING, "progressing", "1 of 3 attempts failed"),
    Row("a crashing attempt is left to its backoffLimit", job(spec={"completions": 1}, **STARTED), CREATING, "progressing", "keeps ending", "kubectl logs", Related([LOOPING])),
    Row("a bad image is not", job(spec={"completions": 1}, **STARTED), BLOCKED, "ErrImagePull", "shop:2", None, Related([pod("web-x1", waiting("ErrImagePull"))])),
    Row("complete", job(cond("SuccessCriteriaMet"), cond("Complete")), RUNNING, "completed"),
    Row("successful, and ending", job(cond("SuccessCriteriaMet"), **STARTED), CREATING, "progressing", "last pods are ending"),
    Row("failing, and ending", job(cond("FailureTarget", message="too often"), **STARTED), CREATING, "progressing", "it is failing: too often"),
    Row("too many attempts", job(cond("Failed", reason="BackoffLimitExceeded", message="too often")), FAILED, "BackoffLimitExceeded", "too often", "kubectl logs job/web"),
    Row("too many attempts, and how the last one ended", job(cond("Failed", reason="BackoffLimitExceeded")), FAILED, "BackoffLimitExceeded", "container app of pod web-x1 ended with exit code 3", None, Related([LOST_ATTEMPT])),
    Row("too slow", job(cond("Failed", reason="DeadlineExceeded", message="active too long")), FAILED, "DeadlineExceeded", "", "activeDeadlineSeconds"),
    Row("ended by its policy", job(cond("Failed", reason="PodFailurePolicy")), FAILED, "PodFailurePolicy", "", "podFailurePolicy"),
    Row("suspended", job(cond("Suspended"), spec={"suspend": True}), RUNNING, "suspended"),
    Row("nothing may run in parallel", job(spec={"parallelism": 0}, startTime="t"), RUNNING, "suspended", "parallelism is 0"),
    Row("its pods cannot be created", job(startTime="t"), BLOCKED, "FailedCreate", "exceeded quota", "quota", Related(events=[event("FailedCreate", "exceeded quota", kind="Job", name="web")])),
    Row("cron job", obj("batch/v1", "CronJob"), RUNNING, "scheduled"),
    Row("cron job: suspended", obj("batch/v1", "CronJob", {"suspend": True}), RUNNING, "suspended"),
    Row("cron job: the last run failed", obj("batch/v1", "CronJob"), RUNNING, "scheduled", "its last job failed", "web-28", Related(events=[event("SawCompletedJob", "Saw completed job: web-28, condition: Failed, status: Failed", kind="CronJob", name="web")])),
    Row("cron job: a schedule that cannot be read", obj("batch/v1", "CronJob"), BLOCKED, "UnknownTimeZone", "Mars/Base", "spec.timeZone", Related(events=[event("UnknownTimeZone", "unknown time zone Mars/Base", kind="CronJob", name="web")])),
]  # fmt: skip

SERVICES = [
    Row("by selector", core("Service", {"selector": {"a": "b"}}), RUNNING, "ready"),
    Row("by selector, nobody is ready behind it", core("Service", {"selector": {"a": "b"}}), RUNNING, "ready", "no pod behind it", "selector matches", Related(endpoint_slices=[{"endpoints": [{"conditions": {"ready": False}}]}])),
    Row("by selector, somebody is", core("Service", {"selector": {"a": "b"}}), RUNNING, "ready", "ready", None, Related(endpoint_slices=[{"endpoints": [{"conditions": {}}]}])),
    Row("headless", core("Service", {"selector": {"a": "b"}, "clusterIP": "None"}), RUNNING, "ready", "headless"),
    Row("without a selector", core("Service", {"ports": []}), RUNNING, "ready", "written by somebody else"),
    Row("external name", core("Service", {"type": "ExternalName", "externalName": "db.example.com"}), RUNNING, "ready", "db.example.com"),
    Row("node port", core("Service", {"type": "NodePort", "selector": {"a": "b"}}), RUNNING, "ready"),
    Row("load balancer: no address", core("Service", {"type": "LoadBalancer"}), CREATING, "no-address", "address", "ClusterIP or NodePort"),
    Row("load balancer: an empty answer is no address", core("Service", {"type": "LoadBalancer"}, loadBalancer={"ingress": [{}]}), CREATING, "no-address"),
    Row("load balancer: address", core("Service", {"type": "LoadBalancer"}, loadBalancer=ADDRESS), RUNNING, "ready", "10.0.0.1"),
    Row("load balancer: host name", core("Service", {"type": "LoadBalancer"}, loadBalancer={"ingress": [{"hostname": "lb.example.com"}]}), RUNNING, "ready", "lb.example.com"),
    Row("load balancer: external addresses", core("Service", {"type": "LoadBalancer", "externalIPs": ["1.2.3.4"]}), RUNNING, "ready", "1.2.3.4"),
    Row("load balancer: a class of its own", core("Service", {"type": "LoadBalancer", "loadBalancerClass": "a/b"}), CREATING, "no-address", "class a/b", "controller for the class a/b"),
    Row("load balancer: the cloud refuses", core("Service", {"type": "LoadBalancer"}), BLOCKED, "SyncLoadBalancerFailed", "no quota", None, Related(events=[event("SyncLoadBalancerFailed", "no quota", kind="Service", name="web")])),
    Row("ingress: no address", obj("networking.k8s.io/v1", "Ingress"), CREATING, "no-address", "ingress controller", "ingressClassName"),
    Row("ingress: a class that nobody serves", obj("networking.k8s.io/v1", "Ingress", {"ingressClassName": "nginx"}), CREATING, "no-address", "class nginx"),
    Row("ingress: address", obj("networking.k8s.io/v1", "Ingress", {}, {"loadBalancer": ADDRESS}), RUNNING, "ready", "10.0.0.1"),
]  # fmt: skip

WFFC = {"fast": {"volumeBindingMode": "WaitForFirstConsumer"}, "slow": {"volumeBindingMode": "Immediate"}}
DEFAULT = {
    "std": {
        "metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "volumeBindingMode": "WaitForFirstConsumer",
    }
}


def claim(named: str | None = None, phase: str = "Pending", **more: Any) -> Body:
    return core("PersistentVolumeClaim", {} if named is None else {"storageClassName": named}, phase=phase, **more)


def about_claim(reason: str, message: str) -> list[Body]:
    return [event(reason, message, kind="PersistentVolumeClaim", name="web")]


CHOSEN = claim("fast")
CHOSEN["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "node-1"}

STORAGE = [
    Row("claim: unseen", core("PersistentVolumeClaim"), PENDING, "not-observed"),
    Row("claim: bound", claim(phase="Bound"), RUNNING, "bound"),
    Row("claim: pending", claim(), PENDING, "unbound"),
    Row("claim: lost", claim(phase="Lost"), FAILED, "Lost"),
    Row("claim: waits for a pod, says its class", claim("fast"), RUNNING, "WaitForFirstConsumer", "once a pod uses it", None, Related(storage_classes=WFFC)),
    Row("claim: waits for a pod, says the default class", claim(), RUNNING, "WaitForFirstConsumer", "", None, Related(storage_classes=DEFAULT)),
    Row("claim: waits for a pod, says an event", claim("fast"), RUNNING, "WaitForFirstConsumer", "", None, Related(events=about_claim("WaitForFirstConsumer", "waiting"))),
    Row("claim: its pod has a node, so a volume is due", CHOSEN, PENDING, "unbound", "", None, Related(storage_classes=WFFC)),
    Row("claim: bound at once, says its class", claim("slow"), PENDING, "unbound", "", None, Related(storage_classes=WFFC)),
    Row("claim: no such class", claim("nope"), BLOCKED, "StorageClassNotFound", "no storage class nope", "fast, slow", Related(storage_classes=WFFC)),
    Row("claim: no default class", claim(), BLOCKED, "NoDefaultClass", "no default", "storageClassName", Related(storage_classes=WFFC)),
    Row("claim: wants no class at all", claim(""), PENDING, "unbound", "", None, Related(storage_classes=WFFC)),
    Row("claim: no volume can be made", claim("slow"), BLOCKED, "ProvisioningFailed", "out of space", "class and size", Related(events=about_claim("ProvisioningFailed", "out of space"))),
    Row("claim: names its volume", core("PersistentVolumeClaim", {"volumeName": "disk-1"}, phase="Pending"), PENDING, "unbound", "disk-1"),
    Row("claim: resizing", claim(phase="Bound", conditions=[cond("Resizing")]), CREATING, "Resizing"),
    Row("claim: its file system grows with the next mount", claim(phase="Bound", conditions=[cond("FileSystemResizePending")]), CREATING, "FileSystemResizePending"),
    Row("claim: cannot be resized", claim(phase="Bound", conditions=[cond("ControllerResizeError", message="not supported")]), BLOCKED, "ControllerResizeError", "not supported", "expansion"),
    Row("volume: new", core("PersistentVolume"), PENDING, "not-observed"),
    Row("volume: available", core("PersistentVolume", phase="Available"), RUNNING, "ready", "available"),
    Row("volume: bound", core("PersistentVolume", phase="Bound"), RUNNING, "ready"),
    Row("volume: released", core("PersistentVolume", phase="Released"), BLOCKED, "Released", "", "claimRef"),
    Row("volume: failed", core("PersistentVolume", phase="Failed"), FAILED, "Failed"),
    Row("snapshot: ready", obj("snapshot.storage.k8s.io/v1", "VolumeSnapshot", {}, {"readyToUse": True}), RUNNING, "ready"),
    Row("snapshot: under way", obj("snapshot.storage.k8s.io/v1", "VolumeSnapshot", {}, {"readyToUse": False}), CREATING, "progressing"),
    Row("snapshot: an error", obj("snapshot.storage.k8s.io/v1", "VolumeSnapshot", {}, {"error": {"message": "no class"}}), BLOCKED, "SnapshotFailed", "no class"),
    Row("storage class", obj("storage.k8s.io/v1", "StorageClass"), RUNNING, "applied"),
]  # fmt: skip


def route(*answers: tuple[Body, ...], kind: str = "HTTPRoute", parents: int = 1) -> Body:
    refs = [{"name": f"gw-{number}"} for number in range(parents)]
    said = [{"parentRef": ref, "conditions": [*conditions]} for ref, conditions in zip(refs, answers, strict=False)]
    return obj(GATEWAY, kind, {"parentRefs": refs}, {"parents": said})


TAKEN = (cond("Accepted"), cond("ResolvedRefs"))
NOT_FOUND = (cond("Accepted"), cond("ResolvedRefs", "False", "BackendNotFound", "service api not found"))
NO_PARENT = (cond("Accepted", "False", "NoMatchingParent", "no listener"),)

GATEWAYS = [
    Row("class: accepted", judged(GATEWAY, "GatewayClass", cond("Accepted")), RUNNING, "ready"),
    Row("class: nobody has seen it", judged(GATEWAY, "GatewayClass", cond("Accepted", "Unknown", "Pending")), PENDING, "not-observed", "no gateway controller"),
    Row("class: refused", judged(GATEWAY, "GatewayClass", cond("Accepted", "False", "InvalidParameters", "no such config")), BLOCKED, "InvalidParameters", "no such config"),
    Row("gateway: nobody has seen it", obj(GATEWAY, "Gateway"), PENDING, "not-observed"),
    Row("gateway: accepted only", judged(GATEWAY, "Gateway", cond("Accepted")), CREATING, "progressing"),
    Row("gateway: programmed", judged(GATEWAY, "Gateway", cond("Accepted"), cond("Programmed"), addresses=[{"value": "10.0.0.9"}]), RUNNING, "ready", "10.0.0.9"),
    Row("gateway: programmed for an older generation", judged(GATEWAY, "Gateway", cond("Accepted", seen=1), cond("Programmed", seen=1)), PENDING, "not-observed"),
    Row("gateway: no address", judged(GATEWAY, "Gateway", cond("Accepted"), cond("Programmed", "False", "AddressNotAssigned")), CREATING, "AddressNotAssigned", "address"),
    Row("gateway: refused", judged(GATEWAY, "Gateway", cond("Accepted", "False", "ListenersNotValid", "bad port")), BLOCKED, "ListenersNotValid", "bad port"),
    Row("gateway: a listener without its certificate", judged(GATEWAY, "Gateway", cond("Programmed"), listeners=[{"name": "https", "conditions": [cond("ResolvedRefs", "False", "InvalidCertificateRef", "no secret tls")]}]), BLOCKED, "InvalidCertificateRef", "listener https", "certificates"),
    Row("route: nobody has seen it", route(), PENDING, "not-observed"),
    Row("route: accepted", route(TAKEN), RUNNING, "ready", "accepted"),
    Row("route: accepted for an older generation", route((cond("Accepted", seen=1), cond("ResolvedRefs", seen=1))), PENDING, "not-observed"),
    Row("route: accepted by one of two", route(TAKEN, parents=2), CREATING, "progressing", "1 of 2 parents"),
    Row("route: refused by the second", route(TAKEN, NO_PARENT, parents=2), BLOCKED, "NoMatchingParent", "gw-1 does not accept it", "allowedRoutes"),
    Row("route: a backend is missing", route(NOT_FOUND), BLOCKED, "BackendNotFound", "service api not found", "create the Service"),
    Row("route: partly invalid", route((*TAKEN, cond("PartiallyInvalid", message="rule 2"))), BLOCKED, "PartiallyInvalid", "rule 2"),
    Row("route: gRPC", route(TAKEN, kind="GRPCRoute"), RUNNING, "ready"),
    Row("route: TLS", route(NO_PARENT, kind="TLSRoute"), BLOCKED, "NoMatchingParent"),
    Row("route: TCP", route(kind="TCPRoute"), PENDING, "not-observed"),
    Row("route: UDP", route(TAKEN, kind="UDPRoute"), RUNNING, "ready"),
    Row("reference grant", obj(GATEWAY, "ReferenceGrant"), RUNNING, "applied"),
]  # fmt: skip

HPA, CRD, API = (
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
)
HPA_V1 = obj(
    "autoscaling/v1",
    "HorizontalPodAutoscaler",
    annotations={"autoscaling.alpha.kubernetes.io/conditions": json.dumps([cond("ScalingActive")])},
)
HOOK = "admissionregistration.k8s.io/v1"


def hook(**client: Any) -> Body:
    return obj(HOOK, "ValidatingWebhookConfiguration") | {
        "webhooks": [{"name": "check.example.com", "clientConfig": {"service": {"name": "s"}} | client}]
    }


CLUSTER = [
    Row("autoscaler: new", obj(*HPA), PENDING, "not-observed"),
    Row("autoscaler: active", judged(*HPA, cond("AbleToScale"), cond("ScalingActive")), RUNNING, "ready"),
    Row("autoscaler: version 1 keeps conditions elsewhere", HPA_V1, RUNNING, "ready"),
    Row("autoscaler: no metrics", judged(*HPA, cond("ScalingActive", "False", "FailedGetResourceMetric", "no metrics")), BLOCKED, "FailedGetResourceMetric", "no metrics", "metrics server"),
    Row("autoscaler: no target", judged(*HPA, cond("AbleToScale", "False", "FailedGetScale", "not found")), BLOCKED, "FailedGetScale", "", "object it scales"),
    Row("autoscaler: target at zero", judged(*HPA, cond("ScalingActive", "False", "ScalingDisabled")), RUNNING, "ready", "scaled to zero"),
    Row("budget: seen", judged("policy/v1", "PodDisruptionBudget", observedGeneration=2, currentHealthy=2, desiredHealthy=1), RUNNING, "ready", "2 healthy pods"),
    Row("budget: unseen", obj("policy/v1", "PodDisruptionBudget"), PENDING, "not-observed"),
    Row("budget: too few pods is no fault of it", judged("policy/v1", "PodDisruptionBudget", cond("DisruptionAllowed", "False", "InsufficientPods"), observedGeneration=2), RUNNING, "ready"),
    Row("definition: new", obj(*CRD), CREATING, "progressing"),
    Row("definition: established", judged(*CRD, cond("NamesAccepted"), cond("Established")), RUNNING, "ready"),
    Row("definition: installing", judged(*CRD, cond("NamesAccepted"), cond("Established", "False", "Installing", "the initial names have been accepted")), CREATING, "progressing", "initial names"),
    Row("definition: names taken", judged(*CRD, cond("NamesAccepted", "False", "PluralConflict", "taken")), FAILED, "PluralConflict", "taken", "rename"),
    Row("definition: going", judged(*CRD, cond("Established"), cond("Terminating")), BLOCKED, "Terminating"),
    Row("API service: available", judged(*API, cond("Available")), RUNNING, "ready"),
    Row("API service: new", obj(*API), CREATING, "progressing"),
    Row("API service: nobody behind it", judged(*API, cond("Available", "False", "MissingEndpoints", "no endpoints")), BLOCKED, "MissingEndpoints", "no endpoints"),
    Row("namespace: new", core("Namespace"), PENDING, "not-observed"),
    Row("namespace: active", core("Namespace", phase="Active"), RUNNING, "ready"),
    Row("namespace: going", core("Namespace", phase="Terminating"), BLOCKED, "Terminating"),
    Row("namespace: held by finalizers", core("Namespace", phase="Terminating", conditions=[cond("NamespaceFinalizersRemaining", message="a/b in 1 instances")]), BLOCKED, "Terminating", "a/b in 1"),
    Row("webhook", hook(caBundle="x"), RUNNING, "applied"),
    Row("webhook: nobody can call it yet", hook(), RUNNING, "applied", "caBundle", "check.example.com"),
    Row("signing request: new", obj("certificates.k8s.io/v1", "CertificateSigningRequest"), PENDING, "not-observed"),
    Row("signing request: denied", judged("certificates.k8s.io/v1", "CertificateSigningRequest", cond("Denied", message="no")), FAILED, "R", "no"),
    Row("config map", core("ConfigMap"), RUNNING, "applied"),
    Row("secret", core("Secret"), RUNNING, "applied"),
    Row("service account", core("ServiceAccount"), RUNNING, "applied"),
    Row("role", obj("rbac.authorization.k8s.io/v1", "Role"), RUNNING, "applied"),
    Row("network policy", obj("networking.k8s.io/v1", "NetworkPolicy"), RUNNING, "applied"),
]  # fmt: skip

READY, NOT_READY = cond("Ready"), cond("Ready", "False", "Waiting", "not yet")
CUSTOMS = [
    Row("silent", obj(CUSTOM, "Widget"), RUNNING, "applied"),
    Row("ready", judged(CUSTOM, "Widget", READY), RUNNING, "ready"),
    Row("not ready", judged(CUSTOM, "Widget", NOT_READY), CREATING, "Waiting", "not yet"),
    Row("not known", judged(CUSTOM, "Widget", cond("Ready", "Unknown")), CREATING, "R"),
    Row("ready, says the status of an older generation", judged(CUSTOM, "Widget", READY, observedGeneration=1), PENDING, "not-observed"),
    Row("ready, says a condition of an older generation", judged(CUSTOM, "Widget", cond("Ready", seen=1), cond("Reconciling", seen=2)), CREATING, "R"),
    Row("reconciling counts before ready", judged(CUSTOM, "Widget", READY, cond("Reconciling")), CREATING, "R"),
    Row("stalled", judged(CUSTOM, "Widget", cond("Stalled", reason="Broken", message="bad spec")), FAILED, "Broken", "bad spec"),
    Row("stalled at an older generation", judged(CUSTOM, "Widget", cond("Stalled", seen=1), NOT_READY), CREATING, "Waiting"),
    Row("failed", judged(CUSTOM, "Widget", cond("Failed", reason="Broken", message="bad spec")), BLOCKED, "Broken", "bad spec"),
    Row("ready and degraded", judged(CUSTOM, "Widget", READY, cond("Degraded", message="one of two")), BLOCKED, "R", "one of two"),
    Row("available", judged(CUSTOM, "Widget", cond("Available")), RUNNING, "ready", "available"),
    Row("available and not ready", judged(CUSTOM, "Widget", cond("Available"), NOT_READY), CREATING, "Waiting"),
    Row("a phase that is good", obj(CUSTOM, "Widget", {}, {"phase": "Running"}), RUNNING, "ready"),
    Row("a phase on the way", obj(CUSTOM, "Widget", {}, {"phase": "Provisioning"}), CREATING, "progressing", "provisioning"),
    Row("a phase that is bad", obj(CUSTOM, "Widget", {}, {"phase": "Failed", "message": "no disk"}), BLOCKED, "Failed", "no disk"),
    Row("a run that runs is not done", obj(CUSTOM, "DataJob", {}, {"phase": "Running"}), CREATING, "progressing", "running"),
    Row("a familiar name in another group", obj(CUSTOM, "Deployment"), RUNNING, "applied"),
    Row("Certificate: unseen", obj("cert-manager.io/v1", "Certificate"), PENDING, "not-observed", "controller", "cert-manager.io"),
    Row("Certificate: issuing", judged("cert-manager.io/v1", "Certificate", cond("Ready", "False", "DoesNotExist", "issuing"), cond("Issuing")), CREATING, "DoesNotExist", "issuing"),
    Row("Certificate: ready", judged("cert-manager.io/v1", "Certificate", READY), RUNNING, "ready"),
    Row("Knative: trying", judged("serving.knative.dev/v1", "Service", cond("Ready", "Unknown", "Deploying")), CREATING, "Deploying"),
    Row("Knative: given up", judged("serving.knative.dev/v1", "Service", cond("Ready", "False", "RevisionFailed", "no image")), BLOCKED, "RevisionFailed", "no image"),
    Row("Flux: unseen", obj("kustomize.toolkit.fluxcd.io/v1", "Kustomization"), PENDING, "not-observed"),
    Row("Flux: nothing seen, by number", judged("kustomize.toolkit.fluxcd.io/v1", "Kustomization", observedGeneration=-1), PENDING, "not-observed"),
    Row("Flux: given up", judged("helm.toolkit.fluxcd.io/v2", "HelmRelease", cond("Stalled", reason="RetriesExceeded"), NOT_READY), FAILED, "RetriesExceeded"),
    Row("Rollout: healthy", obj("argoproj.io/v1alpha1", "Rollout", {}, {"phase": "Healthy", "observedGeneration": "2"}), RUNNING, "ready", "healthy"),
    Row("Rollout: healthy before the change", obj("argoproj.io/v1alpha1", "Rollout", {}, {"phase": "Healthy", "observedGeneration": "1"}), PENDING, "not-observed"),
    Row("Rollout: paused", obj("argoproj.io/v1alpha1", "Rollout", {}, {"phase": "Paused", "observedGeneration": "2"}), BLOCKED, "Paused", "", "promote"),
    Row("Rollout: degraded", obj("argoproj.io/v1alpha1", "Rollout", {}, {"phase": "Degraded", "message": "aborted", "observedGeneration": "2"}), BLOCKED, "Degraded", "aborted"),
    Row("Application: progressing", obj("argoproj.io/v1alpha1", "Application", {}, {"health": {"status": "Progressing"}}), CREATING, "progressing"),
    Row("Crossplane: synced and not ready", judged("s3.aws.upbound.io/v1beta1", "Bucket", cond("Synced"), cond("Ready", "False", "Creating")), CREATING, "Creating"),
    Row("VirtualService: read and not answered", obj("networking.istio.io/v1", "VirtualService"), RUNNING, "applied"),
]  # fmt: skip


@pytest.mark.parametrize("row", JOBS, ids=str)
def test_jobs_and_cron_jobs(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", SERVICES, ids=str)
def test_services_and_ingresses(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", STORAGE, ids=str)
def test_storage(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", GATEWAYS, ids=str)
def test_gateways(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", CLUSTER, ids=str)
def test_what_extends_scales_and_guards_a_cluster(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", CUSTOMS, ids=str)
def test_kinds_unknown_here(row: Row) -> None:
    row.check()
