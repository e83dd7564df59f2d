"""What every Kubernetes object must have, checked before a cluster sees it."""

import re
from collections.abc import Iterator

from locktender.integrations.kube.faults import shown
from locktender.integrations.kube.json_value import Json, JsonObject, as_object, as_text

_API_VERSION = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[a-z0-9]{1,63}")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_NAME_LIMIT = 253
_NAME_RULE = (
    "must be lower-case letters, digits, dashes and dots, begin and end with a letter or digit, "
    f"and have at most {_NAME_LIMIT} characters"
)
_SERVER_FIELDS = {"managedFields", "resourceVersion", "uid"}
# The server takes any path segment for the names of these.
_LOOSE_NAMES = "rbac.authorization.k8s.io/"

Fault = tuple[str, str]
"""A code and a message."""


def object_faults(body: JsonObject) -> Iterator[Fault]:
    """What keeps `body` from being an object that can be applied by name."""
    api_version, kind = as_text(body.get("apiVersion")), as_text(body.get("kind"))
    if not _API_VERSION.fullmatch(api_version):
        yield "missing-api-version", _wants("apiVersion", body.get("apiVersion"), 'such as "v1" or "apps/v1"')
    if not _KIND.fullmatch(kind):
        yield "missing-kind", _wants("kind", body.get("kind"), 'such as "Deployment"')
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        yield "missing-name", "metadata.name is missing; every object is applied by its name"
        return
    yield from _name_faults(metadata, loose=api_version.startswith(_LOOSE_NAMES))
    namespace = metadata.get("namespace")
    if namespace is not None and not _LABEL.fullmatch(as_text(namespace)):
        yield "invalid-namespace", "metadata.namespace must be lower-case letters, digits and dashes, at most 63"
    for field in sorted(_SERVER_FIELDS & metadata.keys()):
        yield "server-field", f"metadata.{field} is set by the cluster that the object was copied from; remove it"
    yield from text_faults(body)


def _wants(path: str, value: Json, example: str) -> str:
    return f"{path} is missing; add one {example}" if value in (None, "") else f"{path} must be a text {example}"


def _name_faults(metadata: JsonObject, *, loose: bool) -> Iterator[Fault]:
    name = metadata.get("name")
    if name in (None, ""):
        if metadata.get("generateName"):
            yield "generate-name", "metadata.generateName makes a new object on every apply; set metadata.name instead"
        else:
            yield "missing-name", "metadata.name is missing; every object is applied by its name"
    elif not isinstance(name, str):
        yield "invalid-name", "metadata.name must be text; put it in quotes"
    elif len(name) > _NAME_LIMIT or not (_loose_name(name) if loose else _SUBDOMAIN.fullmatch(name)):
        yield "invalid-name", f"metadata.name {shown(name)!r} {_NAME_RULE}"


def _loose_name(name: str) -> bool:
    return name not in {".", ".."} and "/" not in name and "%" not in name


def text_faults(body: JsonObject) -> Iterator[Fault]:
    """Fields that only take text but hold a number, a boolean or null."""
    kind = as_text(body.get("kind"))
    if kind in {"ConfigMap", "Secret"} and body.get("apiVersion") == "v1":
        for field in ("data", "stringData", "binaryData"):
            yield from _not_text(body.get(field), field)
    yield from _nested_texts(body, "")


def _nested_texts(value: JsonObject, path: str) -> Iterator[Fault]:
    """Labels and annotations of the object and of the pod template inside of it, and the values of `env`."""
    metadata = as_object(value.get("metadata"))
    for field in ("labels", "annotations"):
        yield from _not_text(metadata.get(field), f"{path}metadata.{field}")
    spec = as_object(value.get("spec"))
    yield from _not_text(spec.get("nodeSelector"), f"{path}spec.nodeSelector")
    yield from _not_text(as_object(spec.get("selector")).get("matchLabels"), f"{path}spec.selector.matchLabels")
    for field in ("initContainers", "containers"):
        containers = spec.get(field)
        for index, container in enumerate(containers if isinstance(containers, list) else []):
            yield from _env_texts(as_object(container).get("env"), f"{path}spec.{field}[{index}].env")
    for field in ("template", "jobTemplate"):
        if isinstance(template := spec.get(field), dict):
            yield from _nested_texts(template, f"{path}spec.{field}.")


def _env_texts(env: Json, path: str) -> Iterator[Fault]:
    for index, item in enumerate(env if isinstance(env, list) else []):
        value = as_object(item).get("value")
        if isinstance(value, bool | int | float):
            yield "not-text", f"{path}[{index}].value must be text but is a {_kind_of(value)}; put it in quotes"


def _not_text(holder: Json, path: str) -> Iterator[Fault]:
    for key, value in as_object(holder).items():
        if isinstance(value, bool | int | float):
            yield "not-text", f"{path}.{shown(key)} must be text but is a {_kind_of(value)}; put it in quotes"


def _kind_of(value: float) -> str:
    return "boolean" if isinstance(value, bool) else "number"
