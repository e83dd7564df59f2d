"""Deployments, StatefulSets, DaemonSets and ReplicaSets: is the present specification fully rolled out?"""

from dataclasses import replace

from locktender.contracts.deployments.cards import (
    CardStatus,
    Deadline,
    Doubt,
    Grace,
    Readiness,
    Trouble,
    blocked,
    creating,
    failed,
    ready,
    troubled,
)
from locktender.contracts.deployments.observed import (
    Observed,
    Related,
    condition,
    flag,
    is_false,
    is_true,
    labels,
    number,
    part,
    parts,
    text,
)
from locktender.contracts.deployments.readiness.pods import (
    about,
    crashed_lately,
    created_after,
    latest,
    remarks,
    said_of,
    worst,
)
from locktender.contracts.deployments.readiness.revisions import current_pods
from locktender.contracts.deployments.readiness.storage import missing_class

_NO_DEADLINE = 2**31 - 1
"""What the Deployment controller takes for: never."""


def deployment(obj: Observed, related: Related) -> Readiness:
    wanted = number(obj, "spec", "replicas", default=1)
    total, updated = number(obj, "status", "replicas"), number(obj, "status", "updatedReplicas")
    available = number(obj, "status", "availableReplicas")
    # The whole of it: that maxUnavailable would allow less does not mean that the present specification is running.
    if updated >= wanted and total <= updated and available >= updated:
        return complete(obj, related, f"{available} of {wanted} replicas available")
    progressing = condition(obj, "Progressing")
    if is_false(progressing) and progressing.get("reason") == "ProgressDeadlineExceeded":
        return _overdue(obj, related, text(progressing, "message"))
    if flag(obj, "spec", "paused"):
        return blocked("the rollout is paused", "paused", "set spec.paused to false")
    refused = condition(obj, "ReplicaFailure")
    if is_true(refused):
        return troubled(_not_created(text(refused, "reason") or "FailedCreate", text(refused, "message")))
    if updated < wanted:
        progress = f"{updated} of {wanted} replicas updated"
    elif total > updated:
        progress = f"{total - updated} old replicas have yet to end"
    else:
        progress = f"{available} of {wanted} replicas available"
    limit = number(obj, "spec", "progressDeadlineSeconds", default=_NO_DEADLINE)
    deadline = Deadline.CLUSTER if limit < _NO_DEADLINE else Deadline.OURS
    return replace(on_the_way(obj, related, progress), deadline=deadline)


def stateful_set(obj: Observed, related: Related) -> Readiness:
    wanted = number(obj, "spec", "replicas", default=1)
    # Servers before 1.22 count ready replicas only.
    live = number(obj, "status", "availableReplicas", default=number(obj, "status", "readyReplicas"))
    on_delete = text(obj, "spec", "updateStrategy", "type") == "OnDelete"
    # Counted from the first ordinal, wherever spec.ordinals lets that begin.
    partition = number(obj, "spec", "updateStrategy", "rollingUpdate", "partition")
    due = 0 if on_delete else max(wanted - max(partition, 0), 0)
    total, updated = number(obj, "status", "replicas"), number(obj, "status", "updatedReplicas")
    if updated >= due and live >= wanted and total <= wanted:
        note = ", updated when deleted" if on_delete and updated < wanted else ""
        note = note or (f", {updated} updated down to the partition" if 0 < due < wanted else "")
        return complete(obj, related, f"{live} of {wanted} replicas available{note}")
    if updated < due:
        stuck = _stuck_behind(obj, related) if text(obj, "spec", "podManagementPolicy") != "Parallel" else None
        if stuck is not None:
            return troubled(stuck)
        progress = f"{updated} of {due} replicas updated"
    elif total > wanted:
        progress = f"{total - wanted} replicas have yet to end"
    else:
        progress = f"{live} of {wanted} replicas available"
    verdict = on_the_way(obj, related, progress, short=total < wanted)
    if verdict.trouble is not None and verdict.trouble.grace is Grace.SCHEDULE:
        # Such a claim may still find a volume that somebody made by hand, so a pod without a node comes first.
        templates = (part(each, "spec") for each in parts(obj, "spec", "volumeClaimTemplates"))
        missing = next(filter(None, (missing_class(spec, related) for spec in templates)), None)
        return verdict if missing is None else troubled(missing)
    return verdict


