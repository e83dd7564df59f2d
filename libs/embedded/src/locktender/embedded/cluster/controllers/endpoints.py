"""The endpoints of a service: as one `Endpoints` object, and as a slice of `discovery.k8s.io`."""

from locktender.embedded.cluster.controllers.plane import Plane, is_ready, reference_to
from locktender.embedded.cluster.objects import Key
from locktender.embedded.cluster.refusal import Refusal
from locktender.embedded.cluster.shapes import (
    Obj,
    clone,
    is_going,
    name_of,
    namespace_of,
    obj_at,
    objs_at,
    text_at,
    uid_of,
)

_SLICES = "endpointslices.discovery.k8s.io"
_ENDPOINTS = "endpoints"
_SERVICE_LABEL = "kubernetes.io/service-name"
_SLICE_SIZE = 1000


class Endpoints:
    """Publishes which pods serve a service."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def publish(self, service: Obj) -> None:
        """Bring both forms up to date."""
        pods = self._plane.pods.matching(namespace_of(service), obj_at(service, "spec", "selector"))
        pods = [pod for pod in pods if text_at(pod, "status", "podIP") and not _is_over(pod)]
        ports = [
            {"port": _number(p, pods), "protocol": p.get("protocol", "TCP")}
            | ({"name": p["name"]} if "name" in p else {})
            for p in objs_at(service, "spec", "ports")
        ]
        self._put(_ENDPOINTS, service, _classic(service, pods, ports), name_of(service))
        self._put(_SLICES, service, _slice(service, pods, ports), f"{name_of(service)}-sandbox")

    def drop(self, service: Key) -> None:
        """Remove the endpoints of a service that is gone. Slices go with their owner."""
        left = self._plane.get(_ENDPOINTS, service.namespace, service.name)
        if left is not None:
            self._plane.delete(_ENDPOINTS, left)

    def _put(self, kind: str, service: Obj, content: Obj, name: str) -> None:
        known = self._plane.get(kind, namespace_of(service), name)
        if known is not None:
            if is_going(known) or all(known.get(part) == value for part, value in content.items()):
                return
            self._plane.replace(kind, clone(known) | content)
            return
        body: Obj = {"metadata": {"name": name}, **content}
        if kind == _SLICES:
            body["metadata"] |= {
                "labels": {
                    _SERVICE_LABEL: name_of(service),
                    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                },
                "ownerReferences": [reference_to(service)],
            }
        try:
            self._plane.create(kind, namespace_of(service), body)
        except Refusal as refusal:
            # The namespace may be on its way out; then nobody needs endpoints.
            if refusal.code != 403:  # noqa: PLR2004 - forbidden
                raise


def _classic(service: Obj, pods: list[Obj], ports: list[Obj]) -> Obj:
    groups: dict[str, list[Obj]] = {"addresses": [], "notReadyAddresses": []}
    early = obj_at(service, "spec").get("publishNotReadyAddresses") is True
    for pod in pods:
        ready = is_ready(pod) or early
        groups["addresses" if ready else "notReadyAddresses"].append(
            {"ip": text_at(pod, "status", "podIP"), "nodeName": text_at(pod, "spec", "nodeName")}
            | {"targetRef": _target(pod)}
        )
    subset: Obj = {name: rows for name, rows in groups.items() if rows}
    return {"subsets": [subset | {"ports": ports}] if subset else []}


def _slice(service: Obj, pods: list[Obj], ports: list[Obj]) -> Obj:
    early = obj_at(service, "spec").get("publishNotReadyAddresses") is True
    rows = [
        {
            "addresses": [text_at(pod, "status", "podIP")],
            "conditions": {
                "ready": is_ready(pod) or early,
                "serving": is_ready(pod),
                "terminating": is_going(pod),
            },
            "nodeName": text_at(pod, "spec", "nodeName"),
            "targetRef": _target(pod),
        }
        for pod in pods[:_SLICE_SIZE]
    ]
    return {"addressType": "IPv4", "endpoints": rows, "ports": [{"name": ""} | port for port in ports]}


def _target(pod: Obj) -> Obj:
    return {"kind": "Pod", "namespace": namespace_of(pod), "name": name_of(pod), "uid": uid_of(pod)}


def _is_over(pod: Obj) -> bool:
    return text_at(pod, "status", "phase") in ("Succeeded", "Failed")


def _number(port: Obj, pods: list[Obj]) -> object:
    """The number behind a target port, which may be the name of a container's port."""
    target = port.get("targetPort", port.get("port"))
    if not isinstance(target, str):
        return target
    containers = [container for pod in pods for container in objs_at(pod, "spec", "containers")]
    named = [p for container in containers for p in objs_at(container, "ports") if p.get("name") == target]
    return named[0].get("containerPort") if named else port.get("port")
