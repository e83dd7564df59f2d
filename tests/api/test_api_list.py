from collections.abc import AsyncGenerator
from typing import Any

import pytest

from locktender.contracts.deployments.flow import TaskStatus
from locktender.testkit import rows
from locktender.testkit.api import RunningApi, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


async def page(api: RunningApi, workspace: str, **parameters: Any) -> dict[str, Any]:
    answer = await api.http.get(api.path(workspace=workspace), params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_pages_have_no_gap_and_no_duplicate_while_tasks_are_added(api: RunningApi) -> None:
    there = [(await api.create("paged"))["task"]["id"] for _ in range(11)]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    for _ in range(10):
        answer = await page(api, "paged", limit=3, **cursor)
        seen += [task["id"] for task in answer["tasks"]]
        await api.create("paged")
        if answer["nextCursor"] is None:
            break
        cursor = {"cursor": answer["nextCursor"]}
    assert seen == there[::-1]


async def test_tasks_are_filtered_by_status_and_project(api: RunningApi, module_db: TestDatabase) -> None:
    queued = await rows.created(module_db, workspace="filtered")
    other = await rows.created(module_db, workspace="filtered", project="other")
    running = (await rows.claimed(module_db, workspace="filtered")).lease.row_id
    done = await rows.completed(module_db, workspace="filtered")

    async def ids(**parameters: Any) -> set[str]:
        return {task["id"] for task in (await page(api, "filtered", **parameters))["tasks"]}

    assert await ids() == {str(each) for each in (queued, other, running, done)}
    assert await ids(status="queued") == {str(queued), str(other)}
    assert await ids(status=["running", "completed"]) == {str(running), str(done)}
    assert await ids(status="queued", project="other") == {str(other)}
    assert await ids(status="cancelled") == set()


async def test_a_cursor_is_good_for_its_own_list_only(api: RunningApi) -> None:
    for _ in range(3):
        await api.create("cursors")
    cursor = (await page(api, "cursors", limit=1))["nextCursor"]
    assert await page(api, "cursors", limit=1, cursor=cursor)
    for workspace, parameters in (
        ("elsewhere", {"cursor": cursor}),
        ("cursors", {"cursor": cursor, "status": "queued"}),
        ("cursors", {"cursor": cursor, "project": "shop"}),
    ):
        answer = await api.http.get(api.path(workspace=workspace), params=parameters)
        assert (answer.status_code, answer.json()["type"]) == (400, "urn:locktender:problem:invalid-cursor")


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "é", "A" * 54, "A" * 10_000, "%00"])
async def test_a_cursor_that_is_not_ours_is_refused(api: RunningApi, cursor: str) -> None:
    answer = await api.http.get(api.path(), params={"cursor": cursor})
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:locktender:problem:invalid-cursor")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0", "limit=201", "limit=x", "limit=", "limit=1&limit=2", "limit=%00", "limit=-1", "limit=1e2",
        "status=unknown", "status=", "status=queued&status=x", "project=%00", "project=A", "project=",
    ],
)  # fmt: skip
async def test_bad_parameters_are_refused(api: RunningApi, query: str) -> None:
    answer = await api.http.get(f"{api.path()}?{query}")
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:locktender:problem:invalid-request")


async def test_events_above_a_revision_come_oldest_first(api: RunningApi, module_db: TestDatabase) -> None:
    task_id = await rows.completed(module_db, workspace="acme")

    async def found(**parameters: int) -> list[tuple[int, str]]:
        answer = await api.http.get(api.path(f"/{task_id}/events"), params=parameters)
        return [(event["revision"], event["kind"]) for event in answer.json()["events"]]

    whole = [(1, "created"), (2, "started"), (3, "applying"), (4, "completed")]
    assert await found() == whole
    assert await found(after=2) == whole[2:]
    assert await found(after=1, limit=1) == whole[1:2]
    assert await found(after=4) == []


async def test_a_run_that_was_cut_off_shows_no_movement(api: RunningApi, module_db: TestDatabase) -> None:
    timeline = (
        '{"revision": 1, "steps": [{"id": "a", "label": "A", "status": "running"}], "cards": '
        '[{"index": 0, "ref": {"apiVersion": "v1", "kind": "Service", "name": "a"}, "apply": "applying"}]}'
    )
    lease = await rows.task(module_db, status=TaskStatus.FAILED, epoch=1, timeline=timeline)
    shown = (await api.http.get(api.path(f"/{lease.row_id}"))).json()["timeline"]
    assert shown["steps"][0]["status"] == "failed"
    assert (shown["cards"][0]["apply"], shown["cards"][0]["status"]) == ("applying", "unknown")
