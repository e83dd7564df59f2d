"""A reader of a stream is told every change or `resync`, whatever gets lost, late, twice or in the wrong order."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from locktender.contracts.kernel.ids import new_id
from locktender.testkit import rows
from locktender.testkit.api import RunningApi, relay_events, running_api, taken
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually, nats_rig
from locktender.testkit.proxy import TcpProxy
from locktender.testkit.servers import NatsServer
from locktender.testkit.streams import listening

pytestmark = pytest.mark.takes(seconds=20)

PROJECT = "/v1/workspaces/acme/projects/shop/deployment-tasks"
STREAM = f"{PROJECT}/stream"


@pytest.fixture
async def bus_server() -> AsyncGenerator[NatsServer]:
    """A server on which tests may publish events, too."""
    async with nats_rig() as rig:
        yield NatsServer("embedded", rig.nats_url, {})


@pytest.fixture
async def api(db: TestDatabase, bus_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(db, bus_server) as running:
        yield running


def timeline(api: RunningApi, task_id: object) -> str:
    return api.path(f"/{task_id}/timeline/stream")


async def publish(api: RunningApi, task_id: UUID, kind: str = "progressed", revision: int = 1) -> None:
    """An event as the relay would send it, whether or not it is true."""
    body = {
        "id": str(task_id), "workspace": "acme", "project": "shop", "phase": "queued", "status": "queued",
        "epoch": 0, "revision": revision, "at": "2030-01-01T00:00:00Z",
    }  # fmt: skip
    headers = {"lt-revision": str(revision), "content-type": "application/json"}
    if kind == "removed":
        headers["lt-tombstone"] = "true"
    await api.bus.publish(f"lt.evt.acme.deployments.{task_id}.{kind}", json.dumps(body).encode(), headers=headers)


async def remove(db: TestDatabase, task_id: UUID) -> None:
    await db.admin.execute("delete from locktender.deployment_task where id = $1", task_id)


async def forget_events(db: TestDatabase) -> None:
    """What is in the outbox is lost on its way."""
    await db.admin.execute("update locktender.outbox set published_at = locktender.now() where published_at is null")


async def shown(api: RunningApi) -> dict[str, Any]:
    return {each["id"]: each for each in (await api.http.get(PROJECT)).json()["projections"]}


def followed(events: list[Any]) -> dict[str, Any]:
    """What a client knows that does as the stream says."""
    known: dict[str, Any] = {}
    for event in events:
        data = json.loads(event.data) if event.data else {}
        match event.name:
            case "snapshot":
                known = {each["id"]: each for each in data["projections"]}
            case "upsert":
                known[data["projection"]["id"]] = data["projection"]
            case "remove":
                known.pop(data["id"], None)
            case _:
                pass
    return known


async def test_a_reader_that_comes_back_goes_on_where_it_was(api: RunningApi, db: TestDatabase) -> None:
    first, second = await rows.created(db), await rows.created(db)
    # Nothing has happened for a long time, and then a task moves and one is made while the reader is away.
    await db.advance(3600)
    async with listening(api, STREAM) as listener:
        await listener.until("snapshot")
    await db.writes.claim([first], rows.OWNER, 60)
    third = await rows.created(db)
    async with listening(api, STREAM, **{"Last-Event-ID": listener.last_id}) as back:
        await back.until("upsert", 2)
        assert set(back.names) == {"upsert"}
        assert {each["projection"]["id"] for each in back.told("upsert")} == {str(first), str(third)}
        assert followed([*listener.events, *back.events]) == await shown(api)
        assert str(second) in followed(listener.events)


async def test_a_reader_that_missed_a_removal_is_told_to_begin_anew(api: RunningApi, db: TestDatabase) -> None:
    await rows.created(db)
    gone = await rows.created(db)
    [snapshot] = await taken(api.stream(STREAM), 1)
    await remove(db, gone)
    back = await taken(api.stream(STREAM, **{"Last-Event-ID": str(snapshot.id)}), 2)
    assert [event.name for event in back] == ["resync", "snapshot"]
    assert followed(back) == await shown(api)


@pytest.mark.parametrize("last", ["7", "nonsense", "9999999999999999-0-0", "0-101-0", "1-1-ff"])
async def test_an_id_that_leads_nowhere_is_answered_with_everything(
    api: RunningApi, db: TestDatabase, last: str
) -> None:
    await rows.created(db)
    names = [event.name for event in await taken(api.stream(STREAM, **{"Last-Event-ID": last}), 2)]
    assert names == ["resync", "snapshot"]


async def test_a_change_whose_event_was_lost_is_told_all_the_same(api: RunningApi, db: TestDatabase) -> None:
    claimed, gone = await rows.claimed(db), await rows.created(db)
    async with listening(api, STREAM) as project, listening(api, timeline(api, claimed.lease.row_id)) as task:
        await project.until("snapshot")
        await task.until("snapshot")
        await db.writes.begin_applying(claimed.lease, rows.told(), timeline=rows.TIMELINE)
        await remove(db, gone)
        await forget_events(db)
        await task.until("update")
        await project.until("remove")
        await project.until("upsert")
        assert followed(project.events) == await shown(api)
        assert project.names.count("snapshot") == 1


async def test_a_removal_is_not_undone_by_a_read_that_began_before(db: TestDatabase, bus_server: NatsServer) -> None:
    gone, stays = await rows.created(db), await rows.created(db)
    async with (
        proxied(db) as (proxy, behind),
        running_api(behind, bus_server) as api,
        listening(api, STREAM) as listener,
    ):
        await listener.until("snapshot")
        await db.writes.claim([gone], rows.OWNER, 60)
        await forget_events(db)
        began = await db.admin.fetchval("select clock_timestamp()")
        proxy.latency(1.0)
        await publish(api, gone, revision=2)
        await eventually(lambda: db.admin.fetchval(_READ_SINCE, began))
        # The task is running in the answer that is on its way, and by now it is no longer there.
        proxy.blackhole()
        await remove(db, gone)
        await publish(api, gone, "removed", revision=3)
        await api.bus.client.flush()
        await asyncio.sleep(0.1)
        await proxy.heal()
        await listener.until("remove")
        await db.writes.claim([stays], rows.OWNER, 60)
        await relay_events(db, api.bus)
        await listener.until("upsert")
        assert listener.names == ["snapshot", "remove", "upsert"]
        assert set(followed(listener.events)) == {str(stays)}


_READ_SINCE = """select exists (
  select from pg_stat_activity where application_name = 'locktender-api' and state = 'idle' and query_start > $1
    and query like '%display_name%' and datname = current_database())"""


async def test_events_that_come_twice_late_or_for_nothing_change_nothing(api: RunningApi, db: TestDatabase) -> None:
    claimed = await rows.claimed(db)
    await relay_events(db, api.bus)
    async with listening(api, STREAM) as project, listening(api, timeline(api, claimed.lease.row_id)) as task:
        await project.until("snapshot")
        await task.until("snapshot")
        for revision in (2, 1, 2, 1):
            await publish(api, claimed.lease.row_id, revision=revision)
        await publish(api, new_id())
        await publish(api, new_id(), "removed")
        await db.writes.begin_applying(claimed.lease, rows.told(), timeline=rows.TIMELINE)
        await relay_events(db, api.bus)
        await project.until("upsert")
        await task.until("update")
        assert (project.names, task.names) == (["snapshot", "upsert"], ["snapshot", "update"])


async def test_a_reader_that_cannot_keep_up_begins_anew(api: RunningApi, db: TestDatabase) -> None:
    task_id = await rows.created(db)
    async with listening(api, STREAM) as listener:
        await listener.until("snapshot")
        async with db.admin.transaction():
            # While its look has to wait, more happens than is kept for one reader.
            await db.admin.execute("lock table locktender.deployment_task in access exclusive mode")
            await publish(api, task_id)
            for _ in range(300):
                await publish(api, new_id())
            await api.bus.client.flush()
            await asyncio.sleep(0.3)
        await listener.until("resync")
        await listener.until("snapshot", 2)
        assert followed(listener.events) == await shown(api)


async def test_a_record_that_cannot_be_read_is_said_and_then_told_whole(
    db: TestDatabase, bus_server: NatsServer
) -> None:
    task_id = await rows.created(db)
    async with (
        proxied(db) as (proxy, behind),
        running_api(behind, bus_server) as api,
        listening(api, STREAM) as project,
        listening(api, timeline(api, task_id)) as task,
    ):
        await project.until("snapshot")
        await task.until("snapshot")
        await proxy.cut()
        # Nobody has to do anything for the readers to learn it.
        await project.until("error")
        await task.until("error")
        await db.writes.claim([task_id], rows.OWNER, 60)
        await proxy.heal()
        await project.until("upsert")
        await task.until("update")
        assert followed(project.events)[str(task_id)]["status"] == "running"


async def test_a_project_whose_events_stop_is_looked_at_and_begins_anew_afterwards(
    db: TestDatabase, bus_server: NatsServer
) -> None:
    address = urlsplit(bus_server.url)
    async with TcpProxy(address.hostname or "", address.port or 0) as proxy:
        between = dataclasses.replace(bus_server, url=f"nats://127.0.0.1:{proxy.port}")
        async with running_api(db, between) as api, listening(api, STREAM) as listener:
            await listener.until("snapshot")
            await proxy.cut()
            await listener.until("degraded")
            await rows.created(db)
            await listener.until("upsert")
            await proxy.heal()
            await listener.until("snapshot", 2)
            assert listener.names == ["snapshot", "degraded", "upsert", "resync", "snapshot"]
            assert followed(listener.events) == await shown(api)


async def test_the_id_of_a_quiet_stream_moves_on_with_its_heartbeat(db: TestDatabase, bus_server: NatsServer) -> None:
    async with running_api(db, bus_server, limits={"heartbeat_seconds": 0.1}) as api, listening(api, STREAM) as quiet:
        await quiet.until("snapshot")
        first = quiet.last_id
        await rows.created(db)
        await relay_events(db, api.bus)
        await quiet.until("upsert")
        await eventually(lambda: quiet.last_id.partition("-")[0] > (first.partition("-")[0] or "0"))
        async with listening(api, STREAM, **{"Last-Event-ID": quiet.last_id}) as back:
            await eventually(lambda: [event.name for event in back.events].count("comment") > 0)
            assert "snapshot" not in back.names


@asynccontextmanager
async def proxied(db: TestDatabase) -> AsyncGenerator[tuple[TcpProxy, TestDatabase]]:
    """The same database by a way that can be broken."""
    address = urlsplit(db.dsn)
    async with TcpProxy(address.hostname or "", address.port or 0) as proxy:
        dsn = address._replace(netloc=f"{address.netloc.rpartition('@')[0]}@127.0.0.1:{proxy.port}").geturl()
        yield proxy, dataclasses.replace(db, dsn=dsn)
