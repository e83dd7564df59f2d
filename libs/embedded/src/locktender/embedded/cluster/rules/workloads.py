"""Deployments and the other kinds that keep pods."""

from collections.abc import Iterator

from locktender.embedded.cluster.refusal import Cause
from locktender.embedded.cluster.rules.faults import forbidden, required, unsupported, wrong
from locktender.embedded.cluster.rules.pods import template_rules
from locktender.embedded.cluster.selectors import selects
from locktender.embedded.cluster.shapes import Obj, at, int_at, is_obj, obj_at, objs_at, text_at

_LEAST = "must be greater than or equal to 0"
_STRATEGIES = {"Deployment": ("Recreate", "RollingUpdate"), "StatefulSet": ("OnDelete", "RollingUpdate")}


def workload_rules(obj: Obj) -> Iterator[Cause]:
    """What is wrong with a Deployment, ReplicaSet, StatefulSet or DaemonSet."""
    replicas = int_at(obj, "spec", "replicas")
    if replicas < 0:
        yield wrong("spec.replicas", replicas, _LEAST)
    labels = obj_at(obj, "spec", "template", "metadata", "labels")
    selector = at(obj, "spec", "selector")
    if not is_obj(selector):
        yield required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield wrong("spec.selector", selector, f"empty selector is invalid for {text_at(obj, 'kind').lower()}")
    if not is_obj(selector) or (selector and not selects(selector, labels)):
        yield wrong("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    claims = [text_at(claim, "metadata", "name") for claim in objs_at(obj, "spec", "volumeClaimTemplates")]
    yield from template_rules(obj_at(obj, "spec", "template"), "spec.template", claims)
    policy = text_at(obj, "spec", "template", "spec", "restartPolicy")
    if policy != "Always":
        yield unsupported("spec.template.spec.restartPolicy", policy, ("Always",))
    yield from _strategy(obj)


def _strategy(obj: Obj) -> Iterator[Cause]:
    kind = text_at(obj, "kind")
    name = "strategy" if kind == "Deployment" else "updateStrategy"
    strategy, where = obj_at(obj, "spec", name), f"spec.{name}"
    wanted = text_at(strategy, "type")
    allowed = _STRATEGIES.get(kind)
    if allowed and wanted and wanted not in allowed:
        yield unsupported(f"{where}.type", wanted, allowed)
    if kind != "Deployment":
        return
    rolling = at(strategy, "rollingUpdate")
    if wanted == "Recreate" and rolling is not None:
        yield forbidden(f"{where}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
    if _is_none(at(rolling, "maxUnavailable")) and _is_none(at(rolling, "maxSurge")):
        told = "may not be 0 when `maxSurge` is 0"
        yield wrong(f"{where}.rollingUpdate.maxUnavailable", at(rolling, "maxUnavailable"), told)
    deadline, least = int_at(obj, "spec", "progressDeadlineSeconds", default=-1), int_at(obj, "spec", "minReadySeconds")
    if 0 <= deadline <= least:
        yield wrong("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _is_none(value: object) -> bool:
    return value in (0, "0%")
