"""Streams and consumers as code: made when missing, changed in place when they differ, never deleted."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    ReplayPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import NotFoundError

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.subjects import CONSUMERS, STREAMS, ConsumerSpec, StreamSpec

_METADATA = {"locktender.owner": "outbox", "locktender.format": "cloudevents/1.0; mode=binary"}
_SERVER_METADATA = "_nats."


@dataclass(frozen=True, slots=True)
class Seen:
    """A stream as the server reports it: when it was made, and the number of its last message."""

    created: datetime
    last_seq: int


class Streams:
    """The declared streams and consumers on one JetStream.

    Raises of every method: Unavailable, when JetStream does not answer or refuses; asking again is safe.
    """

    def __init__(self, jetstream: JetStreamContext, *, replicas: int = 1, max_bytes: int | None = None) -> None:
        self._jetstream = jetstream
        self._replicas = replicas
        self._max_bytes = max_bytes

    async def look(self) -> Mapping[str, Seen]:
        """The declared streams that exist."""
        seen: dict[str, Seen] = {}
        for spec in STREAMS:
            async with _asking(f"stream {spec.name}"):
                try:
                    info = await self._jetstream.stream_info(spec.name)
                except NotFoundError:
                    continue
            if info.created is None:
                raise Unavailable(f"the server does not say when stream {spec.name} was made; it is too old")
            seen[spec.name] = Seen(info.created, info.state.last_seq)
        return seen

    async def ensure(self) -> list[str]:
        """Make the server match the declarations. Returns one line for each change; none when all was well."""
        changes = [change for spec in STREAMS if (change := await self._ensure_stream(spec))]
        return changes + [change for spec in CONSUMERS if (change := await self._ensure_consumer(spec))]

    async def _ensure_stream(self, spec: StreamSpec) -> str | None:
        wanted = self._stream(spec)
        async with _asking(f"stream {spec.name}"):
            try:
                current = (await self._jetstream.stream_info(spec.name)).config
            except NotFoundError:
                await self._jetstream.add_stream(wanted)  # pyright: ignore[reportUnknownMemberType]  # its keywords
                return f"created stream {spec.name}"
            if differing := _differing(wanted.as_dict(), current.as_dict()):
                await self._jetstream.update_stream(wanted)  # pyright: ignore[reportUnknownMemberType]  # its keywords
                return f"updated stream {spec.name}: {', '.join(differing)}"
        return None

    async def _ensure_consumer(self, spec: ConsumerSpec) -> str | None:
        wanted = _consumer(spec)
        async with _asking(f"consumer {spec.name}"):
            try:
                current = (await self._jetstream.consumer_info(spec.stream, spec.name)).config
            except NotFoundError:
                await self._jetstream.add_consumer(spec.stream, wanted)  # pyright: ignore[reportUnknownMemberType]  # its keywords
                return f"created consumer {spec.name}"
            if differing := _differing(wanted.as_dict(), current.as_dict()):
                # The server takes a second creation of a durable consumer as a change of its configuration.
                await self._jetstream.add_consumer(spec.stream, wanted)  # pyright: ignore[reportUnknownMemberType]  # its keywords
                return f"updated consumer {spec.name}: {', '.join(differing)}"
        return None

    def _stream(self, spec: StreamSpec) -> StreamConfig:
        return StreamConfig(
            name=spec.name,
            description=spec.description,
            subjects=list(spec.subjects),
            retention=RetentionPolicy.WORK_QUEUE if spec.work_queue else RetentionPolicy.LIMITS,
            discard=DiscardPolicy.OLD,
            storage=StorageType.FILE,
            max_age=spec.max_age_seconds,
            max_bytes=spec.max_bytes if self._max_bytes is None else min(spec.max_bytes, self._max_bytes),
            duplicate_window=spec.duplicate_window_seconds,
            num_replicas=self._replicas,
            allow_direct=True,
            metadata=dict(_METADATA),
        )


def _consumer(spec: ConsumerSpec) -> ConsumerConfig:
    return ConsumerConfig(
        name=spec.name,
        durable_name=spec.name,
        description=spec.description,
        deliver_policy=DeliverPolicy.ALL,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=spec.ack_wait_seconds,
        max_deliver=-1,
        filter_subject=spec.filter_subject,
        replay_policy=ReplayPolicy.INSTANT,
        max_ack_pending=spec.max_ack_pending,
        metadata=dict(_METADATA),
    )


def _differing(wanted: Mapping[str, object], current: Mapping[str, object]) -> list[str]:
    """The settings that we state and the server has otherwise. What we leave open is the server's to choose."""
    return [
        key
        for key, value in wanted.items()
        if value is not None and _own(value) != _own(current.get(key)) and (value or current.get(key))
    ]


def _own(value: object) -> object:
    if isinstance(value, dict):
        return {key: text for key, text in value.items() if not str(key).startswith(_SERVER_METADATA)}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]  # any mapping
    return value


@asynccontextmanager
async def _asking(what: str) -> AsyncGenerator[None]:
    try:
        yield
    except (Error, OSError, TimeoutError) as error:
        raise Unavailable(f"JetStream did not answer about {what}: {str(error) or type(error).__name__}") from error
