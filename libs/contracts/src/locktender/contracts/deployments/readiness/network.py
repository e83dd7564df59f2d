"""Services and Ingresses."""

from locktender.contracts.deployments.cards import Readiness, blocked, creating, ready
from locktender.contracts.deployments.observed import Observed, Related, condition, is_true, part, parts, text, texts
from locktender.contracts.deployments.readiness.pods import about, latest, said_of

_LOCAL = "without a load balancer in the cluster, use type ClusterIP or NodePort"


def service(obj: Observed, related: Related) -> Readiness:
    kind = text(obj, "spec", "type") or "ClusterIP"
    if kind == "ExternalName":
        return ready(f"an alias of {text(obj, 'spec', 'externalName') or 'another name'}")
    if kind == "LoadBalancer":
        return _load_balancer(obj, related)
    if not part(obj, "spec", "selector"):
        return ready("ready; its endpoints are written by somebody else")
    if related.endpoint_slices is not None and not _serves(related.endpoint_slices):
        return ready(
            "ready; no pod behind it is ready yet", hint="see that its selector matches the labels of the pods"
        )
    return ready("ready; headless" if text(obj, "spec", "clusterIP") == "None" else "ready")


def ingress(obj: Observed, related: Related) -> Readiness:
    address = _address(obj)
    if address:
        return ready(f"has the address {address}")
    events = about(obj, related.events)
    wrong = latest(events, "Rejected", "InvalidIngress", "Error", "FailedBuildModel", "Translate")
    if wrong is not None and wrong.get("type") == "Warning":
        return blocked(f"its controller refuses it: {said_of(wrong)}", text(wrong, "reason"), "correct its rules")
    which = text(obj, "spec", "ingressClassName")
    whose = f"controller of class {which}" if which else "ingress controller"
    hint = "see that the cluster has an ingress controller, and that ingressClassName is its class"
    return creating(f"no {whose} has published an address yet", "no-address", hint)


def _load_balancer(obj: Observed, related: Related) -> Readiness:
    address = _address(obj) or next(iter(texts(obj, "spec", "externalIPs")), "")
    if address:
        return ready(f"has the address {address}")
    wrong = latest(about(obj, related.events), "SyncLoadBalancerFailed", "AllocationFailed")
    if wrong is not None:
        message = f"the load balancer cannot be made: {said_of(wrong)}"
        return blocked(message, text(wrong, "reason"), "see what the cloud or load balancer of the cluster objects to")
    ports = condition(obj, "LoadBalancerPortsError")
    if is_true(ports):
        message = f"its ports are refused: {text(ports, 'message')}"
        return blocked(message, "LoadBalancerPortsError", "use ports that the load balancer takes")
    which = text(obj, "spec", "loadBalancerClass")
    if which:
        hint = f"see that a controller for the class {which} runs in the cluster"
        return creating(f"waiting for an address from the load balancer class {which}", "no-address", hint)
    return creating("waiting for the load balancer's address", "no-address", _LOCAL)


def _address(obj: Observed) -> str:
    given = parts(obj, "status", "loadBalancer", "ingress")
    return next((said for one in given if (said := text(one, "ip") or text(one, "hostname"))), "")


def _serves(slices: object) -> bool:
    """Whether any endpoint is ready; one that does not say counts as ready, as the API has it."""
    return any(
        part(endpoint, "conditions").get("ready") is not False
        for one in parts({"items": slices}, "items")
        for endpoint in parts(one, "endpoints")
    )
