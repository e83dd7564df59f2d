"""Services get the endpoints of their ready pods, and an address when they ask for a load balancer."""

import zlib
from collections.abc import Iterable

from locktender.embedded.cluster.controllers.plane import PODS, Plane, is_ready
from locktender.embedded.cluster.objects import Change, Key
from locktender.embedded.cluster.refusal import Refusal
from locktender.embedded.cluster.shapes import (
    Obj,
    at,
    clone,
    is_going,
    labels_of,
    name_of,
    namespace_of,
    obj_at,
    objs_at,
    text_at,
    uid_of,
)


class ServiceController:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._seen: dict[str, float] = {}

    def keys(self, change: Change) -> Iterable[Key]:
        if change.key.kind == "services":
            if change.type == "DELETED":
                self._seen.pop(uid_of(change.after), None)
            return [change.key]
        if change.key.kind != PODS:
            return []
        labels = labels_of(change.after)
        rows = self._plane.cluster.store.select("services", change.key.namespace)
        return [Key("services", change.key.namespace, name_of(row)) for row in rows if _selects(row, labels)]

    def reconcile(self, key: Key) -> float | None:
        service = self._plane.get("services", key.namespace, key.name)
        if service is None:
            self._drop_endpoints(key)
            return None
        if is_going(service):
            return None
        if obj_at(service, "spec", "selector"):
            self._publish(service)
        if text_at(service, "spec", "type") != "LoadBalancer":
            if at(service, "status", "loadBalancer") != {}:
                self._plane.set_status("services", service, {"loadBalancer": {}})
            return None
        born = self._seen.setdefault(uid_of(service), self._plane.now)
        left = born + self._plane.pace.between(self._plane.pace.balancer, name_of(service)) - self._plane.now
        if left <= 0:
            self._plane.set_status("services", service, {"loadBalancer": {"ingress": [{"ip": balancer_ip(service)}]}})
        return left if left > 0 else None

    def _publish(self, service: Obj) -> None:
        pods = [p for p in self._plane.cluster.store.select(PODS, namespace_of(service)) if _serves(service, p)]
        ports = [
            {"port": _number(p, pods), "protocol": p.get("protocol", "TCP")}
            | ({"name": p["name"]} if "name" in p else {})
            for p in objs_at(service, "spec", "ports")
        ]
        addresses = [
            {
                "ip": text_at(pod, "status", "podIP"),
                "nodeName": text_at(pod, "spec", "nodeName"),
                "targetRef": {
                    "kind": "Pod",
                    "namespace": namespace_of(pod),
                    "name": name_of(pod),
                    "uid": uid_of(pod),
                },
            }
            for pod in pods
            if is_ready(pod)
        ]
        subsets = [{"addresses": addresses, "ports": ports}] if addresses else []
        known = self._plane.get("endpoints", namespace_of(service), name_of(service))
        if known is not None:
            self._plane.replace("endpoints", clone(known) | {"subsets": subsets})
            return
        body: Obj = {"metadata": {"name": name_of(service), "labels": clone(labels_of(service))}, "subsets": subsets}
        try:
            self._plane.create("endpoints", namespace_of(service), body)
        except Refusal as refusal:
            # The namespace may be on its way out; then nobody needs endpoints.
            if refusal.code != 403:  # noqa: PLR2004 - forbidden
                raise

    def _drop_endpoints(self, key: Key) -> None:
        left = self._plane.get("endpoints", key.namespace, key.name)
        if left is not None:
            self._plane.delete("endpoints", left)


def _selects(service: Obj, labels: Obj) -> bool:
    wanted = obj_at(service, "spec", "selector")
    return bool(wanted) and wanted.items() <= labels.items()


def _number(port: Obj, pods: list[Obj]) -> object:
    """The number behind a target port, which may be the name of a container's port."""
    target = port.get("targetPort", port.get("port"))
    if not isinstance(target, str):
        return target
    containers = [container for pod in pods for container in objs_at(pod, "spec", "containers")]
    named = [p for container in containers for p in objs_at(container, "ports") if p.get("name") == target]
    return named[0].get("containerPort") if named else port.get("port")


def _serves(service: Obj, pod: Obj) -> bool:
    return _selects(service, labels_of(pod))


def balancer_ip(obj: Obj) -> str:
    """An address for documentation (RFC 5737), always the same for the same object."""
    return f"203.0.113.{zlib.crc32(f'{namespace_of(obj)}/{name_of(obj)}'.encode()) % 250 + 2}"
