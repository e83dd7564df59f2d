"""Gateway API: classes, gateways, and routes, which say themselves which parent took them up."""

from locktender.contracts.deployments.cards import (
    Grace,
    Readiness,
    Trouble,
    blocked,
    creating,
    pending,
    ready,
    troubled,
)
from locktender.contracts.deployments.observed import Observed, Related, condition, is_false, is_true, parts, text

_UNSEEN = "no gateway controller has taken it up yet"
_CLASS_HINT = "see that the controller of this class runs in the cluster"


def gateway_class(obj: Observed, _related: Related) -> Readiness:
    accepted = condition(obj, "Accepted")
    if is_true(accepted):
        return ready("accepted")
    if is_false(accepted):
        return troubled(_refused(accepted, "it is not accepted", _CLASS_HINT))
    return pending(_UNSEEN, hint=_CLASS_HINT)


def gateway(obj: Observed, _related: Related) -> Readiness:
    accepted, programmed = condition(obj, "Accepted"), condition(obj, "Programmed")
    if is_false(accepted):
        return troubled(_refused(accepted, "it is not accepted", "correct its listeners and class"))
    for listener in parts(obj, "status", "listeners"):
        for kind, bad in (("Conflicted", is_true), ("ResolvedRefs", is_false), ("Accepted", is_false)):
            found = condition(obj, kind, listener)
            if bad(found):
                lead = f"listener {text(listener, 'name')} does not work ({kind})"
                return troubled(_refused(found, lead, "correct the listener, its certificates and references"))
    if is_true(programmed):
        given = next((text(one, "value") for one in parts(obj, "status", "addresses") if text(one, "value")), "")
        return ready(f"programmed, with the address {given}" if given else "programmed")
    if is_false(programmed) and programmed.get("reason") == "AddressNotAssigned":
        return creating("waiting for an address", "AddressNotAssigned", "see that the cluster has a load balancer")
    if programmed or accepted:
        said = text(programmed, "message") or "waiting to be programmed"
        return creating(said, text(programmed, "reason") or "progressing")
    # Gateways before v1beta1 have one condition for all of it.
    return ready() if is_true(condition(obj, "Ready")) else pending(_UNSEEN, hint=_CLASS_HINT)


def route(obj: Observed, _related: Related) -> Readiness:
    """Routes and policies: ready once every parent (or ancestor) has accepted it and found what it refers to."""
    wanted = parts(obj, "spec", "parentRefs")
    answers = parts(obj, "status", "parents") + parts(obj, "status", "ancestors")
    accepted = 0
    for answer in answers:
        parent = text(answer, "parentRef", "name") or text(answer, "ancestorRef", "name") or "a parent"
        for kind in ("Accepted", "ResolvedRefs"):
            found = condition(obj, kind, answer)
            if is_false(found):
                lead = (
                    f"{parent} does not accept it" if kind == "Accepted" else f"{parent}: a reference is not resolved"
                )
                return troubled(_refused(found, lead, _route_hint(text(found, "reason"))))
        invalid = condition(obj, "PartiallyInvalid", answer)
        if is_true(invalid):
            message = f"{parent} leaves out a part of it: {text(invalid, 'message')}"
            return blocked(message, "PartiallyInvalid", "correct the rules that are named")
        resolved = condition(obj, "ResolvedRefs", answer)
        accepted += is_true(condition(obj, "Accepted", answer)) and (not resolved or is_true(resolved))
    if not accepted and (wanted or not answers):
        return pending(_UNSEEN, hint="see that its parentRefs name a gateway that exists")
    due = max(len(wanted), len(answers))
    if accepted < due:
        return creating(f"accepted by {accepted} of {due} parents")
    return ready("accepted" if due == 1 else f"accepted by {due} parents")


def _route_hint(reason: str) -> str:
    match reason:
        case "BackendNotFound":
            return "create the Service it sends to, or correct its name and port"
        case "RefNotPermitted" | "NotPermitted":
            return "allow the reference with a ReferenceGrant in the other namespace"
        case "NoMatchingParent" | "NoMatchingListenerHostname" | "NotAllowedByListeners":
            return "give the gateway a listener whose hostname, port and allowedRoutes match"
        case _:
            return "correct its parentRefs and backendRefs"


def _refused(found: Observed, lead: str, hint: str) -> Trouble:
    reason, said = text(found, "reason") or "NotAccepted", text(found, "message")
    return Trouble(reason, f"{lead}: {said or reason}", hint, Grace.REFUSED)
