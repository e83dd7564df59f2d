"""Is an object ready? Pure: what the cluster says goes in, a verdict with words for people comes out.

A verdict is only about the present specification: a status that the controller wrote for an earlier generation never
makes anything ready and never makes anything fail.
"""

from collections.abc import Sequence
from dataclasses import replace

from locktender.contracts.deployments import readiness_rules as rules
from locktender.contracts.deployments.cards import CardStatus, Readiness, Trouble, blocked
from locktender.contracts.deployments.observed import Observed, flag, group_of, name_of, part, parts, text, texts
from locktender.contracts.deployments.readiness_rules import Rule

__all__ = ["CardStatus", "Readiness", "Trouble", "assess", "is_required", "pod_selector", "settled", "watches_pods"]

_RULES: dict[tuple[str, str], Rule] = {
    ("apps", "Deployment"): rules.deployment,
    ("apps", "StatefulSet"): rules.stateful_set,
    ("apps", "DaemonSet"): rules.daemon_set,
    ("apps", "ReplicaSet"): rules.replica_set,
    ("", "ReplicationController"): rules.replica_set,
    ("batch", "Job"): rules.job,
    ("", "Pod"): rules.pod,
    ("", "PersistentVolumeClaim"): rules.claim,
    ("", "PersistentVolume"): rules.volume,
    ("", "Service"): rules.service,
    ("", "Namespace"): rules.namespace,
    ("networking.k8s.io", "Ingress"): rules.ingress,
    ("autoscaling", "HorizontalPodAutoscaler"): rules.autoscaler,
    ("policy", "PodDisruptionBudget"): rules.disruption_budget,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): rules.definition,
    ("apiregistration.k8s.io", "APIService"): rules.api_service,
}
# Everything else in these groups is configuration, which is ready once it is stored.
_OWN_GROUPS = {"", "apps", "batch", "autoscaling", "policy"}
_OWN_SUFFIX = ".k8s.io"
_FOREIGN_GROUPS = {"gateway.networking.k8s.io", "snapshot.storage.k8s.io", "metrics.k8s.io"}
_WITH_PODS = {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job"}
# These depend on somebody outside of the deployment; what really needs them is gated by itself.
_OPTIONAL = {
    ("", "PersistentVolumeClaim"),
    ("", "PersistentVolume"),
    ("networking.k8s.io", "Ingress"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("policy", "PodDisruptionBudget"),
}


def assess(obj: Observed, pods: Sequence[Observed] = (), events: Sequence[Observed] = ()) -> Readiness:
    """The verdict on `obj` as the cluster returned it.

    Args:
        obj: the object, with its status.
        pods: for kinds that `watches_pods`, what `pod_selector` selects; pods of earlier specs may be among them.
        events: events about the object, oldest first; optional, they only make verdicts more telling.

    Returns:
        A verdict whose status is `RUNNING` only if the present spec is fully in effect. It never raises, whatever the
        object lacks. A verdict with `trouble` is not yet a failure; `settled` makes it one.
    """
    if "deletionTimestamp" in part(obj, "metadata"):
        return blocked("it is being deleted", "Terminating", "wait until it is gone, then deploy again")
    return _rule(obj)(obj, pods, events)


def settled(readiness: Readiness, *, troubled_for: float) -> Readiness:
    """The verdict once its trouble (by `Trouble.key`) has been seen without a break for `troubled_for` seconds."""
    trouble = readiness.trouble
    if trouble is None or troubled_for < trouble.grace_seconds:
        return readiness
    return replace(readiness, status=CardStatus.FAILED)


def is_required(obj: Observed) -> bool:
    """Whether a deployment waits until this object is ready. The others are shown, and never block."""
    return (group_of(obj), text(obj, "kind")) not in _OPTIONAL


def watches_pods(kind: str) -> bool:
    """Whether the pods of this kind are worth reading for `assess`."""
    return kind in _WITH_PODS


def pod_selector(obj: Observed) -> str | None:
    """The `labelSelector` that finds the pods of `obj`; None when it has none, or none yet."""
    kind = text(obj, "kind")
    if not watches_pods(kind):
        return None
    if kind == "Job" and flag(obj, "spec", "manualSelector") is False:
        return f"batch.kubernetes.io/job-name={name_of(obj)}"
    selector = part(obj, "spec", "selector")
    if kind == "ReplicationController":
        selector = {"matchLabels": selector}
    terms = [f"{key}={value}" for key, value in part(selector, "matchLabels").items() if isinstance(value, str)]
    terms += [term for term in map(_expression, parts(selector, "matchExpressions")) if term]
    return ",".join(terms) or None


def _expression(expression: Observed) -> str:
    key, operator = text(expression, "key"), text(expression, "operator")
    listed = ",".join(texts(expression, "values"))
    match operator:
        case "In":
            return f"{key} in ({listed})"
        case "NotIn":
            return f"{key} notin ({listed})"
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return ""


def _rule(obj: Observed) -> Rule:
    group = group_of(obj)
    known = _RULES.get((group, text(obj, "kind")))
    if known is not None:
        return known
    own = group in _OWN_GROUPS or (group.endswith(_OWN_SUFFIX) and group not in _FOREIGN_GROUPS)
    return rules.at_once if own else rules.by_conditions
