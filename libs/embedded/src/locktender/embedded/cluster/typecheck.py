"""Values of the wrong type in the places where people get them wrong: labels, data, images, numbers of replicas.

The real server decodes into typed structures and refuses everything else; here only these places are looked at.
"""

from collections.abc import Iterator

from locktender.embedded.cluster.refusal import bad_request
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj, at, is_list, is_obj, objs_at

_TEXT_MAPS = (("metadata", "labels"), ("metadata", "annotations"))
_BUILTIN_TEXT_MAPS = (
    ("spec", "selector", "matchLabels"),
    ("spec", "template", "metadata", "labels"),
    ("spec", "template", "metadata", "annotations"),
)
_DATA_KINDS = ("ConfigMap", "Secret")
_POD_SPECS = (("spec",), ("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"))


def check_types(resource: Resource, obj: Obj) -> None:
    """Pass, or refuse.

    Raises:
        Refusal: 400 that names the field and the type it must have. The value is never told.
    """
    for where, wanted in _wrong(resource, obj):
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"json: cannot unmarshal into field {where} of type {wanted}"
        )


def _wrong(resource: Resource, obj: Obj) -> Iterator[tuple[str, str]]:
    if not is_obj(obj.get("metadata", {})):
        yield "metadata", "object"
    for path in _TEXT_MAPS:
        yield from _text_map(at(obj, *path), ".".join(path))
    if not resource.builtin:
        return
    if resource.status and not is_obj(obj.get("spec") or {}):
        yield "spec", "object"
    for path in _BUILTIN_TEXT_MAPS:
        yield from _text_map(at(obj, *path), ".".join(path))
    for path in _POD_SPECS:
        yield from _pod_spec(at(obj, *path), ".".join(path))
    yield from _wrong_for_kind(resource.kind, obj)


def _wrong_for_kind(kind: str, obj: Obj) -> Iterator[tuple[str, str]]:
    if kind == "Service":
        yield from _text_map(at(obj, "spec", "selector"), "spec.selector")
        yield from (("spec.ports", "int32") for port in objs_at(obj, "spec", "ports") if not _is_numbered(port))
    if kind in _DATA_KINDS:
        for name in ("data", "stringData"):
            yield from _text_map(obj.get(name), name)
    replicas = at(obj, "spec", "replicas")
    if replicas is not None and (not isinstance(replicas, int) or isinstance(replicas, bool)):
        yield "spec.replicas", "int32"


def _is_numbered(port: Obj) -> bool:
    numbers = (port.get("port", 0), port.get("nodePort") or 0)
    return all(isinstance(number, int) and not isinstance(number, bool) for number in numbers) and isinstance(
        port.get("protocol", ""), str
    )


def _pod_spec(spec: object, where: str) -> Iterator[tuple[str, str]]:
    for part in ("initContainers", "containers"):
        containers = at(spec, part)
        if containers is not None and not (is_list(containers) and all(is_obj(c) for c in containers)):
            yield f"{where}.{part}", "list of objects"
        for container in objs_at(spec, part):
            for name in ("name", "image"):
                if not isinstance(container.get(name, ""), str):
                    yield f"{where}.{part}.{name}", "string"
            for entry in objs_at(container, "env"):
                if not isinstance(entry.get("value", ""), str):
                    yield f"{where}.{part}.env.value", "string"


def _text_map(value: object, where: str) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if not is_obj(value):
        yield where, "map of strings"
    elif not all(isinstance(item, str) for item in value.values()):
        yield where, "string"
