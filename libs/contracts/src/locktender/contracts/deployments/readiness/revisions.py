"""Which pods belong to the present specification: those of earlier ones say nothing about it."""

import re
from collections.abc import Sequence

from locktender.contracts.deployments.observed import Observed, annotation, condition, labels, number, part, parts, text

_REPLICA_SET = re.compile(r'"([^"]+)"')
_COMPARED = ("image", "command", "args", "env", "envFrom")


def current_pods(workload: Observed, pods: Sequence[Observed]) -> list[Observed]:
    """The pods of the present specification of `workload`, among those that its selector selects."""
    revision = text(workload, "status", "updateRevision")
    if revision:
        return [pod for pod in pods if dict(labels(pod)).get("controller-revision-hash") == revision]
    generation = annotation(workload, "deprecated.daemonset.template.generation")
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
