"""Services and ingresses."""

from collections.abc import Iterator

from locktender.embedded.cluster.refusal import Cause
from locktender.embedded.cluster.rules.faults import PORTS, duplicate, is_port, required, unsupported, wrong
from locktender.embedded.cluster.rules.names import host_rules, label_rules, short_name_rules
from locktender.embedded.cluster.shapes import Obj, at, is_obj, list_at, obj_at, objs_at, text_at

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NODE_PORTS = range(30000, 32768)
_NODE_RULE = "provided port is not in the valid range. The range of valid ports is 30000-32767"


def service_rules(obj: Obj) -> Iterator[Cause]:
    spec = obj_at(obj, "spec")
    kind = text_at(spec, "type")
    if kind not in _TYPES:
        yield unsupported("spec.type", kind, _TYPES)
    if kind == "ExternalName" and not text_at(spec, "externalName"):
        yield required("spec.externalName")
    if not list_at(spec, "ports") and kind != "ExternalName" and text_at(spec, "clusterIP") != "None":
        yield required("spec.ports")
    yield from label_rules(obj_at(spec, "selector"), "spec.selector")
    ports = objs_at(spec, "ports")
    names: set[str] = set()
    numbers: list[tuple[object, object]] = []
    for index, port in enumerate(ports):
        where, name = f"spec.ports[{index}]", text_at(port, "name")
        if not name and len(ports) > 1:
            yield required(f"{where}.name")
        elif name in names:
            yield duplicate(f"{where}.name", name)
        elif name:
            yield from short_name_rules(name, f"{where}.name")
        names |= {name} - {""}
        yield from _port(port, where)
        number = port.get("port"), port.get("protocol")
        if number in numbers:
            yield duplicate(where, {"protocol": number[1], "port": number[0]})
        numbers.append(number)


def _port(port: Obj, where: str) -> Iterator[Cause]:
    if not is_port(port.get("port")):
        yield wrong(f"{where}.port", port.get("port", 0), PORTS)
    if text_at(port, "protocol") not in _PROTOCOLS:
        yield unsupported(f"{where}.protocol", text_at(port, "protocol"), _PROTOCOLS)
    target, node = port.get("targetPort"), port.get("nodePort")
    if isinstance(target, int) and is_port(port.get("port")) and not is_port(target):
        yield wrong(f"{where}.targetPort", target, PORTS)
    if node and node not in _NODE_PORTS:
        yield wrong(f"{where}.nodePort", node, _NODE_RULE)


def ingress_rules(obj: Obj) -> Iterator[Cause]:
    spec = obj_at(obj, "spec")
    if not objs_at(spec, "rules") and not is_obj(at(spec, "defaultBackend")):
        yield wrong("spec", spec, "either `defaultBackend` or `rules` must be specified")
    if is_obj(at(spec, "defaultBackend")):
        yield from _backend(obj_at(spec, "defaultBackend"), "spec.defaultBackend")
    for index, rule in enumerate(objs_at(spec, "rules")):
        where, host = f"spec.rules[{index}]", text_at(rule, "host")
        if host:
            yield from host_rules(host, f"{where}.host")
        if is_obj(at(rule, "http")) and not objs_at(rule, "http", "paths"):
            yield required(f"{where}.http.paths")
        for number, path in enumerate(objs_at(rule, "http", "paths")):
            yield from _path(path, f"{where}.http.paths[{number}]")


def _path(path: Obj, where: str) -> Iterator[Cause]:
    kind, text = text_at(path, "pathType"), text_at(path, "path")
    if not kind:
        yield required(f"{where}.pathType", "pathType must be specified")
    elif kind not in _PATH_TYPES:
        yield unsupported(f"{where}.pathType", kind, _PATH_TYPES)
    if kind in ("Exact", "Prefix") and not text.startswith("/"):
        yield wrong(f"{where}.path", text, "must be an absolute path")
    yield from _backend(obj_at(path, "backend"), f"{where}.backend")


def _backend(backend: Obj, where: str) -> Iterator[Cause]:
    service = at(backend, "service")
    if at(backend, "resource") is not None:
        if service is not None:
            yield wrong(where, "", "cannot set both resource and service backends")
        return
    if not is_obj(service):
        yield required(where, "resource or service backend is required")
        return
    if not text_at(service, "name"):
        yield required(f"{where}.service.name")
    number, name = at(service, "port", "number"), text_at(service, "port", "name")
    if number and name:
        yield wrong(where, "", "cannot set both port name & port number")
    elif number and not is_port(number):
        yield wrong(f"{where}.service.port.number", number, PORTS)
    elif not number and not name:
        yield required(where, "port name or number is required")
