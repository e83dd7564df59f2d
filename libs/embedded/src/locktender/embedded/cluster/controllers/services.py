"""Services get the endpoints of their ready pods, and an address when they ask for a load balancer."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.addresses import Waits, balancer_ip
from locktender.embedded.cluster.controllers.endpoints import Endpoints
from locktender.embedded.cluster.controllers.plane import PODS, Plane, is_ready
from locktender.embedded.cluster.controllers.selectorindex import SelectorIndex
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import Obj, at, is_going, labels_of, obj_at, text_at

_SERVICES = "services"


class ServiceController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._waits = Waits(plane)
        self._endpoints = Endpoints(plane)
        self._selecting = SelectorIndex(_SERVICES, ("spec", "selector"), open_=False)

    def keys(self, change: Change) -> Iterable[Key]:
        key = change.key
        if key.kind == _SERVICES:
            self._selecting.follow(change)
            if change.type == "DELETED":
                self._waits.forget(change.after)
            return [key]
        if key.kind != PODS or not _matters(change):
            return []
        # Labels that a pod had before matter too: a service that it left loses an endpoint.
        return self._selecting.candidates(key.namespace, labels_of(change.after), labels_of(change.before or {}))

    def reconcile(self, key: Key) -> float | None:
        service = self._plane.get(_SERVICES, key.namespace, key.name)
        if service is None:
            self._endpoints.drop(key)
            return None
        if is_going(service):
            return None
        if obj_at(service, "spec", "selector") and text_at(service, "spec", "type") != "ExternalName":
            self._endpoints.publish(service)
        return self._balance(service)

    def _balance(self, service: Obj) -> float | None:
        if text_at(service, "spec", "type") != "LoadBalancer":
            if at(service, "status", "loadBalancer") != {}:
                self._plane.set_status(_SERVICES, service, {"loadBalancer": {}})
            return None
        left = self._waits.left(service)
        if left == 0:
            status = {"loadBalancer": {"ingress": [{"ip": balancer_ip(service), "ipMode": "VIP"}]}}
            if at(service, "status", "loadBalancer") != status["loadBalancer"]:
                self._plane.set_status(_SERVICES, service, status)
                self._plane.tell(_SERVICES, service, "EnsuredLoadBalancer", "Ensured load balancer", normal=True)
            return None
        if at(service, "status", "loadBalancer") is None:
            self._plane.set_status(_SERVICES, service, {"loadBalancer": {}})
            self._plane.tell(_SERVICES, service, "EnsuringLoadBalancer", "Ensuring load balancer", normal=True)
        return left


def _matters(change: Change) -> bool:
    """Whether a change of a pod may change an endpoint."""
    before, after = change.before, change.after
    if before is None or change.type == "DELETED" or labels_of(before) != labels_of(after):
        return True
    return _face(before) != _face(after)


def _face(pod: Obj) -> tuple[object, ...]:
    return is_ready(pod), is_going(pod), text_at(pod, "status", "podIP"), text_at(pod, "status", "phase")
