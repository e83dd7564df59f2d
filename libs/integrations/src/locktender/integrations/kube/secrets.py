"""Values of `Secret` objects: what may be stored, and what must never be.

The names of the keys stay visible, so that a person can see what a redeploy has to bring again.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Sequence

from locktender.integrations.kube.json_value import Json, JsonObject, as_object, copied, leaf_texts
from locktender.integrations.kube.manifests import Manifest

WITHHELD = "<locktender:withheld>"
"""Stands where a submitted secret value stood."""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_VALUE_FIELDS = ("data", "stringData")
# Shorter values cannot be told from ordinary text, and replacing them would shred every message.
_SHORTEST_PART = 4


def split_secrets(manifests: Sequence[Manifest]) -> tuple[list[str], list[str]]:
    """What may be stored, and the values that were taken out.

    Returns:
        One JSON text per manifest, in order, with every value of a `Secret` replaced by `WITHHELD`; and the distinct
        values, as written, base64-decoded, and the texts inside of those that are JSON (registry credentials).
        JSON, because it reads the same for every YAML reader.
    """
    values: dict[str, None] = {}
    documents: list[str] = []
    for manifest in manifests:
        body = manifest.body
        if is_secret(body):
            values.update(dict.fromkeys(secret_values(body)))
            body = withheld(body)
        documents.append(json.dumps(body, ensure_ascii=False, indent=2))
    return documents, list(values)


def is_secret(body: JsonObject) -> bool:
    """Whether `body` is a core `Secret`, whose values and whose server answers must not be repeated."""
    return body.get("kind") == "Secret" and body.get("apiVersion") == "v1"


def withheld(body: JsonObject) -> JsonObject:
    """A copy of the Secret `body` without its values and without kubectl's copy of them."""
    safe = as_object(copied(body))
    for field in _VALUE_FIELDS:
        if field in safe:
            holder = safe[field]
            safe[field] = dict.fromkeys(holder, WITHHELD) if isinstance(holder, dict) else WITHHELD
    as_object(as_object(safe.get("metadata")).get("annotations")).pop(LAST_APPLIED, None)
    return safe


def is_withheld(body: JsonObject) -> bool:
    """Whether `body` is a stored Secret whose values have to be brought again."""
    return is_secret(body) and any(WITHHELD in leaf_texts(body.get(field)) for field in _VALUE_FIELDS)


def secret_values(body: JsonObject) -> Iterator[str]:
    """The values of the Secret `body`: as written, base64-decoded, and the texts inside of those that are JSON."""
    for written in leaf_texts([body.get("data")]):
        if written:
            yield written
        decoded = _decoded(written)
        if decoded:
            yield decoded
            yield from _inner_values(decoded)
    for written in leaf_texts([body.get("stringData")]):
        if written:
            yield written
            yield from _inner_values(written)
    applied = as_object(as_object(body.get("metadata")).get("annotations")).get(LAST_APPLIED)
    previous = _json(applied) if isinstance(applied, str) else None
    if isinstance(previous, dict):
        # One level only: a copy inside of the copy is still a value of the first copy.
        previous.pop("metadata", None)
        yield from secret_values(previous)


def _decoded(written: str) -> str:
    try:
        return base64.b64decode(written, validate=False).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def _inner_values(text: str) -> Iterator[str]:
    """Texts inside of a JSON value, such as the password in a `.dockerconfigjson`."""
    value = _json(text) if text.lstrip().startswith(("{", "[")) else None
    yield from (part for part in leaf_texts(value) if len(part) >= _SHORTEST_PART)


def _json(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
