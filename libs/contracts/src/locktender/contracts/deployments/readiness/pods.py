"""What pods and the events about them say about why they are not ready."""

import re
from collections.abc import Iterator, Sequence

from locktender.contracts.deployments.cards import Grace, Trouble
from locktender.contracts.deployments.observed import (
    Observed,
    condition,
    is_false,
    is_true,
    name_of,
    part,
    parts,
    text,
)
from locktender.contracts.deployments.readiness.containers import container_troubles
from locktender.contracts.deployments.readiness.scheduling import scheduling_trouble

_URGENCY = {grace: rank for rank, grace in enumerate(Grace)}
_MOUNTS = {"FailedMount", "FailedAttachVolume", "FailedMapVolume"}
_MOMENTS = (("lastTimestamp",), ("series", "lastObservedTime"), ("eventTime",), ("firstTimestamp",))
_TO_THE_SECOND = len("2026-01-01T00:00:00")
_STARTING = {"ContainerCreating", "PodInitializing"}
_MISSING = re.compile(r'(secret|configmap) "?([^" ]+)"? not found|non-existent \w+ key', re.IGNORECASE)
_PROBE = re.compile(r"^(Readiness|Liveness|Startup) probe (?:failed|errored)")
# A probe's output is a program's own text, which may hold anything: only what is known about it is repeated.
_PROBE_WORDS = (
    (r"statuscode: (\d{3})", r"answers with status \1"),
    (r"connection refused", "finds nobody listening"),
    (r"timeout|deadline exceeded|timed out", "gets no answer in time"),
    (r"no such host|no route", "does not reach it"),
)


def worst(pods: Sequence[Observed], events: Sequence[Observed]) -> Trouble | None:
    """What needs the least patience in `pods`; what is to be seen right now comes before what may have passed."""
    found = [trouble for pod in pods if not is_over(pod) for trouble in _of_pod(pod, events)]
    return min(
        found, key=lambda one: (one.latent, _URGENCY[one.grace], one.pod or "", one.container or ""), default=None
    )


def crashed_lately(pods: Sequence[Observed]) -> Trouble | None:
    """A crash that makes pods which look ready doubtful."""
    found = [
        trouble
        for pod in pods
        if not is_over(pod)
        for trouble in container_troubles(pod)
        if trouble.grace is Grace.CRASH
    ]
    return min(found, key=lambda one: (-one.count, one.pod or "", one.container or ""), default=None)


def remarks(pods: Sequence[Observed], events: Sequence[Observed]) -> tuple[str, str | None]:
    """Words and a hint about pods that are in no trouble and not ready either: probes, evictions, gates."""
    for pod in pods:
        if is_leaving(pod) or is_true(condition(pod, "Ready")):
            continue
        said = _probe(pod, events) or _evicted(pod) or _gates(pod)
        if said is not None:
            return said
    return "", None


def is_leaving(pod: Observed) -> bool:
    """Whether it is being deleted."""
    return "deletionTimestamp" in part(pod, "metadata")


def is_over(pod: Observed) -> bool:
    """Whether it will not run again, so that another takes its place."""
    return is_leaving(pod) or text(pod, "status", "phase") in {"Failed", "Succeeded"}


def about(thing: Observed, events: Sequence[Observed]) -> list[Observed]:
    """The events about one object, by name and kind, and by uid where both know it."""
    uid = text(thing, "metadata", "uid")
    kind, name = text(thing, "kind") or "Pod", name_of(thing)
    found: list[Observed] = []
    for event in events:
        whom = part(event, "involvedObject") or part(event, "regarding")
        if whom:
            same = text(whom, "kind") in {kind, ""} and text(whom, "name") == name
            if same and (not uid or text(whom, "uid") in {uid, ""}):
                found.append(event)
    return found


def latest(events: Sequence[Observed], *reasons: str) -> Observed | None:
    """The last event for one of some reasons."""
    return next((event for event in reversed(events) if event.get("reason") in reasons), None)


def created_after(pod: Observed, event: Observed) -> bool:
    """Whether a pod is younger than an event, by the cluster's own stamps. Not, when either has none."""
    moments = (text(event, *path) for path in _MOMENTS)
    moment = next((said for said in moments if said), "")[:_TO_THE_SECOND]
    return bool(moment) and text(pod, "metadata", "creationTimestamp")[:_TO_THE_SECOND] > moment


