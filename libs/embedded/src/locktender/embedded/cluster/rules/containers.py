"""Containers: names, images, ports, environment, mounts, resources, probes."""

from collections.abc import Iterator

from locktender.embedded.cluster.quantity import amount
from locktender.embedded.cluster.refusal import Cause
from locktender.embedded.cluster.rules.faults import PORTS, duplicate, is_port, missing, required, unsupported, wrong
from locktender.embedded.cluster.rules.names import short_name_rules
from locktender.embedded.cluster.shapes import Obj, obj_at, objs_at, text_at

_PULLS = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PORT_NAME = 15


def container_rules(container: Obj, where: str, volumes: set[str]) -> Iterator[Cause]:
    name, image = text_at(container, "name"), text_at(container, "image")
    if not name:
        yield required(f"{where}.name")
    else:
        yield from short_name_rules(name, f"{where}.name")
    if not image:
        yield required(f"{where}.image")
    elif image != image.strip():
        yield wrong(f"{where}.image", image, "must not have leading or trailing whitespace")
    policy = text_at(container, "imagePullPolicy")
    if policy and policy not in _PULLS:
        yield unsupported(f"{where}.imagePullPolicy", policy, _PULLS)
    yield from _ports(container, where)
    for index, entry in enumerate(objs_at(container, "env")):
        yield from _env(entry, f"{where}.env[{index}]")
    yield from _mounts(container, where, volumes)
    yield from _resources(obj_at(container, "resources"), f"{where}.resources")
    for probe in _PROBES:
        if probe in container:
            yield from _probe(obj_at(container, probe), f"{where}.{probe}", strict=probe != "readinessProbe")


def _ports(container: Obj, where: str) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(objs_at(container, "ports")):
        place = f"{where}.ports[{index}]"
        number, name = port.get("containerPort"), text_at(port, "name")
        if not number:
            yield required(f"{place}.containerPort")
        elif not is_port(number):
            yield wrong(f"{place}.containerPort", number, PORTS)
        if port.get("hostPort") and not is_port(port["hostPort"]):
            yield wrong(f"{place}.hostPort", port["hostPort"], PORTS)
        if name in names:
            yield duplicate(f"{place}.name", name)
        names |= {name} - {""}
        if len(name) > _PORT_NAME:
            yield wrong(f"{place}.name", name, f"must be no more than {_PORT_NAME} characters")
        if text_at(port, "protocol") not in _PROTOCOLS:
            yield unsupported(f"{place}.protocol", text_at(port, "protocol"), _PROTOCOLS)


def _env(entry: Obj, where: str) -> Iterator[Cause]:
    if not text_at(entry, "name"):
        yield required(f"{where}.name")
    if "valueFrom" not in entry:
        return
    source, place = obj_at(entry, "valueFrom"), f"{where}.valueFrom"
    chosen = [name for name in _SOURCES if name in source]
    if text_at(entry, "value"):
        yield wrong(place, "", "may not be specified when `value` is not empty")
    if not chosen:
        told = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        yield wrong(place, "", told)
    elif len(chosen) > 1:
        yield wrong(place, "", "may not have more than one field specified at a time")
    for name in ("configMapKeyRef", "secretKeyRef"):
        for part in ("name", "key"):
            if name in source and not text_at(source, name, part):
                yield required(f"{place}.{name}.{part}")


def _mounts(container: Obj, where: str, volumes: set[str]) -> Iterator[Cause]:
    paths: set[str] = set()
    for index, mount in enumerate(objs_at(container, "volumeMounts")):
        place, name, path = f"{where}.volumeMounts[{index}]", text_at(mount, "name"), text_at(mount, "mountPath")
        if not name:
            yield required(f"{place}.name")
        elif name not in volumes:
            yield missing(f"{place}.name", name)
        if not path:
            yield required(f"{place}.mountPath")
        elif path in paths:
            yield wrong(f"{place}.mountPath", path, "must be unique")
        paths.add(path)


def _resources(resources: Obj, where: str) -> Iterator[Cause]:
    limits, requests = obj_at(resources, "limits"), obj_at(resources, "requests")
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            if amount(value) < 0:
                yield wrong(f"{where}.{part}[{name}]", str(value), "must be greater than or equal to 0")
    for name, value in requests.items():
        if name in limits and amount(value) > amount(limits[name]):
            told = f"must be less than or equal to {name} limit of {limits[name]}"
            yield wrong(f"{where}.requests", str(value), told)


def _probe(probe: Obj, where: str, *, strict: bool) -> Iterator[Cause]:
    chosen = [name for name in _HANDLERS if name in probe]
    if not chosen:
        yield required(where, "must specify a handler type")
    for index, name in enumerate(chosen):
        if index:
            yield f"{where}.{name}", "FieldValueForbidden", "Forbidden: may not specify more than 1 handler type"
        port = obj_at(probe, name).get("port")
        if name != "exec" and not isinstance(port, str) and not is_port(port):
            yield wrong(f"{where}.{name}.port", port or 0, PORTS)
    if strict and probe.get("successThreshold", 1) != 1:
        yield wrong(f"{where}.successThreshold", probe["successThreshold"], "must be 1")
