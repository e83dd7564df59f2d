"""What extends, scales and guards a cluster: definitions, API services, namespaces, autoscalers, budgets, webhooks."""

import json

from locktender.contracts.deployments.cards import Readiness, blocked, creating, failed, pending, ready
from locktender.contracts.deployments.observed import (
    Observed,
    Related,
    annotation,
    condition,
    is_false,
    is_true,
    name_of,
    number,
    part,
    parts,
    text,
)

_ANNOTATED = "autoscaling.alpha.kubernetes.io/conditions"
_ANNOTATED_LIMIT = 20_000


def definition(obj: Observed, _related: Related) -> Readiness:
    if is_true(condition(obj, "Terminating")):
        return blocked("its objects are being deleted", "Terminating", "wait until they are gone, then deploy again")
    names, established = condition(obj, "NamesAccepted"), condition(obj, "Established")
    if is_false(names):
        said = text(names, "message") or "its names are taken"
        return failed(said, text(names, "reason") or "NamesNotAccepted", "rename it, or remove the other definition")
    if is_true(established):
        return ready("established")
    return creating(text(established, "message") or "waiting to be established")


def api_service(obj: Observed, _related: Related) -> Readiness:
    available = condition(obj, "Available")
    if is_true(available):
        return ready("available")
    said = text(available, "message") or "not available yet"
    if not is_false(available):
        return creating(said)
    return blocked(said, text(available, "reason") or "Unavailable", "see the Service that it names, and its pods")


def namespace(obj: Observed, _related: Related) -> Readiness:
    phase = text(obj, "status", "phase")
    if phase == "Terminating":
        stuck = condition(obj, "NamespaceFinalizersRemaining")
        said = f": {text(stuck, 'message')}" if is_true(stuck) else ""
        return blocked(f"the namespace is being deleted{said}", "Terminating", "wait until it is gone, or use another")
    return ready("active") if phase == "Active" else pending("waiting for the namespace")


def autoscaler(obj: Observed, _related: Related) -> Readiness:
    shown = _with_conditions(obj)
    for kind in ("AbleToScale", "ScalingActive"):
        found = condition(shown, kind)
        if is_false(found) and found.get("reason") != "ScalingDisabled":
            said = text(found, "message") or "cannot scale"
            return blocked(said, text(found, "reason") or kind, _scale_hint(text(found, "reason")))
    active = condition(shown, "ScalingActive")
    if is_true(active):
        return ready("scales its target")
    if is_false(active):
        return ready("its target is scaled to zero, which turns it off")
    return pending("waiting for the first metrics")


def _with_conditions(obj: Observed) -> Observed:
    """Version 1 of the API has no conditions, and keeps them in an annotation."""
    if text(obj, "apiVersion") != "autoscaling/v1":
        return obj
    try:
        found: object = json.loads(annotation(obj, _ANNOTATED)[:_ANNOTATED_LIMIT] or "[]")
    except (ValueError, RecursionError):
        return obj
    return {**obj, "status": {**part(obj, "status"), "conditions": found}}


def _scale_hint(reason: str) -> str:
    if reason.startswith("FailedGetScale"):
        return "see that the object it scales exists"
    if "Metric" in reason:
        return "see that the metrics server runs, and that the pods have requests"
    return "check its target and metrics"


def disruption_budget(obj: Observed, _related: Related) -> Readiness:
    allowed = condition(obj, "DisruptionAllowed")
    if is_false(allowed) and allowed.get("reason") == "SyncFailed":
        return blocked(text(allowed, "message") or "it cannot be computed", "SyncFailed", "check its selector")
    healthy, desired = number(obj, "status", "currentHealthy"), number(obj, "status", "desiredHealthy")
    return ready(f"guards {healthy} healthy pods, of which {desired} have to stay")


def webhooks(obj: Observed, _related: Related) -> Readiness:
    for hook in parts(obj, "webhooks"):
        client = part(hook, "clientConfig")
        if "service" in client and not client.get("caBundle"):
            hint = f"the webhook {name_of(hook) or text(hook, 'name')} has no caBundle: its calls fail until one is set"
            return ready("applied; somebody has yet to set its caBundle", "applied", hint)
    return ready("applied", "applied")


def signing_request(obj: Observed, _related: Related) -> Readiness:
    for kind in ("Denied", "Failed"):
        found = condition(obj, kind)
        if is_true(found):
            return failed(text(found, "message") or f"it was {kind.lower()}", text(found, "reason") or kind)
    if part(obj, "status").get("certificate"):
        return ready("signed")
    return creating("waiting to be signed") if is_true(condition(obj, "Approved")) else pending("waiting for approval")


def at_once(_obj: Observed, _related: Related) -> Readiness:
    return ready("applied", "applied")