def daemon_set(obj: Observed, related: Related) -> Readiness:
    wanted = number(obj, "status", "desiredNumberScheduled")
    updated, available = number(obj, "status", "updatedNumberScheduled"), number(obj, "status", "numberAvailable")
    due = 0 if text(obj, "spec", "updateStrategy", "type") == "OnDelete" else wanted
    if updated >= due and available >= wanted:
        if wanted == 0:
            return ready("no node matches, so there is nothing to run")
        note = ", updated when deleted" if due == 0 and updated < wanted else ""
        return complete(obj, related, f"available on {available} of {wanted} nodes{note}")
    progress = (
        f"updated on {updated} of {due} nodes" if updated < due else f"available on {available} of {wanted} nodes"
    )
    short = number(obj, "status", "currentNumberScheduled") < wanted
    return on_the_way(obj, related, progress, short=short)


def replica_set(obj: Observed, related: Related) -> Readiness:
    wanted = number(obj, "spec", "replicas", default=1)
    total, available = number(obj, "status", "replicas"), number(obj, "status", "availableReplicas")
    if total == wanted and available >= wanted:
        return complete(obj, related, f"{available} of {wanted} replicas available")
    refused = condition(obj, "ReplicaFailure")
    if is_true(refused):
        return troubled(_not_created(text(refused, "reason") or "FailedCreate", text(refused, "message")))
    progress = (
        f"{total - wanted} replicas have yet to end"
        if total > wanted
        else f"{available} of {wanted} replicas available"
    )
    return on_the_way(obj, related, progress, short=total < wanted)


def complete(obj: Observed, related: Related, message: str) -> Readiness:
    """Ready by its numbers; doubtful while a container crashes, which without a probe is available in between."""
    crash = crashed_lately(current_pods(obj, related.pods))
    if crash is None:
        return ready(message)
    return Readiness(CardStatus.RUNNING, "ready", message, None, replace(crash, latent=True), doubt=Doubt.CRASHED)


def on_the_way(obj: Observed, related: Related, progress: str, *, short: bool = False) -> Readiness:
    """A workload that is not complete: what its present pods and its events say, else `progress`.

    `short`: it has fewer pods than it wants. Only then an event about pods that cannot be created may be more than
    history, and that only until a pod was created after it.
    """
    mine = current_pods(obj, related.pods)
    trouble = worst(mine, related.events)
    if trouble is not None:
        return passing(progress, trouble)
    refused = latest(about(obj, related.events), "FailedCreate")
    if refused is not None and short and not any(created_after(pod, refused) for pod in mine):
        return troubled(_not_created("FailedCreate", said_of(refused)))
    remark, hint = remarks(mine, related.events)
    return creating(f"{progress}; {remark}", hint=hint) if remark else creating(progress)


def passing(progress: str, trouble: Trouble) -> Readiness:
    """Blocked by a trouble that is to be seen; still on its way when that may have passed."""
    if not trouble.latent:
        return troubled(trouble)
    message = f"{progress}; {trouble.message}"
    return Readiness(CardStatus.CREATING, "progressing", message, trouble.hint, trouble)


def _overdue(obj: Observed, related: Related, said: str) -> Readiness:
    mine = current_pods(obj, related.pods)
    trouble = worst(mine, related.events)
    remark, hint = remarks(mine, related.events)
    why = trouble.message if trouble else remark or said
    hint = trouble.hint if trouble else hint or "see its pods and events with `kubectl describe`"
    return failed(f"no progress within its deadline: {why}", "ProgressDeadlineExceeded", hint)


def _stuck_behind(obj: Observed, related: Related) -> Trouble | None:
    """An old pod that is broken: an ordered StatefulSet waits for it, and so never replaces it by a good one."""
    revision = text(obj, "status", "updateRevision")
    mine = worst(current_pods(obj, related.pods), related.events)
    if mine is not None and not mine.latent:
        return None
    old = [pod for pod in related.pods if dict(labels(pod)).get("controller-revision-hash") not in {revision, None}]
    broken = worst(old, related.events) if revision else None
    if broken is None or broken.latent:
        return None
    pod = broken.pod or ""
    message = f"pod {pod} of an earlier revision is broken and is waited for, so it is not replaced: {broken.message}"
    hint = f"delete it with `kubectl delete pod {pod}`; the new revision takes its place"
    return Trouble("StuckRevision", message, hint, Grace.REFUSED, pod)


def _not_created(reason: str, said: str) -> Trouble:
    words = said.lower()
    if "quota" in words:
        hint = "raise the quota, or lower replicas and requests"
    elif "serviceaccount" in words and "not found" in words:
        hint = "create the service account that the pod template names"
    elif "podsecurity" in words:
        hint = "give the pod template the securityContext that the namespace demands"
    elif "priorityclass" in words or "runtimeclass" in words:
        hint = "create the class that the pod template names"
    else:
        hint = "correct what the cluster's policy objects to in the pod template"
    return Trouble(reason, f"its pods cannot be created: {said or reason}", hint, Grace.CREATE)
