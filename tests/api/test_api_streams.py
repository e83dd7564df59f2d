import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Lease
from locktender.runtime.connect import connect_bus
from locktender.testkit import rows
from locktender.testkit.api import RunningApi, relay_events, running_api, taken
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.servers import NatsServer
from locktender.testkit.streams import Listener


@pytest.fixture
async def nats() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as rig:
        yield rig


@pytest.fixture
async def api(db: TestDatabase, nats: NatsRig) -> AsyncGenerator[RunningApi]:
    async with running_api(db, NatsServer("embedded", nats.nats_url, {})) as running:
        yield running


def timeline(api: RunningApi, task_id: object) -> str:
    return api.path(f"/{task_id}/timeline/stream")


PROJECT = "/v1/workspaces/acme/projects/shop/deployment-tasks/stream"


async def apply_and_complete(db: TestDatabase, lease: Lease) -> None:
    writes = db.writes
    await writes.begin_applying(lease, rows.told(), timeline=rows.TIMELINE)
    await writes.complete(lease, rows.told(), timeline=rows.TIMELINE)


async def test_a_timeline_begins_with_the_snapshot_and_tells_every_change_until_the_end(
    api: RunningApi, db: TestDatabase
) -> None:
    claimed = await rows.claimed(db)
    await relay_events(db, api.bus)
    listener = Listener(api, timeline(api, claimed.lease.row_id))
    async with asyncio.TaskGroup() as group:
        group.create_task(listener.listen())
        first = await listener.until("snapshot")
        assert (first.id, json.loads(first.data)["task"]["status"]) == ("2", "running")
        await apply_and_complete(db, claimed.lease)
        await relay_events(db, api.bus)
        await listener.until("end")
    last = [event for event in listener.events if event.name == "update"][-1]
    assert (last.id, json.loads(last.data)["task"]["status"]) == ("4", "completed")
    assert listener.ended


async def test_a_reader_that_knows_the_present_revision_is_not_told_again(api: RunningApi, db: TestDatabase) -> None:
    task_id = await rows.completed(db)
    again = await taken(api.stream(timeline(api, task_id), **{"Last-Event-ID": "4"}), 9)
    assert [event.name for event in again] == ["end"]
    for unknown in ("3", "9", "nonsense", "-1", ""):
        events = await taken(api.stream(timeline(api, task_id), **{"Last-Event-ID": unknown}), 9)
        assert [event.name for event in events] == ["snapshot", "end"]


async def test_a_removed_task_ends_its_stream(api: RunningApi, db: TestDatabase) -> None:
    task_id = await rows.created(db)
    await relay_events(db, api.bus)
    listener = Listener(api, timeline(api, task_id))
    async with asyncio.TaskGroup() as group:
        group.create_task(listener.listen())
        await listener.until("snapshot")
        await db.admin.execute("delete from locktender.deployment_task where id = $1", task_id)
        await publish_removal(api, task_id, revision=2)
        await listener.until("removed")
    assert listener.ended


async def publish_removal(api: RunningApi, task_id: UUID, revision: int) -> None:
    body = {
        "id": str(task_id), "workspace": "acme", "project": "shop", "phase": "completed", "status": "completed",
        "epoch": 1, "revision": revision, "at": "2030-01-01T00:00:00Z",
    }  # fmt: skip
    subject = f"lt.evt.acme.deployments.{task_id}.removed"
    headers = {"lt-tombstone": "true", "lt-revision": str(revision), "content-type": "application/json"}
    await api.bus.publish(subject, json.dumps(body).encode(), headers=headers)


async def test_an_unknown_task_has_no_stream(api: RunningApi) -> None:
    assert (await api.http.get(timeline(api, new_id()))).status_code == 404
    assert (await api.http.get(timeline(api, "nonsense"))).status_code == 404


async def test_a_project_tells_what_appears_changes_and_goes(api: RunningApi, db: TestDatabase) -> None:
    there = await rows.created(db)
    await relay_events(db, api.bus)
    listener = Listener(api, PROJECT)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.listen())
        first = json.loads((await listener.until("snapshot")).data)
        assert [each["id"] for each in first["projections"]] == [str(there)]
        await rows.created(db, project="other")
        fresh = await rows.created(db)
        await relay_events(db, api.bus)
        upsert = json.loads((await listener.until("upsert")).data)
        assert (upsert["projection"]["id"], upsert["projection"]["status"]) == (str(fresh), "queued")
        await publish_removal(api, there, revision=2)
        removed = json.loads((await listener.until("remove")).data)
        assert removed == {"workspace": "acme", "project": "shop", "id": str(there)}
        # A late event of what is gone cannot bring it back.
        await api.bus.publish(f"lt.evt.acme.deployments.{there}.started", b"nonsense")
        await db.writes.claim([fresh], rows.OWNER, 60)
        await relay_events(db, api.bus)
        await listener.until("upsert", 2)
        task.cancel()
    assert listener.names == ["snapshot", "upsert", "remove", "upsert"]


