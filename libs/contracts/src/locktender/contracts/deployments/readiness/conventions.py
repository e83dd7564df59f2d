"""Kinds nobody told us about, by the conventions that controllers keep for their status."""

from dataclasses import replace

from locktender.contracts.deployments.cards import (
    Doubt,
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
    condition,
    group_of,
    is_false,
    is_true,
    part,
    text,
)

_SUMMARIES = (
    "Ready", "Available", "Healthy", "Succeeded", "Complete", "Completed", "Programmed", "Established", "Deployed",
    "Bound", "Accepted", "Synced",
)  # fmt: skip
"""Types that sum an object up, the most telling first: the first that is there decides."""
_FAILURES = ("Failed", "Failure", "Error")
_GOOD = {
    "ready", "running", "active", "available", "bound", "healthy", "succeeded", "success", "complete", "completed",
    "established", "deployed", "online", "provisioned", "created", "synced", "accepted", "valid",
}  # fmt: skip
_BAD = {"failed", "failure", "error", "degraded", "invalid", "rejected", "unhealthy"}
_MOVING = {
    "pending", "creating", "provisioning", "initializing", "initialising", "progressing", "reconciling", "updating",
    "upgrading", "installing", "deploying", "starting", "configuring", "scaling", "missing", "unknown",
}  # fmt: skip
_ENDING = ("Workflow", "Run", "Job", "Backup", "Restore")
"""How kinds are called whose objects come to an end: these are not done while they run."""
_HELD = {"paused", "suspended"}
_TELLING = ("cert-manager.io", "acme.cert-manager.io", "argoproj.io", "cluster.x-k8s.io", "postgresql.cnpg.io",
            "external-secrets.io", "kafka.strimzi.io")  # fmt: skip
_TELLING_SUFFIXES = (".fluxcd.io", ".knative.dev", ".crossplane.io", ".upbound.io")
"""Groups whose controllers always answer: silence there means that they have not seen the object."""
_UNTOLD = {
    "AppProject", "ApplicationSet", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow", "AnalysisTemplate",
    "ClusterAnalysisTemplate", "EventBus", "Alert", "Provider", "ProviderConfig", "Composition", "EnvironmentConfig",
    "DeploymentRuntimeConfig", "StoreConfig",
}  # fmt: skip
"""Kinds of these groups that never get a status, or not in every version."""
_SILENT = {
    "monitoring.coreos.com", "networking.istio.io", "security.istio.io", "telemetry.istio.io", "traefik.io",
    "traefik.containo.us", "autoscaling.k8s.io", "policy.networking.k8s.io", "k8s.cni.cncf.io", "metrics.k8s.io",
    "crd.projectcalico.org", "projectcalico.org", "secrets-store.csi.x-k8s.io", "configuration.konghq.com",
}  # fmt: skip
"""Groups of mere configuration, whose objects are read and not answered."""


def by_conditions(obj: Observed, _related: Related) -> Readiness:
    """The verdict by conditions, then by a phase, then by silence. What is of an earlier generation does not count."""
    verdict = _abnormal(obj) or _summed_up(obj) or _by_phase(obj)
    if verdict is not None:
        return verdict
    group = group_of(obj)
    unanswered = ready("applied; its kind reports no readiness", "applied")
    if part(obj, "status") or group in _SILENT:
        return unanswered
    if (group in _TELLING or group.endswith(_TELLING_SUFFIXES)) and text(obj, "kind") not in _UNTOLD:
        hint = f"see that the controller of {group} runs in the cluster"
        return pending("waiting for its controller to see it", hint=hint)
    return replace(unanswered, doubt=Doubt.SILENT)


def _abnormal(obj: Observed) -> Readiness | None:
    """Conditions that hold when something is wrong, or on its way."""
    stalled = condition(obj, "Stalled")
    if is_true(stalled):
        hint = "correct what its controller objects to; it does not try again by itself"
        return failed(text(stalled, "message") or "it is stalled", text(stalled, "reason") or "Stalled", hint)
    for kind in _FAILURES:
        found = condition(obj, kind)
        if is_true(found):
            return troubled(_wrong(found, kind))
    moving = condition(obj, "Reconciling")
    if is_true(moving):
        return creating(text(moving, "message") or "reconciling", text(moving, "reason") or "reconciling")
    degraded = condition(obj, "Degraded")
    if is_true(degraded):
        return blocked(text(degraded, "message") or "it is degraded", text(degraded, "reason") or "Degraded")
    return None


def _summed_up(obj: Observed) -> Readiness | None:
    for kind in _SUMMARIES:
        found = condition(obj, kind)
        if is_true(found):
            return ready() if kind == "Ready" else ready(kind.lower())
        if is_false(found) and group_of(obj).endswith(".knative.dev"):
            # Knative says Unknown while it tries, and False when it has given up.
            return troubled(_wrong(found, "NotReady"))
        if found:
            return creating(text(found, "message") or "not ready yet", text(found, "reason") or "progressing")
    return None


def _by_phase(obj: Observed) -> Readiness | None:
    health = text(obj, "status", "health", "status")
    said = health or text(obj, "status", "phase") or text(obj, "status", "state")
    word = said.lower()
    if word in _GOOD and not (word == "running" and text(obj, "kind").endswith(_ENDING)):
        return ready(word)
    if word in _HELD:
        return blocked(f"it is {word}", said, "resume or promote it")
    if word in _BAD:
        why = text(obj, "status", "health", "message") or text(obj, "status", "message") or f"it is {word}"
        return troubled(Trouble(said, why, "see `kubectl describe` of the object", Grace.REFUSED))
    return creating(f"it is {word}") if word in _MOVING | _GOOD else None


def _wrong(found: Observed, otherwise: str) -> Trouble:
    said = text(found, "message") or "its controller reports a failure"
    hint = "see `kubectl describe` of the object, and the logs of its controller"
    return Trouble(text(found, "reason") or otherwise, said, hint, Grace.REFUSED)
