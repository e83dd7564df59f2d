"""Rules that an object must keep, and fields that must not change once they are set.

Far fewer than the real server has: those that a deployment tool meets and must report well.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from locktender.embedded.cluster.refusal import invalid
from locktender.embedded.cluster.resources import Resource
from locktender.embedded.cluster.shapes import Obj, at, int_at, list_at, name_of, obj_at, objs_at, text_at

Cause: TypeAlias = tuple[str, str, str]
"""Field, reason, message."""

_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
_LABEL_KINDS = frozenset({"Namespace", "Service"})
_FREE_NAME_KINDS = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})
_FIXED: dict[str, tuple[tuple[str, ...], ...]] = {
    "Deployment": (("spec", "selector"),),
    "ReplicaSet": (("spec", "selector"),),
    "DaemonSet": (("spec", "selector"),),
    "StatefulSet": (
        ("spec", "selector"),
        ("spec", "serviceName"),
        ("spec", "volumeClaimTemplates"),
        ("spec", "podManagementPolicy"),
    ),
    "Job": (("spec", "selector"), ("spec", "template"), ("spec", "completions")),
    "Service": (("spec", "clusterIP"),),
    "PersistentVolumeClaim": (
        ("spec", "storageClassName"),
        ("spec", "accessModes"),
        ("spec", "volumeName"),
        ("spec", "selector"),
    ),
    "RoleBinding": (("roleRef",),),
    "ClusterRoleBinding": (("roleRef",),),
}


def check(resource: Resource, before: Obj | None, after: Obj) -> None:
    """Pass, or refuse.

    Raises:
        Refusal: 422 with one cause a broken rule.
    """
    causes = list(_name(resource, after))
    if resource.builtin:
        causes += _BY_KIND.get(resource.kind, _nothing)(after)
        if before is not None:
            causes += _fixed(resource.kind, before, after)
    if causes:
        raise invalid(resource, name_of(after), causes)


def _nothing(_obj: Obj) -> Iterator[Cause]:
    return iter(())


def _name(resource: Resource, obj: Obj) -> Iterator[Cause]:
    name = name_of(obj)
    if resource.kind in _FREE_NAME_KINDS:
        return
    if resource.kind in _LABEL_KINDS:
        if not _LABEL.match(name) or len(name) > 63:  # noqa: PLR2004 - the length of a DNS label
            rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
            rule += "start and end with an alphanumeric character"
            yield "metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {rule}'
    elif not _SUBDOMAIN.match(name) or len(name) > 253:  # noqa: PLR2004 - the length of a DNS name
        rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
        rule += "must start and end with an alphanumeric character"
        yield "metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {rule}'


def _fixed(kind: str, before: Obj, after: Obj) -> Iterator[Cause]:
    for path in _FIXED.get(kind, ()):
        old, new = at(before, *path), at(after, *path)
        # A value that the server allocates may be set once.
        if old is not None and old != new:
            yield ".".join(path), "FieldValueInvalid", "Invalid value: field is immutable"
    if kind in ("Secret", "ConfigMap") and before.get("immutable") is True:
        for name in ("data", "stringData", "binaryData"):
            if before.get(name) != after.get(name):
                yield name, "FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set"


def _workload(obj: Obj) -> Iterator[Cause]:
    replicas = int_at(obj, "spec", "replicas")
    if replicas < 0:
        yield "spec.replicas", "FieldValueInvalid", f"Invalid value: {replicas}: must be greater than or equal to 0"
    wanted = obj_at(obj, "spec", "selector", "matchLabels")
    labels = obj_at(obj, "spec", "template", "metadata", "labels")
    if not obj_at(obj, "spec", "selector"):
        yield "spec.selector", "FieldValueRequired", "Required value"
    elif any(labels.get(key) != value for key, value in wanted.items()):
        message = "Invalid value: `selector` does not match template `labels`"
        yield "spec.template.metadata.labels", "FieldValueInvalid", message
    yield from _pod_spec(obj_at(obj, "spec", "template", "spec"), "spec.template.spec")


def _job(obj: Obj) -> Iterator[Cause]:
    yield from _pod_spec(obj_at(obj, "spec", "template", "spec"), "spec.template.spec")
    policy = text_at(obj, "spec", "template", "spec", "restartPolicy")
    if policy not in ("OnFailure", "Never"):
        message = f'Unsupported value: "{policy}": supported values: "OnFailure", "Never"'
        yield "spec.template.spec.restartPolicy", "FieldValueNotSupported", message


def _pod_spec(spec: Obj, where: str) -> Iterator[Cause]:
    if not objs_at(spec, "containers"):
        yield f"{where}.containers", "FieldValueRequired", "Required value"
    for index, container in enumerate(objs_at(spec, "containers")):
        for needed in ("name", "image"):
            if not text_at(container, needed):
                yield f"{where}.containers[{index}].{needed}", "FieldValueRequired", "Required value"


def _service(obj: Obj) -> Iterator[Cause]:
    headless = text_at(obj, "spec", "clusterIP") == "None" or text_at(obj, "spec", "type") == "ExternalName"
    if not list_at(obj, "spec", "ports") and not headless:
        yield "spec.ports", "FieldValueRequired", "Required value"


def _secret(obj: Obj) -> Iterator[Cause]:
    for key, value in obj_at(obj, "data").items():
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, TypeError, ValueError):
            # The value itself stays out of the message.
            yield f"data[{key}]", "FieldValueInvalid", "Invalid value: must be base64"


_BY_KIND: dict[str, Callable[[Obj], Iterator[Cause]]] = {
    "Deployment": _workload,
    "ReplicaSet": _workload,
    "StatefulSet": _workload,
    "DaemonSet": _workload,
    "Job": _job,
    "Pod": lambda obj: _pod_spec(obj_at(obj, "spec"), "spec"),
    "Service": _service,
    "Secret": _secret,
}
