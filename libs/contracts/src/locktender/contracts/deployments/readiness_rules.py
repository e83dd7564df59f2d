"""The truth table of readiness, one function a kind. Each looks at what the cluster says about the present spec."""

from collections.abc import Callable, Sequence

from locktender.contracts.deployments.cards import (
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
    condition,
    flag,
    is_false,
    is_true,
    number,
    observed_current,
    part,
    parts,
    text,
)
from locktender.contracts.deployments.pod_trouble import current_pods, pod_trouble, unschedulable

Rule = Callable[[Observed, Sequence[Observed], Sequence[Observed]], Readiness]
"""(object, its pods, events about it) to a verdict."""

_FAILED_CREATE_GRACE = 20.0


def deployment(obj: Observed, pods: Sequence[Observed], events: Sequence[Observed]) -> Readiness:
    if not observed_current(obj):
        return pending("waiting for the controller to see the change")
    progressing = condition(obj, "Progressing")
    if is_false(progressing) and progressing.get("reason") == "ProgressDeadlineExceeded":
        trouble = pod_trouble(current_pods(obj, pods))
        why = trouble.message if trouble else text(progressing, "message")
        hint = trouble.hint if trouble else "see its pods and events with `kubectl describe`"
        return failed(f"no progress within its deadline: {why}", "ProgressDeadlineExceeded", hint)
    if flag(obj, "spec", "paused"):
        return blocked("the rollout is paused", "paused", "set spec.paused to false")
    wanted = number(obj, "spec", "replicas", default=1)
    total, updated = number(obj, "status", "replicas"), number(obj, "status", "updatedReplicas")
    available = number(obj, "status", "availableReplicas")
    if updated >= wanted and total <= updated and available >= updated:
        return ready(f"{available} of {wanted} replicas available")
    refused = condition(obj, "ReplicaFailure")
    if is_true(refused):
        return troubled(_not_created(text(refused, "reason") or "FailedCreate", text(refused, "message")))
    if updated < wanted:
        progress = f"{updated} of {wanted} replicas updated"
    elif total > updated:
        progress = f"{total - updated} old replicas have yet to end"
    else:
        progress = f"{available} of {wanted} replicas available"
    return _workload(obj, pods, events, progress)


def stateful_set(obj: Observed, pods: Sequence[Observed], events: Sequence[Observed]) -> Readiness:
    if not observed_current(obj):
        return pending("waiting for the controller to see the change")
    wanted = number(obj, "spec", "replicas", default=1)
    # Servers before 1.22 count ready replicas only.
    live = number(obj, "status", "availableReplicas", default=number(obj, "status", "readyReplicas"))
    on_delete = text(obj, "spec", "updateStrategy", "type") == "OnDelete"
    partition = number(obj, "spec", "updateStrategy", "rollingUpdate", "partition")
    due = 0 if on_delete else max(wanted - partition, 0)
    updated = number(obj, "status", "updatedReplicas")
    if updated >= due and live >= wanted and number(obj, "status", "replicas") <= wanted:
        note = ", updated when deleted" if on_delete and updated < wanted else ""
        return ready(f"{live} of {wanted} replicas available{note}")
    progress = f"{updated} of {due} replicas updated" if updated < due else f"{live} of {wanted} replicas available"
    return _workload(obj, pods, events, progress)


def daemon_set(obj: Observed, pods: Sequence[Observed], events: Sequence[Observed]) -> Readiness:
    if not observed_current(obj):
        return pending("waiting for the controller to see the change")
    wanted = number(obj, "status", "desiredNumberScheduled")
    updated, available = number(obj, "status", "updatedNumberScheduled"), number(obj, "status", "numberAvailable")
    due = 0 if text(obj, "spec", "updateStrategy", "type") == "OnDelete" else wanted
    if updated >= due and available >= wanted:
        return ready(f"available on {available} of {wanted} nodes")
    progress = (
        f"updated on {updated} of {due} nodes" if updated < due else f"available on {available} of {wanted} nodes"
    )
    return _workload(obj, pods, events, progress)


