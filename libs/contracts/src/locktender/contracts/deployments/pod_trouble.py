"""What pods say about why they are not ready."""

import re
from collections.abc import Iterator, Sequence

from locktender.contracts.deployments.cards import Trouble
from locktender.contracts.deployments.observed import (
    Observed,
    condition,
    is_false,
    labels,
    name_of,
    number,
    part,
    parts,
    text,
)

_CRASHES = 3
"""Restarts after which a crash loop has proved itself."""

# How long each may last: pulls and references can heal while the rest of the deployment is applied.
_GRACE_SECONDS = {
    "InvalidImageName": 2.0,
    "ImagePullBackOff": 20.0,
    "ErrImagePull": 40.0,
    "ErrImageNeverPull": 5.0,
    "RegistryUnavailable": 40.0,
    "CreateContainerConfigError": 30.0,
    "CreateContainerError": 30.0,
    "RunContainerError": 30.0,
}
_PULLS = {"ImagePullBackOff", "ErrImagePull", "RegistryUnavailable", "ErrImageNeverPull"}
_REPLICA_SET = re.compile(r'"([^"]+)"')
_COMPARED = ("image", "command", "args", "env", "envFrom")


def pod_trouble(pods: Sequence[Observed]) -> Trouble | None:
    """The worst trouble of `pods`: the one that needs the least patience, by name where equal."""
    found = [trouble for pod in pods for trouble in _of_pod(pod)]
    return min(found, key=lambda trouble: (trouble.grace_seconds, trouble.pod or ""), default=None)


def unschedulable(pods: Sequence[Observed]) -> str:
    """Why a pod of these finds no node; empty when each found one."""
    for pod in pods:
        scheduled = condition(pod, "PodScheduled")
        if is_false(scheduled) and scheduled.get("reason") == "Unschedulable":
            return text(scheduled, "message") or "no node can take it"
    return ""


def _of_pod(pod: Observed) -> Iterator[Trouble]:
    if "deletionTimestamp" in part(pod, "metadata"):
        return
    for field in ("initContainerStatuses", "containerStatuses"):
        for status in parts(pod, "status", field):
            trouble = _of_container(name_of(pod), status)
            if trouble is not None:
                yield trouble


def _of_container(pod: str, status: Observed) -> Trouble | None:
    waiting = part(status, "state", "waiting")
    reason, said, container = text(waiting, "reason"), text(waiting, "message"), text(status, "name")
    if reason == "CrashLoopBackOff":
        return _crash(pod, container, status)
    if reason not in _GRACE_SECONDS:
        return None
    image = text(status, "image")
    if reason in _PULLS or reason == "InvalidImageName":
        message = f"pod {pod}: the image {image} of container {container} cannot be pulled"
    else:
        message = f"pod {pod}: container {container} cannot be created"
    message += f": {said}" if said else f" ({reason})"
    return Trouble(reason, message, _hint(reason, said), _GRACE_SECONDS[reason], pod, container)


def _crash(pod: str, container: str, status: Observed) -> Trouble | None:
    restarts = number(status, "restartCount")
    if restarts < _CRASHES:
        return None
    last = part(status, "lastState", "terminated")
    why = text(last, "reason") or "Error"
    message = (
        f"pod {pod}: container {container} keeps ending with exit code {number(last, 'exitCode')} ({why}), "
        f"{restarts} restarts"
    )
    hint = (
        "raise its memory limit, or let it use less"
        if why == "OOMKilled"
        else f"see why with `kubectl logs {pod} -c {container} --previous`"
    )
    return Trouble("CrashLoopBackOff", message, hint, 0.0, pod, container)


def _hint(reason: str, said: str) -> str:
    words = said.lower()
    if reason == "InvalidImageName":
        return "write the image as registry/repository:tag"
    if reason in _PULLS:
        if any(word in words for word in ("unauthorized", "denied", "authentication", "forbidden")):
            return "check the image name, and give the namespace a pull secret for the registry"
        return "check the image name and tag, and that the cluster can reach the registry"
    if "not found" in words or "couldn't find key" in words:
        return "create the Secret or ConfigMap it refers to, or correct the name or key"
    return "check command, mounts and references of the container"


def current_pods(workload: Observed, pods: Sequence[Observed]) -> list[Observed]:
    """The pods of the present specification; those of earlier ones say nothing about it."""
    revision = text(workload, "status", "updateRevision")
    if revision:
        return [pod for pod in pods if dict(labels(pod)).get("controller-revision-hash") == revision]
    generation = text(workload, "metadata", "annotations", "deprecated.daemonset.template.generation")
    if generation:
        return [pod for pod in pods if dict(labels(pod)).get("pod-template-generation", generation) == generation]
    if workload.get("kind") != "Deployment":
        return list(pods)
    named = set(_REPLICA_SET.findall(text(condition(workload, "Progressing"), "message")))
    owned = [
        pod for pod in pods if any(owner.get("name") in named for owner in parts(pod, "metadata", "ownerReferences"))
    ]
    if owned:
        return owned
    wanted = _containers(part(workload, "spec", "template"))
    alike = [pod for pod in pods if wanted.items() <= _containers(pod).items()]
    if alike or number(workload, "status", "updatedReplicas") < number(workload, "status", "replicas"):
        return alike
    return list(pods)


def _containers(holder: Observed) -> dict[str, str]:
    return {
        text(container, "name"): repr([container.get(field) or None for field in _COMPARED])
        for container in parts(holder, "spec", "containers")
    }
