"""What every Kubernetes object must have, checked before a cluster sees it."""

import re
from collections.abc import Iterator

from locktender.integrations.kube.faults import shown
from locktender.integrations.kube.json_value import Json, JsonObject, as_object, as_text
from locktender.integrations.kube.naming import PREFIX_LIMIT
from locktender.integrations.kube.texts import Fault, text_faults

_API_VERSION = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[a-z0-9]{1,63}")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_NAME_LIMIT = 253
_NAME_RULE = (
    "must be lower-case letters, digits, dashes and dots, begin and end with a letter or digit, "
    f"and have at most {_NAME_LIMIT} characters"
)
_PREFIX_RULE = "must be lower-case letters, digits, dashes and dots, and begin with a letter or digit"
_SERVER_FIELDS = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
# The server takes any path segment for the names of these.
_LOOSE_NAMES = "rbac.authorization.k8s.io/"


def object_faults(body: JsonObject) -> Iterator[Fault]:
    """What keeps `body` from being an object that can be applied by name."""
    api_version, kind = as_text(body.get("apiVersion")), as_text(body.get("kind"))
    if not _API_VERSION.fullmatch(api_version):
        wanted = _wants("apiVersion", body.get("apiVersion"), 'such as "v1" or "apps/v1"')
        yield Fault("missing-api-version", wanted, ("apiVersion",))
    if not _KIND.fullmatch(kind):
        yield Fault("missing-kind", _wants("kind", body.get("kind"), 'such as "Deployment"'), ("kind",))
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        yield Fault("missing-name", "metadata.name is missing; every object is applied by its name", ("metadata",))
        return
    yield from _metadata_faults(metadata, loose=api_version.startswith(_LOOSE_NAMES))
    yield from text_faults(body)


def _wants(path: str, value: Json, example: str) -> str:
    return f"{path} is missing; add one {example}" if value in (None, "") else f"{path} must be a text {example}"


def _metadata_faults(metadata: JsonObject, *, loose: bool) -> Iterator[Fault]:
    for code, message, field in _name_faults(metadata, loose=loose):
        yield Fault(code, f"metadata.{field} {message}", ("metadata", field))
    namespace = metadata.get("namespace")
    if namespace is not None and not _LABEL.fullmatch(as_text(namespace)):
        message = "metadata.namespace must be lower-case letters, digits and dashes, at most 63"
        yield Fault("invalid-namespace", message, ("metadata", "namespace"))
    for field in _SERVER_FIELDS:
        if metadata.get(field) is not None:
            message = f"metadata.{field} is set by the cluster that the object was copied from; remove it"
            yield Fault("server-field", message, ("metadata", field))
    if metadata.get("ownerReferences"):
        yield from _owner_faults(metadata["ownerReferences"])


def _name_faults(metadata: JsonObject, *, loose: bool) -> Iterator[tuple[str, str, str]]:
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if not isinstance(prefix, str | None):
        yield "invalid-name", "must be text; put it in quotes", "generateName"
    elif name in (None, ""):
        if not prefix:
            yield "missing-name", "is missing; set it, or metadata.generateName for a name per task", "name"
        elif len(prefix) > PREFIX_LIMIT:
            yield "invalid-name", f"has {len(prefix)} characters, more than the limit of {PREFIX_LIMIT}", "generateName"
        elif not (_loose_name(prefix) if loose else _SUBDOMAIN.fullmatch(f"{prefix}x")):
            yield "invalid-name", f"{shown(prefix)!r} {_PREFIX_RULE}", "generateName"
    elif not isinstance(name, str):
        yield "invalid-name", "must be text; put it in quotes", "name"
    elif len(name) > _NAME_LIMIT or not (_loose_name(name) if loose else _SUBDOMAIN.fullmatch(name)):
        yield "invalid-name", f"{shown(name)!r} {_NAME_RULE}", "name"


def _loose_name(name: str) -> bool:
    return name not in {".", ".."} and "/" not in name and "%" not in name


def _owner_faults(owners: Json) -> Iterator[Fault]:
    path = ("metadata", "ownerReferences")
    if not isinstance(owners, list):
        yield Fault("invalid-owner", "metadata.ownerReferences must be a list", path)
        return
    for index, owner in enumerate(owners):
        fields = as_object(owner)
        texts = (fields.get(name) for name in ("apiVersion", "kind", "name", "uid"))
        flags = (fields.get(name) for name in ("controller", "blockOwnerDeletion"))
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(flag, bool | None) for flag in flags):
            message = f"metadata.ownerReferences[{index}] must have apiVersion, kind, name and uid as text"
            yield Fault("invalid-owner", message, (*path, index))
