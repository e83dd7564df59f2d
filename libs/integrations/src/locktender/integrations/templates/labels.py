"""The label that tells whose instance an object is of, and the fields that are not a template's to set."""

from collections.abc import Iterator

from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object, as_text

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

INSTANCE = "locktender.dev/instance"
"""The label. Its value is the name of the instance."""


def prepared(documents: list[JsonObject], instance: str) -> list[JsonObject]:
    """The objects as they are applied: lists taken apart, labelled, without status or what only a server sets.

    An object without metadata is left to whoever checks manifests.
    """
    return [_prepared(document, instance) for document in _apart(documents)]


def _apart(documents: list[JsonObject]) -> Iterator[JsonObject]:
    for document in documents:
        items = as_array(document.get("items"))
        objects = [item for item in items if isinstance(item, dict)]
        if items and len(objects) == len(items) and as_text(document.get("kind")).endswith("List"):
            yield from objects
        else:
            yield document


def _prepared(document: JsonObject, instance: str) -> JsonObject:
    found = _labelled(document, instance)
    spec = found.get("spec")
    if found.get("kind") == "StatefulSet" and isinstance(spec, dict) and spec.get("volumeClaimTemplates"):
        claims: list[Json] = [
            _labelled(claim, instance) if isinstance(claim, dict) else claim
            for claim in as_array(spec["volumeClaimTemplates"])
        ]
        found["spec"] = {**spec, "volumeClaimTemplates": claims}
    return found


def _labelled(holder: JsonObject, instance: str) -> JsonObject:
    """A copy as far as it differs: what YAML anchors stands in several places, and a selector must not change."""
    found = {key: value for key, value in holder.items() if key != "status"}
    metadata = found.get("metadata")
    if isinstance(metadata, dict):
        kept = {key: value for key, value in metadata.items() if key not in _SERVER_FIELDS}
        labels = kept.get("labels")
        if labels is None or isinstance(labels, dict):
            kept["labels"] = {**as_object(labels), INSTANCE: instance}
        found["metadata"] = kept
    return found
