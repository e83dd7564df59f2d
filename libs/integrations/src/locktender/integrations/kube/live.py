"""What has to be remembered of an object as it was read, without keeping the object."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass

from locktender.integrations.kube.json_value import JsonObject, as_object, as_text
from locktender.integrations.kube.stamps import STAMPS, Stamp, stamp_of

_MOVING = {"managedFields", "resourceVersion", "generation"}


@dataclass(frozen=True, slots=True)
class Live:
    """An object as it was read.

    Attributes:
        resource_version: a write with it is refused once the object has moved on.
        stamp: the run of ours that applied it last, if one did.
        digest: equal for two readings between which nothing changed that counts as the object.
    """

    resource_version: str
    uid: str
    stamp: Stamp | None
    digest: bytes


def live_of(body: JsonObject, bookkeeping: Collection[str] = STAMPS) -> Live:
    """What to remember of `body`. Annotations named in `bookkeeping` do not count as the object."""
    metadata = as_object(body.get("metadata"))
    text = json.dumps(stable(body, bookkeeping), sort_keys=True, separators=(",", ":"))
    return Live(
        resource_version=as_text(metadata.get("resourceVersion")),
        uid=as_text(metadata.get("uid")),
        stamp=stamp_of(body),
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
    )


def stable(body: JsonObject, bookkeeping: Collection[str]) -> JsonObject:
    """`body` without what a dry run, another writer's heartbeat or our own bookkeeping changes."""
    metadata: JsonObject = {key: value for key, value in as_object(body.get("metadata")).items() if key not in _MOVING}
    metadata["annotations"] = {
        key: value for key, value in as_object(metadata.get("annotations")).items() if key not in bookkeeping
    }
    kept: JsonObject = {key: value for key, value in body.items() if key != "status"}
    kept["metadata"] = metadata
    return kept
