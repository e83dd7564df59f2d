"""How an applied object says which run applied it."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from locktender.integrations.kube.json_value import Json, JsonObject, as_object, as_text, copied

TASK_ANNOTATION = "locktender.dev/task"
EPOCH_ANNOTATION = "locktender.dev/epoch"
STAMPS = (TASK_ANNOTATION, EPOCH_ANNOTATION)
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "locktender"


@dataclass(frozen=True, slots=True)
class Stamp:
    """One run of one task. Task ids are UUIDv7, so a later task has the greater id."""

    task_id: UUID
    epoch: int


def stamped(body: JsonObject, stamp: Stamp) -> JsonObject:
    """A copy of `body` that says which run applies it.

    Two annotations carry the task and the epoch. The label `app.kubernetes.io/managed-by` is added where the manifest
    does not set it; pod templates are left alone, so that no stamp restarts a pod.
    """
    marked = as_object(copied(body))
    metadata = _within(marked, "metadata")
    stamps = {TASK_ANNOTATION: str(stamp.task_id), EPOCH_ANNOTATION: str(stamp.epoch)}
    _within(metadata, "annotations").update(stamps)
    _within(metadata, "labels").setdefault(MANAGED_BY, MANAGER)
    return marked


def stamp_of(body: Mapping[str, object]) -> Stamp | None:
    """The run that applied an object last; None when no run of ours did, or its stamp is not readable."""
    annotations = as_object(as_object(body.get("metadata")).get("annotations"))
    try:
        return Stamp(UUID(as_text(annotations.get(TASK_ANNOTATION))), int(as_text(annotations.get(EPOCH_ANNOTATION))))
    except ValueError:
        return None


def _within(holder: JsonObject, name: str) -> JsonObject:
    inner: Json = holder.get(name)
    if not isinstance(inner, dict):
        inner = holder[name] = {}
    return inner
