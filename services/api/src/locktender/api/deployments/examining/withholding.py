"""Keeping submitted secrets out of what is stored, also where somebody wrote them into another object."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.json_value import Json, JsonObject, as_object
from locktender.integrations.kube.manifests import Manifest
from locktender.integrations.kube.secrets import WITHHELD, is_secret, split_secrets, withheld
from locktender.runtime.scrub import Scrubber
from locktender.runtime.spellings import spellings

SHORTEST = 8
"""Secret values below this length are not looked for outside of their Secret: they are ordinary words as well."""

MOST = 500
"""Secret values in one request, because each is looked for in every object."""

_FIELDS = ("data", "stringData")


@dataclass(frozen=True, slots=True)
class Divided:
    """Manifests, divided into what may be stored and what only memory may hold.

    Attributes:
        documents: one entry a manifest, safe to store.
        kept: whole bodies by index, for every manifest whose stored body is not the whole.
        sensitive_keys: for each Secret, the names of its keys.
    """

    documents: list[dict[str, object]]
    kept: dict[str, JsonObject]
    sensitive_keys: dict[str, list[str]]


def divide(manifests: Sequence[Manifest], access: ClusterAccess) -> Divided:
    """Take the values of Secrets, and the credentials of the cluster, out of every body.

    Raises:
        Rejected: there are more secret values than can be looked for.
    """
    groups = _spelt(secret_texts(manifests, access))
    divided = Divided([], {}, {})
    for manifest in manifests:
        body = withheld(manifest.body) if is_secret(manifest.body) else manifest.body
        safe = _without(body, groups)
        if safe is not manifest.body:
            divided.kept[str(manifest.index)] = manifest.body
        if is_secret(manifest.body):
            divided.sensitive_keys[str(manifest.index)] = _keys(manifest.body)
        divided.documents.append({"index": manifest.index, "line": manifest.line, "body": safe})
    return divided


def secret_texts(manifests: Sequence[Manifest], access: ClusterAccess) -> list[str]:
    """What no text may repeat: credentials of the cluster, and values of Secrets that are no ordinary words.

    Raises:
        Rejected: there are more secret values than can be looked for.
    """
    return [*access.secrets(), *_secret_values(manifests)]


def _secret_values(manifests: Sequence[Manifest]) -> list[str]:
    _, values = split_secrets([manifest for manifest in manifests if is_secret(manifest.body)])
    long = [value for value in values if len(value) >= SHORTEST]
    if len(long) > MOST:
        message = f"there are more than {MOST} secret values; deploy in parts"
        raise Rejected([Finding(Pointer("/source/manifests"), message, "too-many-secret-values")])
    return long


def _spelt(values: Iterable[str]) -> list[frozenset[str]]:
    return [spellings(value) for value in values]


def _without(body: JsonObject, groups: list[frozenset[str]]) -> JsonObject:
    """`body` itself when no value is in it; else a copy in which every text with one is withheld whole."""
    text = json.dumps(body, ensure_ascii=False)
    found = [form for group in groups if any(form in text for form in group) for form in group]
    return as_object(_replaced(body, found)) if found else body


def _replaced(value: Json, found: list[str]) -> Json:
    if isinstance(value, dict):
        return {str(_replaced(key, found)): _replaced(inner, found) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, found) for inner in value]
    if value is None or isinstance(value, bool):
        return value
    shown = value if isinstance(value, str) else json.dumps(value)
    return WITHHELD if any(form in shown for form in found) else value


def _keys(body: JsonObject) -> list[str]:
    return [f"{field}/{key}" for field in _FIELDS for key in as_object(body.get(field))]


def scrubbed(text: str, values: Iterable[str]) -> str:
    """`text` with every secret value of four or more characters masked."""
    return Scrubber(values).text(text)


def repeats(text: str, values: Iterable[str]) -> bool:
    """Whether a secret value that is no ordinary word stands in `text`, in whatever spelling, or is all of it."""
    known = list(values)
    long = [value for value in known if len(value) >= SHORTEST]
    return text in known or bool(Scrubber(long).spans(text))
