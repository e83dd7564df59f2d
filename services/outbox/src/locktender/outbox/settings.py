"""What the outbox service is told from outside."""

from typing import Literal

from pydantic import Field

from locktender.runtime.settings import ProcessSettings


class OutboxSettings(ProcessSettings):
    """The settings of the outbox service.

    Attributes:
        outbox_retention_seconds: how long published rows are kept, and so how far back a lost stream is told again.
        outbox_batch: most rows that one round reads and publishes.
        outbox_in_flight: most messages of a lane that wait for an acknowledgement at a time.
        outbox_lanes: rounds that run side by side, each for shards of its own.
        outbox_ack_seconds: how long one acknowledgement is waited for before its message counts as unknown.
        outbox_poll_floor_seconds: first pause after a round that found nothing.
        outbox_poll_ceiling_seconds: longest pause; pokes and reconnects cut it short.
        outbox_shard_ttl_seconds: how long another replica waits before it takes over the shards of one that died.
        outbox_shard_renew_seconds: how often shards are renewed and shared out anew.
        outbox_watch_seconds: how often the streams are compared with what is known of them.
        stream_replicas: copies of each stream; 3 needs a cluster of at least 3 servers.
        stream_max_bytes: upper bound on the size of each stream, for servers with little storage.
    """

    outbox_retention_seconds: float = Field(default=7 * 86_400.0, gt=0)
    outbox_batch: int = Field(default=500, ge=1, le=10_000)
    outbox_in_flight: int = Field(default=1024, ge=1, le=65_536)
    outbox_lanes: int = Field(default=2, ge=1, le=16)
    outbox_ack_seconds: float = Field(default=5.0, gt=0)
    outbox_poll_floor_seconds: float = Field(default=0.02, gt=0)
    outbox_poll_ceiling_seconds: float = Field(default=1.0, gt=0)
    outbox_shard_ttl_seconds: float = Field(default=10.0, gt=0)
    outbox_shard_renew_seconds: float = Field(default=3.0, gt=0)
    outbox_watch_seconds: float = Field(default=30.0, gt=0)
    stream_replicas: Literal[1, 3, 5] = 1
    stream_max_bytes: int | None = Field(default=None, gt=0)
