import asyncio
import os
import sys
from collections.abc import AsyncGenerator

import pytest
from nats.js.api import StreamConfig

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.subjects import COMMANDS_STREAM, CONSUMERS, EVENTS_STREAM, STREAMS
from locktender.outbox.app import declare, serve
from locktender.outbox.settings import OutboxSettings
from locktender.outbox.streams import Streams
from locktender.runtime.bus import Bus
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.outbox_rows import all_published
from locktender.testkit.servers import NatsServer
from locktender.testkit.service_rig import running

_MIB = 1024**2


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as started:
        yield started


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus()
    yield connected
    await connected.close()


async def test_every_declared_stream_and_consumer_exists_afterwards_with_its_description(bus: Bus) -> None:
    await Streams(bus.jetstream).ensure()
    for spec in STREAMS:
        config = (await bus.jetstream.stream_info(spec.name)).config
        assert config.subjects == list(spec.subjects)
        assert config.description == spec.description
        assert config.max_age == spec.max_age_seconds
        assert config.duplicate_window == spec.duplicate_window_seconds
        assert (config.metadata or {})["locktender.owner"] == "outbox"
    for consumer in CONSUMERS:
        info = (await bus.jetstream.consumer_info(consumer.stream, consumer.name)).config
        assert info.filter_subject == consumer.filter_subject
        assert info.description == consumer.description
        assert info.max_deliver == -1


async def test_declaring_twice_changes_nothing_the_second_time(bus: Bus) -> None:
    streams = Streams(bus.jetstream)
    assert len(await streams.ensure()) == len(STREAMS) + len(CONSUMERS)
    assert await streams.ensure() == []


async def test_what_differs_is_changed_in_place_and_keeps_its_messages(bus: Bus) -> None:
    await Streams(bus.jetstream, max_bytes=8 * _MIB).ensure()
    await bus.jetstream.publish("lt.evt.kept", b"{}")
    [*changes] = await Streams(bus.jetstream, max_bytes=16 * _MIB).ensure()
    assert changes == [f"updated stream {spec.name}: max_bytes" for spec in STREAMS]
    info = await bus.jetstream.stream_info(EVENTS_STREAM)
    assert (info.config.max_bytes, info.state.messages) == (16 * _MIB, 1)


async def test_a_consumer_that_somebody_changed_is_put_right(bus: Bus) -> None:
    streams = Streams(bus.jetstream)
    await streams.ensure()
    config = (await bus.jetstream.consumer_info(COMMANDS_STREAM, "runner-direct")).config
    config.ack_wait = 5
    await bus.jetstream.add_consumer(COMMANDS_STREAM, config)
    assert await streams.ensure() == ["updated consumer runner-direct: ack_wait"]
    assert (await bus.jetstream.consumer_info(COMMANDS_STREAM, "runner-direct")).config.ack_wait == 30


async def test_a_stream_that_cannot_be_changed_in_place_is_left_alone_and_named(bus: Bus) -> None:
    # Turning it into a work queue would mean to delete it.
    await bus.jetstream.add_stream(StreamConfig(name=COMMANDS_STREAM, subjects=["lt.cmd.>"]))
    with pytest.raises(Unavailable, match=COMMANDS_STREAM):
        await Streams(bus.jetstream).ensure()


async def test_three_copies_are_refused_by_a_single_server_with_a_reason(bus: Bus) -> None:
    with pytest.raises(Unavailable, match="replicas"):
        await Streams(bus.jetstream, replicas=3).ensure()


async def test_ensure_declares_the_streams_and_ends(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    environment = os.environ | {"LOCKTENDER_DATABASE_URL": db.dsn, "LOCKTENDER_NATS_URL": rig.nats_url}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "locktender.outbox", "ensure", env=environment, stdout=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(60):
        assert await process.wait() == 0
    assert await Streams(bus.jetstream).ensure() == []


async def test_an_unknown_argument_is_a_usage_error() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "locktender.outbox", "explode", stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        _, said = await process.communicate()
    assert process.returncode == 2
    assert b"usage" in said


async def test_the_rights_of_the_outbox_identity_are_all_that_it_needs(
    db: TestDatabase, nats_server: NatsServer
) -> None:
    if "outbox" not in nats_server.seeds:
        pytest.skip("this server asks for no keys, so nothing can be said about rights")
    own = OutboxSettings(
        database_url=db.dsn,
        nats_url=nats_server.url,
        nats_seed_file=nats_server.seeds["outbox"],
        stream_max_bytes=64 * _MIB,
    )
    async with running("outbox", declare, own):
        pass
    async with running("outbox", serve, own) as relay:
        await rows.created(db)
        await eventually(lambda: all_published(db))
        report = await relay.service.health.report()
    assert report.faults == {}
