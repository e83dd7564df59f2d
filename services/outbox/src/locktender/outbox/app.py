"""The composition root of the outbox service."""

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

import structlog

from locktender.outbox.operations import Operations
from locktender.outbox.publisher import Publisher
from locktender.outbox.regression import StreamWatch
from locktender.outbox.relay import Lane, OutboxRelay
from locktender.outbox.settings import OutboxSettings
from locktender.outbox.shards import ShardLeases
from locktender.outbox.streams import Streams
from locktender.runtime.loop import Waker, adaptive, every
from locktender.runtime.micro import OpsEndpoints
from locktender.runtime.service import Service
from locktender.storage.kernel.database import Database, open_database
from locktender.storage.outbox.partitions import Partitions
from locktender.storage.outbox.relay import Relay

_log = structlog.stdlib.get_logger(__name__)

_DAYS_AHEAD = 2
_PARTITIONS_FIRST, _PARTITIONS_SECONDS = 60.0, 3600.0
_WATCH_FIRST = 0.25
_QUIET_SECONDS = 1.0


async def declare(service: Service[OutboxSettings]) -> None:
    """Declare streams and consumers, and return. What was lost with a stream is told again by the next relay."""
    for change in await _streams(service).ensure() or ["nothing to do"]:
        _log.info("streams declared", change=change)


async def serve(service: Service[OutboxSettings]) -> None:
    """Relay until the stop."""
    settings = service.settings
    size = settings.outbox_lanes + 2
    dsn = settings.database_url.get_secret_value()
    # A mark or a shard lease that a crash undoes costs a second publication under the same id, which nobody counts.
    async with open_database(dsn, name="locktender-outbox", size=size, durable=False) as database:
        parts = _assemble(service, database)
        service.health.add("database", parts.outbox.now)
        service.health.add("streams", parts.watch.check)
        service.bus.on_reconnect(parts.trouble.wake)
        for waker in parts.wakers:
            await service.bus.on_poke("outbox", waker)
        endpoints = OpsEndpoints(
            service.bus, "outbox", version=version("locktender-outbox"),
            description="Publishes what Postgres has committed to JetStream",
        )  # fmt: skip
        Operations(
            parts.outbox, parts.relay, parts.publishers, parts.leases,
            window=settings.outbox_retention_seconds, wake=parts.wake,
        ).offer(endpoints)  # fmt: skip
        await parts.leases.prepare()
        async with AsyncExitStack() as stack:
            for publisher in parts.publishers:
                await stack.enter_async_context(publisher.opened())
            await stack.enter_async_context(endpoints.serving())
            service.health.opened()
            await _loops(service, parts)
            await parts.leases.close()


@dataclass(frozen=True, slots=True)
class _Parts:
    """One of everything, and of what a lane needs, one a lane."""

    outbox: Relay
    partitions: Partitions
    leases: ShardLeases
    publishers: tuple[Publisher, ...]
    relay: OutboxRelay
    watch: StreamWatch
    trouble: Waker
    wakers: tuple[Waker, ...]

    def wake(self) -> None:
        for waker in self.wakers:
            waker.wake()


def _assemble(service: Service[OutboxSettings], database: Database) -> _Parts:
    settings, lanes = service.settings, range(service.settings.outbox_lanes)
    outbox, trouble = Relay(database), Waker()
    leases = ShardLeases(database, service.owner, service.clock, ttl=settings.outbox_shard_ttl_seconds)
    publishers = tuple(
        Publisher(
            service.bus, service.clock,
            window=settings.outbox_in_flight, ack_seconds=settings.outbox_ack_seconds, on_trouble=trouble.wake,
        )
        for _ in lanes
    )  # fmt: skip
    relay = OutboxRelay(
        outbox,
        [
            Lane(
                outbox, publishers[lane], service.bus, service.faults, batch=settings.outbox_batch,
                shards=partial(leases.current, lane, len(lanes)), may_send=leases.alive,
            )
            for lane in lanes
        ],
    )  # fmt: skip
    watch = StreamWatch(
        _streams(service), publishers, relay, outbox, service.bus, window=settings.outbox_retention_seconds
    )
    wakers = tuple(Waker() for _ in lanes)
    return _Parts(outbox, Partitions(database), leases, publishers, relay, watch, trouble, wakers)


async def _loops(service: Service[OutboxSettings], parts: _Parts) -> None:
    settings = service.settings
    repeat = partial(adaptive, stop=service.stop, clock=service.clock)

    async def look() -> bool:
        await parts.watch.look()
        parts.wake()
        return False

    async def share_out() -> None:
        if await parts.leases.share_out():
            parts.wake()
        if parts.leases.leaving:
            # Not at any price: leases have to be renewed in time, and what is left to give back can wait a round.
            with suppress(TimeoutError):
                async with asyncio.timeout(_QUIET_SECONDS), parts.relay.quiet():
                    await parts.leases.give_back()

    async def publish(lane: Lane) -> bool:
        # Not before the streams are there: the first look may take marks back, and old events go before new ones.
        return parts.watch.declared and await lane.round()

    async def tend_partitions() -> bool:
        made = await parts.partitions.prepare(_DAYS_AHEAD)
        dropped = await parts.partitions.retire(settings.outbox_retention_seconds)
        if made or dropped:
            _log.info("partitions tended", made=made, dropped=dropped)
        return False

    floor, ceiling = settings.outbox_poll_floor_seconds, settings.outbox_poll_ceiling_seconds
    async with asyncio.TaskGroup() as loops:
        loops.create_task(
            repeat(look, waker=parts.trouble, floor=_WATCH_FIRST, ceiling=settings.outbox_watch_seconds, name="streams")
        )
        loops.create_task(
            every(settings.outbox_shard_renew_seconds, share_out, stop=service.stop, clock=service.clock, name="shards")
        )
        for lane, waker in zip(parts.relay.lanes, parts.wakers, strict=True):
            loops.create_task(repeat(partial(publish, lane), waker=waker, floor=floor, ceiling=ceiling, name="relay"))
        loops.create_task(
            repeat(tend_partitions, floor=_PARTITIONS_FIRST, ceiling=_PARTITIONS_SECONDS, name="partitions")
        )


def _streams(service: Service[OutboxSettings]) -> Streams:
    settings = service.settings
    return Streams(service.bus.jetstream, replicas=settings.stream_replicas, max_bytes=settings.stream_max_bytes)
