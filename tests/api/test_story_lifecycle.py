"""What time does to deployments, as people see it through HTTP: interrupted, overrun, waiting, noticed, removed."""

from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

import pytest

from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.contracts.kernel.faults import NO_FAULTS
from locktender.reaper.clock_guard import ClockGuard
from locktender.reaper.reaper import Reaper
from locktender.reaper.settings import ReaperSettings
from locktender.reaper.sweeps import sweeps
from locktender.storage.outbox.relay import Relay
from locktender.testkit import rows
from locktender.testkit.api import NOOP, RunningApi, relay_events, running_api
from locktender.testkit.clock import FakeClock
from locktender.testkit.database import TestDatabase
from locktender.testkit.endings import purge
from locktender.testkit.nats_rig import nats_rig
from locktender.testkit.servers import NatsServer
from locktender.testkit.streams import listening

PROJECT = "/v1/workspaces/acme/projects/shop/deployment-tasks"
DAY = 86_400.0
CARD = '{"index": %d, "ref": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c%d"}, "apply": "%s"}'


@pytest.fixture
async def bus_server() -> AsyncGenerator[NatsServer]:
    """A server on which tests may publish events, too."""
    async with nats_rig() as rig:
        yield NatsServer("embedded", rig.nats_url, {})


@pytest.fixture
async def api(db: TestDatabase, bus_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(db, bus_server) as running:
        yield running


async def shown(api: RunningApi, task_id: UUID) -> dict[str, Any]:
    answer = await api.http.get(api.path(f"/{task_id}"))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def projected(api: RunningApi) -> dict[str, dict[str, Any]]:
    """What the canvas and the dock of the project are told."""
    return {each["id"]: each for each in (await api.http.get(PROJECT)).json()["projections"]}


async def attention(api: RunningApi, task: dict[str, Any]) -> str:
    """How long a task asks to be noticed, as the table says that clients go by."""
    table = (await api.http.get("/v1/presentation")).json()["states"]
    return next(each["attention"] for each in table if each["state"] == task["presentation"])


async def sweep(db: TestDatabase) -> None:
    """One pass of the reaper, with the deadlines that ship."""
    settings = ReaperSettings(database_url=db.dsn, nats_url="nats://unused")
    chosen = sweeps(db.database, settings.deadlines, limit=200, forget=settings.reaper_forget_seconds)
    guard, now = ClockGuard(tolerance=1e9, hold=0), Relay(db.database).now
    reaper = Reaper(chosen, guard, now, FakeClock(), NO_FAULTS, moved=lambda: None, healthy_seconds=30)
    await reaper.sweep()


@pytest.mark.story(1)
async def test_a_deployment_whose_runner_is_gone_is_told_as_interrupted_and_shows_no_movement(
    api: RunningApi, db: TestDatabase
) -> None:
    lease = await rows.applying(db, ttl=60)
    cards = ", ".join(CARD % (index, index, state) for index, state in enumerate(("applied", "applying", "pending")))
    steps = '[{"id": "create-resources", "label": "Create resources", "status": "running"}]'
    timeline = f'{{"revision": 1, "steps": {steps}, "cards": [{cards}]}}'
    await db.writes.record(lease, rows.told(), phase="apply", timeline=timeline)
    await db.advance(61)
    await sweep(db)
    snapshot = await shown(api, lease.row_id)
    task = snapshot["task"]
    assert (task["status"], task["failure"]["reason"], task["blockedBy"]) == ("failed", "interrupted", None)
    assert task["failure"]["message"]
    assert [card["apply"] for card in snapshot["timeline"]["cards"]] == ["applied", "applying", "not-applied"]
    assert [step["status"] for step in snapshot["timeline"]["steps"]] == ["failed"]
    last = snapshot["events"][-1]
    assert (last["kind"], last["actor"], last["payload"]["reason"]) == ("engine-resolved", "reaper", "interrupted")


@pytest.mark.story(13)
async def test_a_deployment_that_waits_for_a_person_waits_for_a_year_and_keeps_its_reminder(
    api: RunningApi, db: TestDatabase
) -> None:
    task_id = await rows.blocked(db)
    before = (await shown(api, task_id))["task"]
    assert before["deadlineAt"] is None
    await db.advance(365 * DAY)
    await sweep(db)
    after = await shown(api, task_id)
    assert after["task"] == before
    assert (await attention(api, after["task"]), (await projected(api))[str(task_id)]["visible"]) == ("always", True)
    assert after["task"]["actions"] == ["cancel", "input"]


@pytest.mark.story(21)
async def test_a_finished_deployment_is_gone_from_every_page_after_thirty_days_and_not_before(
    api: RunningApi, db: TestDatabase
) -> None:
    task_id = await rows.failed(db)
    await db.advance(30 * DAY - 60)
    await sweep(db)
    assert await jobs(db) == []
    await db.advance(120)
    await sweep(db)
    assert await jobs(db) == [task_id]
    # Planned is not removed: until the very removal everything answers.
    assert (await shown(api, task_id))["task"]["status"] == "failed"
    await db.admin.execute("delete from locktender.cleanup_job")
    await purge(db, task_id)
    for path in ("", "/events", "/plan", "/source", "/redeploy"):
        assert (await api.http.get(api.path(f"/{task_id}{path}"))).status_code == 404
    assert (await api.http.post(api.path(f"/{task_id}/cancel"))).status_code == 404
    assert (await api.http.get(api.path())).json()["tasks"] == []
    assert await projected(api) == {}


async def jobs(db: TestDatabase) -> list[UUID]:
    """What retention has planned to remove."""
    return [row["subject_id"] for row in await db.admin.fetch("select subject_id from locktender.cleanup_job")]


@pytest.mark.story(22)
async def test_a_failed_deployment_asks_to_be_noticed_until_it_is_redeployed(api: RunningApi, db: TestDatabase) -> None:
    task_id = await rows.failed(db)
    await db.advance(7 * DAY)
    await sweep(db)
    failed = (await projected(api))[str(task_id)]
    assert (await attention(api, failed), failed["supersededBy"]) == ("until-dismissed-or-superseded", None)
    assert failed["actions"] == ["redeploy", "dismiss"]
    answer = await api.http.post(api.path(), json={"predecessorTaskId": str(task_id)})
    assert answer.status_code == 201, answer.text
    assert (await projected(api))[str(task_id)]["supersededBy"] == answer.json()["task"]["id"]


@pytest.mark.story(23)
async def test_a_deployment_that_one_cancelled_oneself_is_noticed_once_and_then_forgotten(
    api: RunningApi, db: TestDatabase
) -> None:
    task_id = await rows.created(db)
    task = (await api.http.post(api.path(f"/{task_id}/cancel"))).json()["task"]
    assert (await attention(api, task), task["actions"], task["failure"]) == ("notice", ["redeploy", "dismiss"], None)
    assert not (await projected(api))[str(task_id)]["visible"]


@pytest.mark.story(25)
async def test_what_can_be_done_is_offered_wherever_a_deployment_is_shown_and_works_there(
    api: RunningApi, db: TestDatabase
) -> None:
    for status in TaskStatus:
        task_id = (await rows.task(db, status=status, epoch=1)).row_id
        task, chip = (await shown(api, task_id))["task"], (await projected(api))[str(task_id)]
        assert task["actions"] == chip["actions"]
        assert ("cancel" in chip["actions"]) == (status not in DEPLOYMENT_TASK.terminal)
        assert ("redeploy" in chip["actions"]) == (status in {TaskStatus.FAILED, TaskStatus.CANCELLED})
        outlook = (await api.http.get(api.path(f"/{task_id}/redeploy"))).json()
        assert outlook["allowed"] == ("redeploy" in chip["actions"])
        stopped = await api.http.post(api.path(f"/{task_id}/cancel"))
        # Cancelling what is cancelled is no use, and no error either.
        assert stopped.is_success == ("cancel" in chip["actions"] or status is TaskStatus.CANCELLED)


@pytest.mark.story(27)
async def test_a_deployment_from_the_chat_is_the_same_one_on_the_canvas(api: RunningApi, db: TestDatabase) -> None:
    async with listening(api, f"{PROJECT}/stream") as canvas:
        await canvas.until("snapshot")
        answer = await api.http.post(api.path(), json=NOOP, headers={"Locktender-Client": "chat"})
        task = answer.json()["task"]
        await relay_events(db, api.bus)
        await canvas.until("upsert")
        assert (task["createdFrom"], task["status"]) == ("chat", "queued")
        cancelled = await api.http.post(api.path(f"/{task['id']}/cancel"), headers={"Locktender-Client": "chat"})
        await relay_events(db, api.bus)
        await canvas.until("upsert", 2)
        told = canvas.told("upsert")[-1]["projection"]
    # What the chat explains it by is what everybody reads.
    assert (told["id"], told["status"]) == (task["id"], "cancelled")
    assert cancelled.json() == await shown(api, UUID(task["id"]))
    assert cancelled.json()["events"][-1]["message"] == "cancelled by admin before anything was applied"


@pytest.mark.story(32)
async def test_progress_is_told_by_every_process_of_the_api(
    api: RunningApi, db: TestDatabase, bus_server: NatsServer
) -> None:
    async with running_api(db, bus_server, instance="api-2") as second:
        snapshot = await api.create()
        task_id = UUID(snapshot["task"]["id"])
        async with (
            listening(second, second.path(f"/{task_id}/timeline/stream")) as there,
            listening(api, api.path(f"/{task_id}/timeline/stream")) as here,
        ):
            for each in (there, here):
                await each.until("snapshot")
            writes = db.writes
            [claimed] = await writes.claim([task_id], rows.OWNER, 60)
            await relay_events(db, api.bus)
            for each in (there, here):
                await each.until("update")
            await second.http.post(second.path(f"/{task_id}/cancel"))
            await relay_events(db, api.bus)
            await writes.acknowledge_cancel(claimed.lease, rows.told(), timeline=rows.TIMELINE)
            await relay_events(db, api.bus)
            for each in (there, here):
                await each.until("end")
        told = [[each["task"]["status"] for each in listener.told("update")] for listener in (there, here)]
        assert [each[-1] for each in told] == ["cancelled", "cancelled"]


@pytest.mark.story(33)
async def test_a_run_that_never_ends_is_failed_after_half_an_hour_although_its_runner_lives(
    api: RunningApi, db: TestDatabase
) -> None:
    writes = db.writes
    lease = await rows.applying(db, ttl=100_000)
    assert (await shown(api, lease.row_id))["task"]["deadlineAt"] is not None
    await db.advance(1799)
    await sweep(db)
    assert (await shown(api, lease.row_id))["task"]["status"] == "applying"
    [renewed] = await writes.renew([lease], 100_000)
    assert renewed.held
    await db.advance(2)
    await sweep(db)
    task = (await shown(api, lease.row_id))["task"]
    assert (task["status"], task["failure"]["reason"]) == ("failed", "timeout")


@pytest.mark.story(33)
async def test_time_spent_waiting_for_a_person_does_not_count_as_running(api: RunningApi, db: TestDatabase) -> None:
    writes = db.writes
    task_id = await rows.blocked(db)
    await db.advance(3600)
    await writes.submit_input(task_id, "ada", "api-1", rows.told(actor="api"))
    [claimed] = await writes.claim([task_id], rows.OWNER, 100_000)
    await db.advance(1700)
    await sweep(db)
    assert (await shown(api, claimed.lease.row_id))["task"]["status"] == "running"


@pytest.mark.story(8)
async def test_a_cancel_that_nobody_hears_ends_as_cancelled_after_its_deadline(
    api: RunningApi, db: TestDatabase
) -> None:
    lease = await rows.applying(db, ttl=100_000)
    asked = (await api.http.post(api.path(f"/{lease.row_id}/cancel"))).json()["task"]
    assert (asked["presentation"], asked["status"]) == ("cancelling", "applying")
    await db.advance(91)
    await sweep(db)
    task = (await shown(api, lease.row_id))["task"]
    assert (task["status"], task["failure"]) == ("cancelled", None)
