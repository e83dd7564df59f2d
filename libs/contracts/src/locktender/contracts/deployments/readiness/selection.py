"""What else is worth reading for an object, and how its pods are found."""

from locktender.contracts.deployments.observed import Observed, flag, name_of, part, parts, text, texts
from locktender.contracts.deployments.readiness.kinds import RULES, rule_of
from locktender.contracts.deployments.readiness.rule import Reads

_WITH_PODS = {kind for rule in RULES if Reads.PODS in rule.reads for kind in rule.kinds}


def reads(obj: Observed) -> frozenset[Reads]:
    """What besides `obj` makes its verdict more telling."""
    return rule_of(obj).reads


def watches_pods(kind: str) -> bool:
    """Whether the pods of this kind are worth reading for `assess`."""
    return kind in _WITH_PODS


def pod_selector(obj: Observed) -> str | None:
    """The `labelSelector` that finds the pods of `obj`; None when it has none, or none yet."""
    kind = text(obj, "kind")
    if Reads.PODS not in reads(obj):
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
