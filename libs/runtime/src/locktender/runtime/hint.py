"""A message that says which row may be claimable."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from nats.aio.msg import Msg
from nats.errors import NotJSMessageError


@dataclass(frozen=True, slots=True)
class Hint:
    """One delivery of a hint. What the row really is, the row alone knows.

    Attributes:
        id: the row.
        deliveries: how often this message was delivered so far, this time included. Not the attempts of the row.
        headers: those of the message, the trace context among them.
    """

    id: UUID
    deliveries: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def parse(message: Msg) -> Hint | None:
    """The hint in a message; None when its body is no JSON object with a UUID as `id`."""
    try:
        document: object = json.loads(message.data)
        if not isinstance(document, dict):
            return None
        row_id = UUID(str(document["id"]))  # pyright: ignore[reportUnknownArgumentType]  # whatever it is, it is parsed
    except (ValueError, KeyError, RecursionError):
        return None
    return Hint(row_id, deliveries(message), message.headers or {})


def deliveries(message: Msg) -> int:
    """How often the message was delivered so far."""
    try:
        return message.metadata.num_delivered
    except NotJSMessageError:
        return 1
