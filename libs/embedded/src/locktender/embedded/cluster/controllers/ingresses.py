"""Ingresses get an address."""

from collections.abc import Iterable

from locktender.embedded.cluster.controllers.addresses import Waits, balancer_ip
from locktender.embedded.cluster.controllers.plane import Plane
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.shapes import is_going

_KIND = "ingresses.networking.k8s.io"


class IngressController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._waits = Waits(plane)

    def keys(self, change: Change) -> Iterable[Key]:
        if change.key.kind != _KIND:
            return []
        if change.type == "DELETED":
            self._waits.forget(change.after)
            return []
        return [change.key]

    def reconcile(self, key: Key) -> float | None:
        ingress = self._plane.get(_KIND, key.namespace, key.name)
        if ingress is None or is_going(ingress):
            return None
        left = self._waits.left(ingress)
        address = [{"ip": balancer_ip(ingress)}] if left == 0 else []
        if address or not ingress.get("status"):
            self._plane.set_status(_KIND, ingress, {"loadBalancer": {"ingress": address} if address else {}})
        return left or None