def replica_set(obj: Observed, pods: Sequence[Observed], events: Sequence[Observed]) -> Readiness:
    if not observed_current(obj):
        return pending("waiting for the controller to see the change")
    wanted = number(obj, "spec", "replicas", default=1)
    total, available = number(obj, "status", "replicas"), number(obj, "status", "availableReplicas")
    if total == wanted and available >= wanted:
        return ready(f"{available} of {wanted} replicas available")
    refused = condition(obj, "ReplicaFailure")
    if is_true(refused):
        return troubled(_not_created(text(refused, "reason") or "FailedCreate", text(refused, "message")))
    return _workload(obj, pods, events, f"{available} of {wanted} replicas available")


def job(obj: Observed, pods: Sequence[Observed], events: Sequence[Observed]) -> Readiness:
    broken = condition(obj, "Failed")
    if is_true(broken):
        said = text(broken, "message") or "the job failed"
        return failed(said, text(broken, "reason") or "JobFailed", "see why with `kubectl logs` of its pods")
    if is_true(condition(obj, "Complete")):
        return ready("completed", "completed")
    if flag(obj, "spec", "suspend"):
        return ready("suspended; it starts when it is resumed", "suspended")
    if "startTime" not in part(obj, "status"):
        return pending("waiting for the controller to start the job")
    wanted = number(obj, "spec", "completions", default=1)
    return _workload(obj, pods, events, f"{number(obj, 'status', 'succeeded')} of {wanted} completions")


def pod(obj: Observed, _pods: Sequence[Observed], events: Sequence[Observed]) -> Readiness:
    phase = text(obj, "status", "phase")
    if phase == "Succeeded":
        return ready("completed", "completed")
    if phase == "Failed":
        why = text(obj, "status", "message") or text(obj, "status", "reason") or "a container ended with an error"
        return failed(
            f"the pod failed: {why}", text(obj, "status", "reason") or "PodFailed", "see `kubectl logs` of the pod"
        )
    if is_true(condition(obj, "Ready")):
        return ready()
    if not phase:
        return pending("waiting for the cluster to take it up")
    return _workload(obj, [obj], events, f"the pod is {phase.lower()} and not ready")


def _workload(obj: Observed, pods: Sequence[Observed], events: Sequence[Observed], progress: str) -> Readiness:
    """A workload on its way: what its present pods and its events say, else `progress`."""
    mine = current_pods(obj, pods)
    trouble = pod_trouble(mine)
    if trouble is not None:
        return troubled(trouble)
    refused = next((event for event in reversed(events) if event.get("reason") == "FailedCreate"), None)
    if refused is not None and not mine:
        return troubled(_not_created("FailedCreate", text(refused, "message")))
    homeless = unschedulable(mine)
    if homeless:
        return blocked(
            f"{progress}; no node takes a pod: {homeless}", "Unschedulable", "lower its requests, or add nodes"
        )
    return creating(progress)


def _not_created(reason: str, said: str) -> Trouble:
    hint = (
        "raise the quota, or lower replicas and requests"
        if "quota" in said
        else "correct what the cluster's policy objects to in the pod template"
    )
    return Trouble(reason, f"its pods cannot be created: {said or reason}", hint, _FAILED_CREATE_GRACE)


def claim(obj: Observed, _pods: Sequence[Observed], events: Sequence[Observed]) -> Readiness:
    phase = text(obj, "status", "phase")
    if phase == "Bound":
        return ready("bound", "bound")
    if phase == "Lost":
        return failed("its volume is gone", "Lost", "restore the volume, or make a new claim")
    if any(event.get("reason") == "WaitForFirstConsumer" for event in events):
        return pending("it is bound once a pod uses it", "WaitForFirstConsumer")
    broken = next((event for event in reversed(events) if event.get("reason") == "ProvisioningFailed"), None)
    if broken is not None:
        message = f"no volume could be made: {text(broken, 'message')}"
        return blocked(message, "ProvisioningFailed", "check its storage class and size")
    return pending("waiting for a volume", "unbound")


