"""Ingresses get an address."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import Plane
from locktender.embedded.cluster.controllers.services import balancer_ip
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import is_going

_KIND = "ingresses.networking.k8s.io"


class IngressController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._due: dict[Key, float] = {}

    def keys(self, change: Change) -> Iterable[Key]:
        if change.key.kind != _KIND:
            return []
        if change.type == "DELETED":
            self._due.pop(change.key, None)
            return []
        return [change.key]

    def reconcile(self, key: Key) -> float | None:
        ingress = self._plane.get(_KIND, key.namespace, key.name)
        if ingress is None or is_going(ingress):
            return None
        delay = self._plane.pace.between(self._plane.pace.balancer, key.name)
        left = self._due.setdefault(key, self._plane.now + delay) - self._plane.now
        if left > 0:
            return left
        self._plane.set_status(_KIND, ingress, {"loadBalancer": {"ingress": [{"ip": balancer_ip(ingress)}]}})
        return None
