"""An outbox row on the wire: CloudEvents 1.0, binary mode. Attributes are headers, the body is one line of JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

SOURCE = "/locktender"
DEDUP_HEADER = "Nats-Msg-Id"
REVISION_HEADER = "lt-revision"
TOMBSTONE_HEADER = "lt-tombstone"


@dataclass(frozen=True, slots=True)
class Envelope:
    """One message.

    `revision` counts the events of one aggregate without a gap; consumers drop what is older than they have
    seen, and everything non-terminal after a tombstone. Commands have no revision: they may come in any order.
    """

    event_id: UUID
    subject: str
    type: str
    aggregate: str
    revision: int | None
    tombstone: bool
    time: datetime
    data: str
    trace: Mapping[str, str] = field(default_factory=dict[str, str])

    def headers(self) -> dict[str, str]:
        """The NATS headers of this message."""
        headers = {
            "ce-specversion": "1.0",
            "ce-id": str(self.event_id),
            "ce-source": SOURCE,
            "ce-type": self.type,
            "ce-subject": self.aggregate,
            "ce-time": self.time.isoformat(),
            "content-type": "application/json",
            DEDUP_HEADER: str(self.event_id),
            **self.trace,
        }
        if self.revision is not None:
            headers[REVISION_HEADER] = str(self.revision)
        if self.tombstone:
            headers[TOMBSTONE_HEADER] = "true"
        return headers

    def body(self) -> bytes:
        """The JSON text, as Postgres stored it."""
        return self.data.encode()