def volume(obj: Observed, _pods: Sequence[Observed], _events: Sequence[Observed]) -> Readiness:
    phase = text(obj, "status", "phase")
    if phase == "Failed":
        return failed(
            text(obj, "status", "message") or "the volume failed", "Failed", "see `kubectl describe` of the volume"
        )
    return ready(phase.lower()) if phase in {"Available", "Bound"} else pending("waiting for the volume")


def service(obj: Observed, _pods: Sequence[Observed], _events: Sequence[Observed]) -> Readiness:
    if text(obj, "spec", "type") == "LoadBalancer" and not parts(obj, "status", "loadBalancer", "ingress"):
        return Readiness(
            creating("").status,
            "no-address",
            "waiting for the load balancer's address",
            "without a load balancer in the cluster, use type ClusterIP or NodePort",
        )
    return ready()


def ingress(obj: Observed, _pods: Sequence[Observed], _events: Sequence[Observed]) -> Readiness:
    if parts(obj, "status", "loadBalancer", "ingress"):
        return ready("has an address")
    return creating("no ingress controller has published an address yet", "no-address")


def autoscaler(obj: Observed, _pods: Sequence[Observed], _events: Sequence[Observed]) -> Readiness:
    for kind in ("AbleToScale", "ScalingActive"):
        found = condition(obj, kind)
        if is_false(found) and found.get("reason") != "ScalingDisabled":
            return blocked(
                text(found, "message") or "cannot scale", text(found, "reason") or kind, "check its target and metrics"
            )
    return ready() if parts(obj, "status", "conditions") else pending("waiting for the first metrics")


def disruption_budget(obj: Observed, _pods: Sequence[Observed], _events: Sequence[Observed]) -> Readiness:
    return ready() if observed_current(obj) else pending("waiting for the controller to see the change")


def definition(obj: Observed, _pods: Sequence[Observed], _events: Sequence[Observed]) -> Readiness:
    names = condition(obj, "NamesAccepted")
    if is_false(names):
        return failed(
            text(names, "message") or "its names are taken", text(names, "reason") or "NamesNotAccepted", "rename it"
        )
    return ready("established") if is_true(condition(obj, "Established")) else creating("waiting to be established")


def namespace(obj: Observed, _pods: Sequence[Observed], _events: Sequence[Observed]) -> Readiness:
    phase = text(obj, "status", "phase")
    if phase == "Terminating":
        return blocked("the namespace is being deleted", "Terminating", "wait until it is gone, or use another")
    return ready("active") if phase == "Active" else pending("waiting for the namespace")


def api_service(obj: Observed, _pods: Sequence[Observed], _events: Sequence[Observed]) -> Readiness:
    available = condition(obj, "Available")
    return ready("available") if is_true(available) else creating(text(available, "message") or "not available yet")


def at_once(_obj: Observed, _pods: Sequence[Observed], _events: Sequence[Observed]) -> Readiness:
    return ready("applied", "applied")


def by_conditions(obj: Observed, _pods: Sequence[Observed], _events: Sequence[Observed]) -> Readiness:
    """Kinds nobody told us about, by the conventions for conditions. Without a status, applied is all there is."""
    status = part(obj, "status")
    if "observedGeneration" in status and not observed_current(obj):
        return pending("waiting for the controller to see the change")
    stalled = condition(obj, "Stalled")
    if is_true(stalled):
        return failed(text(stalled, "message") or "it is stalled", text(stalled, "reason") or "Stalled")
    moving = condition(obj, "Reconciling")
    if is_true(moving):
        return creating(text(moving, "message") or "reconciling", text(moving, "reason") or "reconciling")
    for kind in ("Ready", "Available"):
        found = condition(obj, kind)
        if is_true(found):
            return ready()
        if found:
            return creating(text(found, "message") or "not ready yet", text(found, "reason") or "progressing")
    return ready("applied; its kind reports no readiness", "applied")
