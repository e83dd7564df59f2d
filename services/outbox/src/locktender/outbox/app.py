"""The composition root of the outbox service."""

import asyncio
from importlib.metadata import version

import structlog

from locktender.outbox.operations import Operations
from locktender.outbox.publisher import Publisher
from locktender.outbox.regression import StreamWatch
from locktender.outbox.relay import OutboxRelay
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


async def declare(service: Service[OutboxSettings]) -> None:
    """Declare streams and consumers, and return. What was lost with a stream is told again by the next relay."""
    for change in await _streams(service).ensure() or ["nothing to do"]:
        _log.info("streams declared", change=change)


async def serve(service: Service[OutboxSettings]) -> None:
    """Relay until the stop."""
    settings = service.settings
    async with open_database(settings.database_url.get_secret_value(), name="locktender-outbox") as database:
        outbox, trouble, wake = Relay(database), Waker(), Waker()
        publisher = Publisher(
            service.bus, service.clock,
            window=settings.outbox_in_flight, ack_seconds=settings.outbox_ack_seconds, on_trouble=trouble.wake,
        )  # fmt: skip
        leases = ShardLeases(database, service.owner, service.clock, ttl=settings.outbox_shard_ttl_seconds)
        relay = OutboxRelay(outbox, publisher, leases, service.bus, service.faults, batch=settings.outbox_batch)
        window = settings.outbox_retention_seconds
        watch = StreamWatch(_streams(service), publisher, relay, outbox, service.bus, window=window)
        service.health.add("database", outbox.now)
        service.health.add("streams", watch.check)
        service.bus.on_reconnect(trouble.wake)
        await service.bus.on_poke("outbox", wake)
        endpoints = OpsEndpoints(
            service.bus, "outbox", version=version("locktender-outbox"),
            description="Publishes what Postgres has committed to JetStream",
        )  # fmt: skip
        Operations(outbox, relay, publisher, leases, window=window, wake=wake.wake).offer(endpoints)
        await leases.prepare()
        async with publisher.opened(), endpoints.serving():
            service.health.opened()
            await _loops(service, database, watch, relay, leases, trouble, wake)
            await leases.close()


async def _loops(
    service: Service[OutboxSettings],
    database: Database,
    watch: StreamWatch,
    relay: OutboxRelay,
    leases: ShardLeases,
    trouble: Waker,
    wake: Waker,
) -> None:
    settings, stop, clock = service.settings, service.stop, service.clock
    partitions = Partitions(database)

    async def share_out() -> None:
        if await leases.share_out():
            wake.wake()

    async def look() -> bool:
        await watch.look()
        wake.wake()
        return False

    async def publish() -> bool:
        # Not before the streams are there: the first look may take marks back, and old events go before new ones.
        return watch.declared and await relay.round()

    async def tend_partitions() -> bool:
        made = await partitions.prepare(_DAYS_AHEAD)
        dropped = await partitions.retire(settings.outbox_retention_seconds)
        if made or dropped:
            _log.info("partitions tended", made=made, dropped=dropped)
        return False

    async with asyncio.TaskGroup() as loops:
        loops.create_task(
            adaptive(
                look, stop=stop, clock=clock, waker=trouble, name="streams",
                floor=_WATCH_FIRST, ceiling=settings.outbox_watch_seconds,
            )
        )  # fmt: skip
        loops.create_task(every(settings.outbox_shard_renew_seconds, share_out, stop=stop, clock=clock, name="shards"))
        loops.create_task(
            adaptive(
                publish, stop=stop, clock=clock, waker=wake, name="relay",
                floor=settings.outbox_poll_floor_seconds, ceiling=settings.outbox_poll_ceiling_seconds,
            )
        )  # fmt: skip
        loops.create_task(
            adaptive(
                tend_partitions, stop=stop, clock=clock, name="partitions",
                floor=_PARTITIONS_FIRST, ceiling=_PARTITIONS_SECONDS,
            )
        )  # fmt: skip


def _streams(service: Service[OutboxSettings]) -> Streams:
    settings = service.settings
    return Streams(service.bus.jetstream, replicas=settings.stream_replicas, max_bytes=settings.stream_max_bytes)
