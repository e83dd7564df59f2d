import json
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from nats.js.errors import NotFoundError

from locktender.contracts.kernel.subjects import COMMANDS_STREAM, EVENTS_STREAM
from locktender.outbox.app import serve as serve_outbox
from locktender.outbox.settings import OutboxSettings
from locktender.outbox.streams import Streams
from locktender.reaper.app import serve as serve_reaper
from locktender.reaper.settings import ReaperSettings
from locktender.runtime.bus import Bus
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.outbox_rows import add_events, all_published, revisions
from locktender.testkit.service_rig import running, stored


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as started:
        yield started


@pytest.fixture
async def bus(rig: NatsRig) -> AsyncGenerator[Bus]:
    connected = await rig.bus()
    yield connected
    await connected.close()


def settings(db: TestDatabase, rig: NatsRig, **stated: object) -> OutboxSettings:
    quick = {"outbox_shard_ttl_seconds": 2.0, "outbox_shard_renew_seconds": 0.2, "outbox_poll_ceiling_seconds": 0.1}
    return OutboxSettings(
        database_url=db.dsn, nats_url=rig.nats_url, **(quick | {"outbox_watch_seconds": 0.5} | stated)
    )


TOLD = {f"task-{n}": [1, 2, 3] for n in range(6)}


async def tells(bus: Bus, expected: dict[str, list[int]]) -> bool:
    return revisions(await stored(bus, EVENTS_STREAM)) == expected


async def test_events_are_told_again_in_order_after_the_stream_was_deleted(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    async with running("outbox", serve_outbox, settings(db, rig)):
        await add_events(db, aggregates=6, each=3)
        await eventually(lambda: tells(bus, TOLD))
        await bus.jetstream.delete_stream(EVENTS_STREAM)
        await eventually(lambda: tells(bus, TOLD))
        await eventually(lambda: all_published(db))


async def test_events_are_told_again_after_somebody_else_made_the_stream_anew(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    async with running("outbox", serve_outbox, settings(db, rig)):
        await add_events(db, aggregates=6, each=3)
        await eventually(lambda: tells(bus, TOLD))
        await bus.jetstream.delete_stream(EVENTS_STREAM)
        await Streams(bus.jetstream).ensure()
        await eventually(lambda: tells(bus, TOLD))


async def test_events_are_told_again_when_the_stream_went_while_no_relay_lived(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    async with running("outbox", serve_outbox, settings(db, rig)):
        await add_events(db, aggregates=6, each=3)
        await eventually(lambda: all_published(db))
    await bus.jetstream.delete_stream(EVENTS_STREAM)
    async with running("outbox", serve_outbox, settings(db, rig)):
        await eventually(lambda: tells(bus, TOLD))


async def test_events_are_told_again_when_the_server_comes_back_with_an_empty_store(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    async with running("outbox", serve_outbox, settings(db, rig, outbox_watch_seconds=60.0)):
        await add_events(db, aggregates=6, each=3)
        await eventually(lambda: tells(bus, TOLD))
        await rig.kill()
        emptied(rig)
        await rig.start()
        await eventually(lambda: bus.connected)
        # Noticed at the reconnect, not at the next look a minute later.
        await eventually(lambda: safely_tells(bus, TOLD))


async def safely_tells(bus: Bus, expected: dict[str, list[int]]) -> bool:
    return bus.connected and await tells(bus, expected)


def emptied(rig: NatsRig) -> None:
    folder: Path = rig._folder
    shutil.rmtree(folder / "jetstream")


async def test_a_stream_that_lost_its_newest_messages_is_filled_up_again(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    async with running("outbox", serve_outbox, settings(db, rig)):
        await add_events(db, aggregates=6, each=3)
        await eventually(lambda: tells(bus, TOLD))
        snapshot = await rig_copy(rig)
        await add_events(db, aggregates=6, each=1, first=4)
        await eventually(lambda: tells(bus, {name: [1, 2, 3, 4] for name in TOLD}))
        await rig.kill()
        restored(rig, snapshot)
        await rig.start()
        await eventually(lambda: bus.connected)
        await eventually(lambda: contains(bus, {name: [1, 2, 3, 4] for name in TOLD}))
    shutil.rmtree(snapshot)


async def contains(bus: Bus, expected: dict[str, list[int]]) -> bool:
    """Whether a consumer that drops what is not above the last it saw ends up with all of it."""
    seen: dict[str, list[int]] = {}
    for name, told in revisions(await stored(bus, EVENTS_STREAM)).items():
        seen[name] = []
        for revision in told:
            if revision > max(seen[name], default=0):
                seen[name].append(revision)
    return seen == expected


async def rig_copy(rig: NatsRig) -> Path:
    """What the disk of the server would hold after a crash here."""
    await rig.stop()
    copy = rig._folder.with_name(rig._folder.name + "-copy")
    shutil.copytree(rig._folder, copy)
    await rig.start()
    return copy


def restored(rig: NatsRig, snapshot: Path) -> None:
    shutil.rmtree(rig._folder / "jetstream")
    shutil.copytree(snapshot / "jetstream", rig._folder / "jetstream")


async def test_commands_come_again_from_the_rows_after_their_stream_was_deleted(
    db: TestDatabase, rig: NatsRig, bus: Bus
) -> None:
    reaper = ReaperSettings(
        database_url=db.dsn, nats_url=rig.nats_url, reaper_sweep_seconds=0.2, deadlines={"hint": 0.5}
    )
    async with (
        running("outbox", serve_outbox, settings(db, rig)),
        running("reaper", serve_reaper, reaper),
    ):
        task = await rows.created(db)
        await eventually(lambda: commanded(bus, str(task)))
        await bus.jetstream.delete_stream(COMMANDS_STREAM)
        await eventually(lambda: commanded(bus, str(task)))
        # And a runner that binds to the declared consumer gets it.
        consumer = await bus.jetstream.pull_subscribe_bind("runner-noop", COMMANDS_STREAM)
        [message] = await consumer.fetch(1, timeout=5)
        assert json.loads(message.data) == {"id": str(task)}


async def commanded(bus: Bus, task: str) -> bool:
    return any(json.loads(message.body)["id"] == task for message in await stored(bus, COMMANDS_STREAM))


async def test_a_consumer_that_was_deleted_is_declared_again(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    async with running("outbox", serve_outbox, settings(db, rig)):
        await eventually(lambda: has_consumer(bus))
        await bus.jetstream.delete_consumer(COMMANDS_STREAM, "runner-direct")
        await eventually(lambda: has_consumer(bus))


async def has_consumer(bus: Bus) -> bool:
    try:
        await bus.jetstream.consumer_info(COMMANDS_STREAM, "runner-direct")
    except NotFoundError:
        return False
    return True


async def test_an_operator_can_have_the_last_events_told_again(db: TestDatabase, rig: NatsRig, bus: Bus) -> None:
    async with running("outbox", serve_outbox, settings(db, rig)):
        await add_events(db, aggregates=6, each=3)
        await eventually(lambda: tells(bus, TOLD))
        await eventually(lambda: all_published(db))
        answer = await bus.request("lt.ops.outbox.redrive", b'{"seconds": 600}', 5)
        assert json.loads(answer) == {"events": 18}
        await eventually(lambda: all_published(db))
        # The stream still has them, and drops what it knows.
        assert await tells(bus, TOLD)
        refused = await bus.ask("lt.ops.outbox.redrive", b'{"seconds": "soon"}', 5)
        assert (refused.headers or {})["Nats-Service-Error-Code"] == "400"
