"""Deployments of stacks, followed: the record at once, every change of it, and its end, whatever the bus does."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from locktender.testkit.api import GUEST_TOKEN, relay_events, taken
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually, nats_rig
from locktender.testkit.servers import NatsServer
from locktender.testkit.stack_knowledge import KnowledgeApi, knowledge_api
from locktender.testkit.stack_reading import SOURCE
from locktender.testkit.stacks import APPLIED, StackRig, new_stack, planned
from locktender.testkit.streams import Listener


@pytest.fixture
async def api(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[KnowledgeApi]:
    async with knowledge_api(db, nats_server) as running:
        yield running


@asynccontextmanager
async def following(api: KnowledgeApi, rig: StackRig, number: int = 1, **headers: str) -> AsyncGenerator[Listener]:
    """A listener that reads for as long as the block lasts."""
    listener = Listener(api, await api.path(rig, f"/deployments/{number}/stream"), **headers)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.listen())
        yield listener
        task.cancel()


async def deploy(rig: StackRig) -> UUID:
    return await rig.deploy(source=SOURCE)


def shows(listener: Listener, status: str) -> Callable[[], bool]:
    def last() -> bool:
        views = listener.told("snapshot") + listener.told("update")
        return any(view["status"] == status for view in views)

    return last


async def test_a_stream_tells_what_is_what_becomes_and_the_end(api: KnowledgeApi, db: TestDatabase) -> None:
    rig = await new_stack(db, auto_approve="auto")
    key = await deploy(rig)
    async with following(api, rig) as listener:
        first = await listener.until("snapshot")
        assert (first.id, listener.told("snapshot")[0]["status"]) == ("2", "pending")
        run = await rig.take(key)
        await relay_events(db, api.outbox)
        await eventually(shows(listener, "planning"))
        await rig.report(run, planned())
        await relay_events(db, api.outbox)
        await eventually(shows(listener, "applying"))
        assert len(listener.told("update")[-1]["stages"]) == 2
        await rig.plan(key, APPLIED)
        await relay_events(db, api.outbox)
        await eventually(lambda: listener.ended)
    assert (listener.told("end"), listener.names[-2:]) == ([{"status": "finished"}], ["update", "end"])
    revisions = [int(event.id) for event in listener.events if event.id]
    assert revisions == sorted(revisions)
    assert listener.last_id == str((await rig.deployment(key))["revision"])
    path = await api.path(rig, "/deployments/1/stream")
    again = await taken(api.stream(path, **{"Last-Event-ID": "2"}), 9)
    assert [event.name for event in again] == ["snapshot", "end"]


async def test_who_waits_hears_of_the_one_ahead(api: KnowledgeApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    ahead, _ = await deploy(rig), await deploy(rig)
    async with following(api, rig, 2) as listener:
        await listener.until("snapshot")
        before = listener.told("snapshot")[0]["blockedBy"]["message"]
        await rig.take(ahead)
        await relay_events(db, api.outbox)
        await listener.until("update")
    shown = listener.told("update")[0]
    assert (shown["status"], shown["revision"]) == ("queued", listener.told("snapshot")[0]["revision"])
    assert "planning" in shown["blockedBy"]["message"] != before


async def test_what_no_event_told_is_noticed_and_a_stack_that_goes_ends_it(
    db: TestDatabase, nats_server: NatsServer
) -> None:
    async with knowledge_api(db, nats_server, calm=0.5) as api:
        rig = await new_stack(db)
        key = await deploy(rig)
        async with following(api, rig) as listener:
            await listener.until("snapshot")
            run = await rig.take(key)
            await eventually(shows(listener, "planning"))
            await rig.report(run, planned(changes=False))
            await eventually(lambda: listener.ended)
        assert listener.names[-1] == "end"
        waiting = await deploy(rig)
        await rig.plan(waiting)
        async with following(api, rig, 2) as gone:
            await gone.until("snapshot")
            await db.admin.execute("update locktender.stack set deleted_at = now() where id = $1", rig.stack_id)
            await eventually(lambda: gone.ended)
        assert gone.told("removed") == [{"id": str(waiting)}]


async def test_a_stream_goes_on_from_the_record_while_the_bus_is_away(db: TestDatabase) -> None:
    async with nats_rig() as nats, knowledge_api(db, NatsServer("embedded", nats.nats_url, {}), calm=0.5) as api:
        rig = await new_stack(db)
        key = await deploy(rig)
        async with following(api, rig) as listener:
            await listener.until("snapshot")
            await nats.kill()
            await listener.until("degraded")
            await rig.take(key)
            await eventually(shows(listener, "planning"))
            await nats.start()
            await listener.until("snapshot", 2)
        assert [listener.names[0], listener.names[-1]] == ["snapshot", "snapshot"]
        async with following(api, rig) as other:
            await nats.kill()
            await other.until("degraded")


async def test_many_streams_share_one_subscription_and_end_with_the_process(
    db: TestDatabase, nats_server: NatsServer
) -> None:
    async with knowledge_api(db, nats_server, most_streams=50, heartbeat=0.3) as api:
        rig = await new_stack(db)
        key = await deploy(rig)
        path = await api.path(rig, "/deployments/1/stream")
        listeners = [Listener(api, path) for _ in range(50)]
        async with asyncio.TaskGroup() as group:
            for listener in listeners:
                group.create_task(listener.listen())
            await eventually(lambda: all("snapshot" in each.names for each in listeners))
            assert [event.name for event in await taken(api.stream(path), 9)] == ["error"]
            await eventually(lambda: all("comment" in [e.name for e in each.events] for each in listeners))
            before = api.bus.client.stats["in_msgs"]
            await rig.take(key)
            told = await relay_events(db, api.outbox)
            await eventually(lambda: all("update" in each.names for each in listeners))
            assert api.bus.client.stats["in_msgs"] - before <= told
            api.side.close()
        assert {name for each in listeners for name in each.names} == {"snapshot", "update"}
        await eventually(lambda: api.side.bells.streams == 0)


async def test_a_deployment_is_followed_by_those_who_may_and_at_its_own_place(
    api: KnowledgeApi, db: TestDatabase
) -> None:
    rig = await new_stack(db)
    await deploy(rig)
    path = await api.path(rig, "/deployments/1/stream")
    for wrong in (path.replace("acme", "else"), path.replace("/1/", "/2/"), path.replace("/1/", "/x/")):
        assert (await api.http.get(wrong)).status_code == 404
    assert (await api.http.get(path, headers={"Authorization": "Bearer no"})).status_code == 401
    guest = {"Authorization": f"Bearer {GUEST_TOKEN}"}
    assert [event.name for event in await taken(api.stream(path, **guest), 1)] == ["snapshot"]