def said_of(event: Observed) -> str:
    """The message of an event, in either of its API versions."""
    return text(event, "message") or text(event, "note")


def _of_pod(pod: Observed, events: Sequence[Observed]) -> Iterator[Trouble]:
    mine = about(pod, events)
    for trouble in container_troubles(pod):
        secret = latest(mine, "FailedToRetrieveImagePullSecret") if trouble.grace is Grace.IMAGE else None
        yield trouble if secret is None else _with_secret(trouble, said_of(secret))
    homeless = scheduling_trouble(pod, latest(mine, "FailedScheduling"))
    if homeless is not None:
        yield homeless
    elif _is_starting(pod):
        yield from _of_start(pod, mine)


def _with_secret(trouble: Trouble, said: str) -> Trouble:
    names = re.search(r"\(([^()]+)\)", said)
    which = f" {names.group(1)}" if names else ""
    hint = f"create the pull secret{which} in the namespace: the pod names it, and it does not exist"
    return Trouble(trouble.reason, trouble.message, hint, trouble.grace, trouble.pod, trouble.container)


def _is_starting(pod: Observed) -> bool:
    """Whether its containers have yet to be created: events about its volumes are history after that."""
    statuses = parts(pod, "status", "initContainerStatuses") + parts(pod, "status", "containerStatuses")
    waiting = [text(status, "state", "waiting", "reason") for status in statuses]
    return text(pod, "status", "phase") == "Pending" and all(not why or why in _STARTING for why in waiting)


def _of_start(pod: Observed, mine: Sequence[Observed]) -> Iterator[Trouble]:
    name = name_of(pod)
    event = latest(mine, *_MOUNTS, "FailedCreatePodSandBox")
    if event is None:
        return
    reason, said = text(event, "reason"), said_of(event)
    if reason == "FailedCreatePodSandBox":
        hint = "the node cannot set up the pod's network: see the network plugin of the cluster"
        yield Trouble(reason, f"pod {name}: its sandbox cannot be created: {said}", hint, Grace.MOUNT, name)
        return
    if _MISSING.search(said):
        hint = "create the Secret or ConfigMap it mounts, or correct the name or key"
        yield Trouble(reason, f"pod {name}: a volume cannot be mounted: {said}", hint, Grace.CONFIG, name)
        return
    hint = "see that the volume exists, and that no other node still holds it"
    verb = "attached" if reason == "FailedAttachVolume" else "mounted"
    yield Trouble(reason, f"pod {name}: a volume cannot be {verb}: {said}", hint, Grace.MOUNT, name)


def _probe(pod: Observed, events: Sequence[Observed]) -> tuple[str, str | None] | None:
    event = latest(about(pod, events), "Unhealthy")
    which = _PROBE.match(said_of(event)) if event is not None else None
    if event is None or which is None:
        return None
    said = said_of(event)
    words = next((found.expand(word) for pattern, word in _PROBE_WORDS if (found := re.search(pattern, said))), "fails")
    where = text(event, "involvedObject", "fieldPath").partition("{")[2].rstrip("}")
    container = f" of container {where}" if where else ""
    kind = which.group(1).lower()
    hint = f"see that port and path of the {kind} probe are right, and give it more time if the program is slow"
    return f"pod {name_of(pod)}: the {kind} probe{container} {words}", hint


def _evicted(pod: Observed) -> tuple[str, str | None] | None:
    if text(pod, "status", "phase") != "Failed" or text(pod, "status", "reason") != "Evicted":
        return None
    said = text(pod, "status", "message") or "its node ran short"
    return f"pod {name_of(pod)} was evicted: {said}", "give it requests that it keeps to, or free the node"


def _gates(pod: Observed) -> tuple[str, str | None] | None:
    scheduled = condition(pod, "PodScheduled")
    if is_false(scheduled) and scheduled.get("reason") == "SchedulingGated":
        return f"pod {name_of(pod)} is held back by a scheduling gate", "remove spec.schedulingGates"
    if not is_true(condition(pod, "ContainersReady")):
        return None
    gates = [text(gate, "conditionType") for gate in parts(pod, "spec", "readinessGates")]
    closed = [gate for gate in gates if gate and not is_true(condition(pod, gate))]
    if not closed:
        return None
    return f"pod {name_of(pod)} waits for its readiness gate {closed[0]}", "see the controller that sets this condition"
