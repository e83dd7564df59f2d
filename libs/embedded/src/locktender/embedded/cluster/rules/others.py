"""Configuration, claims, autoscalers, disruption budgets and roles."""

import base64
import binascii
import re
from collections.abc import Iterator

from locktender.embedded.cluster.refusal import Cause
from locktender.embedded.cluster.rules.faults import required, too_long, unsupported, wrong
from locktender.embedded.cluster.shapes import Obj, at, int_at, list_at, obj_at, objs_at, text_at

_KEY = r"[-._a-zA-Z0-9]+"
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    f"or 'key-name', regex used for validation is '{_KEY}')"
)
_LIMIT = 1024 * 1024
_NEEDED = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


def data_rules(obj: Obj) -> Iterator[Cause]:
    """Keys and size of a ConfigMap or Secret."""
    size = 0
    for part in ("data", "binaryData"):
        for key, value in obj_at(obj, part).items():
            size += len(str(value))
            if not re.fullmatch(_KEY, key):
                yield wrong(f"{part}[{key}]", key, _KEY_RULE)
    if size > _LIMIT:
        yield too_long("data" if text_at(obj, "kind") == "Secret" else "", _LIMIT)


def secret_rules(obj: Obj) -> Iterator[Cause]:
    yield from data_rules(obj)
    data = obj_at(obj, "data")
    for key, value in data.items():
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, TypeError, ValueError):
            # The value itself stays out of the message.
            yield f"data[{key}]", "FieldValueInvalid", "Invalid value: must be base64"
    for needed in _NEEDED.get(text_at(obj, "type"), ()):
        if needed not in data:
            yield required(f"data[{needed}]")


def claim_rules(obj: Obj, where: str = "spec") -> Iterator[Cause]:
    spec = obj_at(obj, "spec")
    modes = list_at(spec, "accessModes")
    if not modes:
        yield required(f"{where}.accessModes", "at least 1 access mode is required")
    for index, mode in enumerate(modes):
        if mode not in _MODES:
            yield unsupported(f"{where}.accessModes[{index}]", mode, _MODES)
    if at(spec, "resources", "requests", "storage") is None:
        yield required(f"{where}.resources[storage]")


def stateful_claim_rules(obj: Obj) -> Iterator[Cause]:
    for index, template in enumerate(objs_at(obj, "spec", "volumeClaimTemplates")):
        yield from claim_rules(template, f"spec.volumeClaimTemplates[{index}].spec")


def autoscaler_rules(obj: Obj) -> Iterator[Cause]:
    spec = obj_at(obj, "spec")
    least, most = int_at(spec, "minReplicas", default=1), int_at(spec, "maxReplicas")
    if least < 1:
        yield wrong("spec.minReplicas", least, "must be greater than or equal to 1")
    if most < 1:
        yield wrong("spec.maxReplicas", most, "must be greater than 0")
    if most < least:
        yield wrong("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    for name in ("kind", "name"):
        if not text_at(spec, "scaleTargetRef", name):
            yield required(f"spec.scaleTargetRef.{name}")
    for index, metric in enumerate(objs_at(spec, "metrics")):
        if not text_at(metric, "type"):
            yield required(f"spec.metrics[{index}].type", "must specify a metric source type")


def budget_rules(obj: Obj) -> Iterator[Cause]:
    spec = obj_at(obj, "spec")
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield wrong("spec", spec, "minAvailable and maxUnavailable cannot be both set")


def role_rules(obj: Obj) -> Iterator[Cause]:
    for index, rule in enumerate(objs_at(obj, "rules")):
        if not list_at(rule, "verbs"):
            yield required(f"rules[{index}].verbs", "verbs must contain at least one value")
        if not list_at(rule, "nonResourceURLs"):
            if not list_at(rule, "apiGroups"):
                yield required(f"rules[{index}].apiGroups", "resource rules must supply at least one api group")
            if not list_at(rule, "resources"):
                yield required(f"rules[{index}].resources", "resource rules must supply at least one resource")


def binding_rules(obj: Obj) -> Iterator[Cause]:
    kind = text_at(obj, "roleRef", "kind")
    if kind not in ("Role", "ClusterRole"):
        yield unsupported("roleRef.kind", kind, ("ClusterRole", "Role"))
    if not text_at(obj, "roleRef", "name"):
        yield required("roleRef.name")
