"""What operators ask of the outbox: `nats req lt.ops.outbox.status ''`."""

import json
from collections.abc import Callable, Mapping, Sequence

from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.outbox.publisher import Publisher
from locktender.outbox.relay import OutboxRelay
from locktender.outbox.shards import ShardLeases
from locktender.runtime.micro import OpsEndpoints
from locktender.storage.outbox.relay import Relay


class Operations:
    """The operator endpoints of one replica."""

    def __init__(
        self,
        outbox: Relay,
        relay: OutboxRelay,
        publishers: Sequence[Publisher],
        leases: ShardLeases,
        *,
        window: float,
        wake: Callable[[], None],
    ) -> None:
        self._outbox = outbox
        self._relay = relay
        self._publishers = publishers
        self._leases = leases
        self._window = window
        self._wake = wake

    def offer(self, endpoints: OpsEndpoints) -> None:
        """Add them."""
        endpoints.add(
            "status", "lt.ops.outbox.status", self.status, "Backlog of the outbox and the shards of this replica",
            response='{"backlog": rows, "oldestSeconds": age, "shards": [number], "oversized": messages}',
        )  # fmt: skip
        endpoints.add(
            "redrive", "lt.ops.outbox.redrive", self.redrive, "Publish the events of the last seconds once more",
            request='{"seconds": 3600}, or nothing for all that the outbox still has',
            response='{"events": how many will be told again}',
        )  # fmt: skip

    async def status(self, _body: bytes) -> Mapping[str, object]:
        """How far behind the relay is."""
        rows, oldest = await self._outbox.backlog()
        return {
            "backlog": rows,
            "oldestSeconds": round(oldest, 3),
            "shards": self._leases.current(),
            "oversized": sum(publisher.oversized for publisher in self._publishers),
        }

    async def redrive(self, body: bytes) -> Mapping[str, object]:
        """Take the marks back. Within two minutes of the first time, the stream drops what it already has.

        Raises:
            Rejected: the body is neither empty nor an object with `seconds` above 0.
        """
        events = await self._relay.redrive(min(_seconds(body), self._window), await self._outbox.now())
        self._wake()
        return {"events": events}


def _seconds(body: bytes) -> float:
    if not body.strip():
        return float("inf")
    try:
        document: object = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    seconds: object = document.get("seconds") if isinstance(document, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]  # any JSON
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        message = 'send nothing, or an object such as {"seconds": 3600}'
        raise Rejected([Finding(Pointer("/seconds"), message, "seconds-invalid")])
    return float(seconds)
