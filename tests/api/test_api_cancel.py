import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.kernel import subjects
from locktender.runtime.connect import connect_bus
from locktender.testkit import rows
from locktender.testkit.api import GUEST_TOKEN, RunningApi, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import nats_rig
from locktender.testkit.servers import NatsServer


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


async def events(api: RunningApi, task_id: object) -> list[str]:
    answer = await api.http.get(api.path(f"/{task_id}/events"))
    return [event["kind"] for event in answer.json()["events"]]


async def cancel(api: RunningApi, task_id: object, status: int = 200) -> dict[str, Any]:
    answer = await api.http.post(api.path(f"/{task_id}/cancel"))
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_queued_task_is_cancelled_at_once(api: RunningApi) -> None:
    task_id = (await api.create())["task"]["id"]
    snapshot = await cancel(api, task_id)
    assert snapshot["task"]["status"] == "cancelled"
    assert snapshot["task"]["blockedBy"] is None
    assert [step["status"] for step in snapshot["timeline"]["steps"]] == ["skipped", "skipped"]


async def test_a_blocked_task_is_cancelled_at_once(api: RunningApi, module_db: TestDatabase) -> None:
    lease = await rows.task(module_db, status=TaskStatus.BLOCKED, epoch=1, timeline=rows.TIMELINE)
    assert (await cancel(api, lease.row_id))["task"]["status"] == "cancelled"


@pytest.mark.parametrize("begun", [False, True])
async def test_a_live_task_is_told_to_stop_once(api: RunningApi, module_db: TestDatabase, begun: bool) -> None:  # noqa: FBT001 - a parameter
    lease = await rows.applying(module_db) if begun else (await rows.claimed(module_db)).lease
    first = await cancel(api, lease.row_id)
    assert first["task"]["status"] == ("applying" if begun else "running")
    assert first["task"]["cancelRequestedAt"] is not None
    assert first["task"]["cancelRequestedBy"] == "admin"
    assert first["task"]["blockedBy"]["kind"] == "cancel"
    assert await cancel(api, lease.row_id) == first
    assert (await events(api, lease.row_id)).count("cancel-requested") == 1


async def test_twenty_cancels_at_once_record_one_request(api: RunningApi, module_db: TestDatabase) -> None:
    task_id = await rows.applying(module_db)
    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(cancel(api, task_id.row_id))
    assert (await events(api, task_id.row_id)).count("cancel-requested") == 1


async def test_a_cancelled_task_can_be_cancelled_again_without_a_second_event(api: RunningApi) -> None:
    task_id = (await api.create())["task"]["id"]
    assert await cancel(api, task_id) == await cancel(api, task_id)
    assert await events(api, task_id) == ["created", "cancelled"]


async def test_a_completed_task_cannot_be_cancelled_and_the_answer_shows_it(
    api: RunningApi, module_db: TestDatabase
) -> None:
    task_id = await rows.completed(module_db)
    problem = await cancel(api, task_id, 409)
    assert problem["type"] == "urn:locktender:problem:not-cancellable"
    assert problem["snapshot"] == (await api.http.get(api.path(f"/{task_id}"))).json()


async def test_a_failed_task_cannot_be_cancelled(api: RunningApi, module_db: TestDatabase) -> None:
    lease = await rows.task(module_db, status=TaskStatus.FAILED, epoch=2, timeline=rows.TIMELINE)
    assert (await cancel(api, lease.row_id, 409))["snapshot"]["task"]["failure"]["reason"] == "runner-error"


@pytest.mark.parametrize("task_id", ["01a22827-58f7-728c-a2f8-d9815004d62b", "nothing", "%00", "{0}"])
async def test_an_unknown_task_is_not_found(api: RunningApi, task_id: str) -> None:
    assert (await cancel(api, task_id, 404))["type"] == "urn:locktender:problem:not-found"


async def test_a_task_of_another_workspace_is_not_found_and_not_touched(api: RunningApi) -> None:
    task_id = (await api.create())["task"]["id"]
    for rest, method in ((f"/{task_id}", "GET"), (f"/{task_id}/cancel", "POST"), (f"/{task_id}/events", "GET")):
        assert (await api.http.request(method, api.path(rest, "other"))).status_code == 404
    assert (await api.http.get(api.path(f"/{task_id}"))).json()["task"]["status"] == "queued"


async def test_who_may_only_look_cannot_cancel(api: RunningApi) -> None:
    task_id = (await api.create())["task"]["id"]
    guest = {"Authorization": f"Bearer {GUEST_TOKEN}"}
    assert (await api.http.get(api.path(f"/{task_id}"), headers=guest)).status_code == 200
    assert (await api.http.post(api.path(f"/{task_id}/cancel"), headers=guest)).status_code == 403
    elsewhere = await api.http.get(api.path(workspace="other"), headers=guest)
    assert elsewhere.status_code == 404


async def test_the_runner_hears_of_a_cancel_at_once(db: TestDatabase) -> None:
    async with nats_rig() as rig:
        runner = await connect_bus(rig, "runner")
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def on_cancel(message: Any) -> None:
            heard.put_nowait(message.subject)

        await runner.subscribe(subjects.CANCELS, on_cancel)
        async with running_api(db, NatsServer("embedded", rig.nats_url, {})) as api:
            lease = await rows.applying(db)
            await cancel(api, lease.row_id)
            async with asyncio.timeout(5):
                assert await heard.get() == subjects.cancel(lease.row_id)
        await runner.close()
