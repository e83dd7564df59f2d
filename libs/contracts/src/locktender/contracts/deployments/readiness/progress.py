"""How far an object has got, as one value to compare."""

from collections.abc import Hashable

from locktender.contracts.deployments.observed import (
    NOTHING,
    Observed,
    Related,
    condition,
    conditions_of,
    number,
    observed_generation,
    part,
    parts,
    text,
)
from locktender.contracts.deployments.readiness.pods import is_leaving

_COUNTS = (
    "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "currentReplicas", "terminatingReplicas",
    "desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable",
    "active", "ready", "succeeded", "currentHealthy",
)  # fmt: skip
_WORDS = ("phase", "state", "completedIndexes", "updateRevision", "currentRevision", "startTime", "completionTime")


def progress_mark(obj: Observed, related: Related = NOTHING) -> Hashable:
    """A value that changes whenever `obj` or its pods got any further, or a container started anew.

    Messages, time stamps of heart beats and the names of pods are left out: what repeats the same for ever does not
    count as progress. A container that starts anew does, because it may now stay up; `Patience.crashes` bounds that.
    """
    status = part(obj, "status")
    return (
        observed_generation(obj),
        number(obj, "metadata", "generation"),
        tuple(number(status, name) for name in _COUNTS),
        tuple(text(status, name) for name in _WORDS),
        text(status, "health", "status"),
        _conditions(obj, status),
        tuple(sorted(repr(_conditions(obj, one)) for one in parts(status, "parents") + parts(status, "listeners"))),
        tuple(text(one, "ip") or text(one, "hostname") for one in parts(status, "loadBalancer", "ingress")),
        tuple(sorted(_of_pod(pod) for pod in related.pods if not is_leaving(pod))),
        _of_pod(obj) if obj.get("kind") == "Pod" else "",
    )


def _conditions(obj: Observed, holder: Observed) -> tuple[tuple[str, str, str], ...]:
    found = conditions_of(obj, holder)
    return tuple(sorted((text(one, "type"), text(one, "status"), text(one, "reason")) for one in found))


def _of_pod(pod: Observed) -> str:
    statuses = parts(pod, "status", "initContainerStatuses") + parts(pod, "status", "containerStatuses")
    return repr((
        text(pod, "status", "phase"),
        [text(condition(pod, kind), "status") for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")],
        sum(number(status, "restartCount") for status in statuses),
        sum(status.get("started") is True for status in statuses),
        sum("running" in part(status, "state") for status in statuses),
        sum("terminated" in part(status, "state") for status in statuses),
    ))  # fmt: skip