async def test_a_burst_of_changes_is_told_whole(api: RunningApi, db: TestDatabase) -> None:
    listener = Listener(api, PROJECT)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.listen())
        await listener.until("snapshot")
        made = {str(await rows.created(db)) for _ in range(40)}
        await relay_events(db, api.bus)
        await listener.until("upsert", 40)
        task.cancel()
    told = {json.loads(event.data)["projection"]["id"] for event in listener.events if event.name == "upsert"}
    assert told == made


async def test_streams_end_at_once_on_shutdown(api: RunningApi, db: TestDatabase) -> None:
    task_id = await rows.created(db)
    listeners = [Listener(api, timeline(api, task_id)), Listener(api, PROJECT)]
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        for listener in listeners:
            group.create_task(listener.listen())
        for listener in listeners:
            await listener.until("snapshot")
        begun = loop.time()
        api.stop.request()
    assert loop.time() - begun < 2
    assert all(listener.ended for listener in listeners)


async def test_a_reader_that_leaves_takes_its_subscription_along(api: RunningApi, db: TestDatabase) -> None:
    task_id = await rows.created(db)
    for _ in range(3):
        await taken(api.stream(timeline(api, task_id)), 1)
    await eventually(lambda: api.api.deployments.fanout.streams == 0)


async def test_a_lost_event_feed_is_said_polled_and_taken_up_again(
    api: RunningApi, db: TestDatabase, nats: NatsRig
) -> None:
    claimed = await rows.claimed(db)
    listener = Listener(api, timeline(api, claimed.lease.row_id))
    async with asyncio.TaskGroup() as group:
        group.create_task(listener.listen())
        await listener.until("snapshot")
        await nats.kill()
        await listener.until("degraded")
        await db.writes.begin_applying(claimed.lease, rows.told(), timeline=rows.TIMELINE)
        polled = await listener.until("update")
        assert json.loads(polled.data)["task"]["status"] == "applying"
        await nats.start()
        await listener.until("snapshot", 2)
        assert listener.names[-2:] == ["resync", "snapshot"]
        await db.writes.complete(claimed.lease, rows.told(), timeline=rows.TIMELINE)
        await relay_events(db, api.bus)
        await listener.until("end")


async def test_many_readers_of_one_task_all_see_its_end(api: RunningApi, db: TestDatabase) -> None:
    claimed = await rows.claimed(db)
    listeners = [Listener(api, timeline(api, claimed.lease.row_id)) for _ in range(10)]
    async with asyncio.TaskGroup() as group:
        for listener in listeners:
            group.create_task(listener.listen())
        for listener in listeners:
            await listener.until("snapshot")
        await apply_and_complete(db, claimed.lease)
        await relay_events(db, api.bus)
    assert {listener.names[-1] for listener in listeners} == {"end"}


async def test_a_quiet_stream_shows_that_it_lives(db: TestDatabase, nats: NatsRig) -> None:
    server = NatsServer("embedded", nats.nats_url, {})
    async with running_api(db, server, limits={"heartbeat_seconds": 0.1}) as api:
        task_id = await rows.created(db)
        listener = Listener(api, timeline(api, task_id))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(listener.listen())
            await eventually(lambda: [event.name for event in listener.events].count("comment") > 2)
            task.cancel()
        assert listener.names == ["snapshot"]


async def test_events_arrive_under_the_permissions_that_ship(db: TestDatabase, nats_server: NatsServer) -> None:
    publisher = await connect_bus(Identity(nats_server.url, nats_server.seeds.get("outbox")), "outbox")
    try:
        async with running_api(db, nats_server) as api:
            claimed = await rows.claimed(db)
            listener = Listener(api, timeline(api, claimed.lease.row_id))
            async with asyncio.TaskGroup() as group:
                group.create_task(listener.listen())
                await listener.until("snapshot")
                await apply_and_complete(db, claimed.lease)
                await relay_events(db, publisher)
                await listener.until("end")
    finally:
        await publisher.close()


@dataclass(frozen=True)
class Identity:
    nats_url: str
    nats_seed_file: Path | None
