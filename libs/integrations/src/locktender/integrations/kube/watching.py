"""Reading a watch: one JSON object a line, each a change or the end of it."""

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from locktender.integrations.kube.errors import KubeUnavailable, Outage
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text
from locktender.integrations.kube.status import Answer, Attempt, refusal
from locktender.integrations.kube.transport import Wire

SILENCE_SECONDS = 90.0
"""Without a byte for so long, a stream is dead. Clusters send a bookmark about once a minute."""

# The server ends the watch itself; a little later we stop waiting for that.
_GRACE_SECONDS = 5


class Change(StrEnum):
    """What happened to an object. A bookmark only moves the resource version."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One change, with the object after it (before it, for a deletion)."""

    change: Change
    body: JsonObject

    @property
    def resource_version(self) -> str:
        """Where to continue watching after this event."""
        return as_text(as_object(self.body.get("metadata")).get("resourceVersion"))


async def watch_events(
    wire: Wire,
    path: str,
    params: Mapping[str, str],
    attempt: Attempt,
    timeout_seconds: int,
    silence_seconds: float = SILENCE_SECONDS,
) -> AsyncGenerator[WatchEvent]:
    """The events of one watch request. Raises `KubeError`."""
    seconds = timeout_seconds + _GRACE_SECONDS
    async with wire.lines(path, params=params, seconds=seconds, silence_seconds=silence_seconds) as lines:
        if isinstance(lines, Answer):
            raise refusal(lines, attempt)
        async for line in lines:
            yield _event(line, attempt)


def _event(line: bytes, attempt: Attempt) -> WatchEvent:
    try:
        entry = as_object(cast("object", json.loads(line)))
    except (ValueError, RecursionError):
        raise KubeUnavailable("the watch of the cluster sent half a line", Outage.BROKEN) from None
    kind, body = as_text(entry.get("type")), as_object(entry.get("object"))
    if kind in set(Change):
        return WatchEvent(Change(kind), body)
    code = body.get("code")
    raise refusal(Answer(code if isinstance(code, int) else 500, json.dumps(body).encode()), attempt)
