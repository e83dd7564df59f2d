"""Somebody watches a project: what its canvas and its dock are told is true, whole, and never made by the looking."""

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from typing import Any
from uuid import UUID

import pytest

from locktender.contracts.kernel.ids import new_id
from locktender.testkit import rows
from locktender.testkit.api import GUEST_TOKEN, RunningApi, relay_events, running_api, taken
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import nats_rig
from locktender.testkit.servers import NatsServer
from locktender.testkit.streams import listening

PROJECT = "/v1/workspaces/acme/projects/shop/deployment-tasks"
STREAM = f"{PROJECT}/stream"
GUEST = {"Authorization": f"Bearer {GUEST_TOKEN}"}


@pytest.fixture
async def bus_server() -> AsyncGenerator[NatsServer]:
    """A server on which tests may publish events, too."""
    async with nats_rig() as rig:
        yield NatsServer("embedded", rig.nats_url, {})


@pytest.fixture
async def api(db: TestDatabase, bus_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(db, bus_server) as running:
        yield running


def card(name: str, apply: str = "applied", status: str = "running", kind: str = "Deployment") -> dict[str, Any]:
    ref = {"apiVersion": "apps/v1", "kind": kind, "namespace": "shop", "name": name}
    return {"index": 0, "ref": ref, "required": True, "apply": apply, "status": status}


def timeline(*cards: dict[str, Any]) -> str:
    return json.dumps({"revision": 1, "steps": [], "cards": cards})


DONE = timeline(card("web"), card("web", kind="Service"))


async def completed(db: TestDatabase, text: str = DONE, **stated: Any) -> UUID:
    lease = await rows.applying(db, runner="direct", **stated)
    await db.writes.complete(lease, rows.told(), timeline=text)
    return lease.row_id


async def listed(api: RunningApi) -> list[dict[str, Any]]:
    answer = await api.http.get(PROJECT)
    assert answer.status_code == 200, answer.text
    return answer.json()["projections"]


async def one(api: RunningApi, task_id: UUID) -> dict[str, Any]:
    [found] = [each for each in await listed(api) if each["id"] == str(task_id)]
    return found


@pytest.mark.story(25)
async def test_a_client_learns_from_the_api_how_to_show_each_state(api: RunningApi, db: TestDatabase) -> None:
    answer = await api.http.get("/v1/presentation", headers={"Authorization": ""})
    table = {each["state"]: each for each in answer.json()["states"]}
    assert (table["blocked"]["hue"], table["blocked"]["attention"]) == ("amber", "always")
    assert table["failed"]["actions"] == ["redeploy", "dismiss"]
    again = await api.http.get("/v1/presentation", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    claim = await rows.claimed(db)
    await db.writes.request_cancel(claim.lease.row_id, "ada", rows.told())
    for made in (rows.created, rows.blocked, rows.failed, rows.completed):
        await made(db)
    for shown in await listed(api):
        assert shown["actions"] == table[shown["presentation"]]["actions"]
        task = (await api.http.get(api.path(f"/{shown['id']}"))).json()["task"]
        assert (task["presentation"], task["actions"]) == (shown["presentation"], shown["actions"])
    assert (await one(api, claim.lease.row_id))["presentation"] == "cancelling"


async def test_a_project_lists_its_tasks_in_few_words(api: RunningApi, db: TestDatabase) -> None:
    long = "a" * 60
    lease = await rows.applying(db, runner="direct")
    told = timeline(card(long), card("web", apply="pending", status="pending", kind="Service"))
    await db.writes.record(lease, rows.told(), phase="apply", timeline=told)
    await rows.created(db, project="other")
    await rows.created(db, workspace="umbrella")
    [shown] = await listed(api)
    assert shown["display"] == {
        "sourceKind": "manifests",
        "sourceSummary": f"Deployment {'a' * 25}… and 1 more",
        "resultSummary": f"Deployment {'a' * 36}…",
    }
    assert {len(shown["display"][each]) for each in ("sourceSummary", "resultSummary")} == {48}
    assert [each["ref"]["name"] for each in shown["resources"]] == [long]
    assert (shown["ready"], shown["total"], shown["workspace"], shown["project"]) == (1, 2, "acme", "shop")


async def test_a_completed_task_stays_on_the_canvas_for_a_minute_of_the_databases_clock(
    api: RunningApi, db: TestDatabase
) -> None:
    with_results, without = await completed(db), await completed(db, rows.TIMELINE)
    failed, active = await rows.failed(db), await rows.blocked(db)
    [cancelled] = [await rows.created(db)]
    await db.writes.cancel(cancelled, "ada", rows.told())
    shown = {each["id"]: each["visible"] for each in await listed(api)}
    assert [shown[str(each)] for each in (with_results, active, without, failed, cancelled)] == [True] * 2 + [False] * 3
    await db.advance(59)
    assert (await one(api, with_results))["visible"]
    await db.advance(1)
    gone = await one(api, with_results)
    assert (gone["visible"], gone["status"]) == (False, "completed")
    assert (await one(api, active))["visible"]


async def test_the_end_of_the_grace_is_told_although_nothing_is_written(
    db: TestDatabase, bus_server: NatsServer
) -> None:
    async with running_api(db, bus_server, limits={"grace_seconds": 1.0}) as api, listening(api, STREAM) as listener:
        await listener.until("snapshot")
        task_id = await completed(db)
        await relay_events(db, api.bus)
        await listener.until("upsert", 2)
        first, last = [each["projection"] for each in listener.told("upsert")]
        assert (first["visible"], last["visible"]) == (True, False)
        assert (first["revision"], first["updatedAt"]) == (last["revision"], last["updatedAt"])
        assert last["id"] == str(task_id)


async def test_whoever_looks_writes_nothing(db: TestDatabase, bus_server: NatsServer) -> None:
    task_id, ended = await rows.blocked(db), await completed(db)
    await db.admin.execute(f"alter database {db.name} set default_transaction_read_only = on")
    async with running_api(db, bus_server) as api:
        # A read that wrote would be refused by this database.
        for path in ("", f"/{task_id}", f"/{task_id}/events"):
            assert (await api.http.get(api.path(path))).status_code == 200
        assert len(await listed(api)) == 2
        assert [event.name for event in await taken(api.stream(STREAM), 1)] == ["snapshot"]
        ending = await taken(api.stream(api.path(f"/{ended}/timeline/stream")), 9)
        assert [event.name for event in ending] == ["snapshot", "end"]
        refused = await api.http.post(api.path(), json={"source": {"kind": "noop"}})
        assert refused.status_code == 503


@pytest.mark.story(24)
async def test_a_redeploy_takes_the_reminder_off_its_predecessor(api: RunningApi, db: TestDatabase) -> None:
    failed = await rows.failed(db)
    await relay_events(db, api.bus)
    async with listening(api, STREAM) as listener:
        await listener.until("snapshot")
        successor = await rows.created(db, predecessor_id=failed)
        await relay_events(db, api.bus)
        await listener.until("upsert", 2)
        told = {each["projection"]["id"]: each["projection"] for each in listener.told("upsert")}
        assert told[str(failed)]["supersededBy"] == str(successor)
        assert told[str(successor)]["predecessorId"] == str(failed)


CANVAS = {
    "slots": [{"id": "a", "anchor": "left", "expectedRef": {"kind": "Deployment", "name": "web"}}, {"id": "b"}],
    "edges": [{"sourceSlotId": "a", "targetSlotId": "b", "evidence": "DATABASE_URL"}],
    "resultMappings": [{"slotId": "a", "actualRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}],
}
OTHER = {"slots": [{"id": "z"}]}


async def place(api: RunningApi, task_id: UUID, canvas: object, mode: str = "replace", **headers: str) -> Any:
    path = api.path(f"/{task_id}/canvas-projection")
    return await api.http.patch(path, json={"mode": mode, "canvas": canvas}, headers=headers)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each not in (None, [])}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


async def test_a_canvas_is_kept_whole_and_told_to_whoever_watches(api: RunningApi, db: TestDatabase) -> None:
    task_id = await rows.created(db)
    await relay_events(db, api.bus)
    async with listening(api, STREAM) as listener:
        await listener.until("snapshot")
        answer = await place(api, task_id, CANVAS)
        assert answer.status_code == 200, answer.text
        assert without_nulls(answer.json()["canvas"]) == CANVAS
        assert (answer.json()["revision"], answer.headers["etag"]) == (2, '"2"')
        await relay_events(db, api.bus)
        assert without_nulls(json.loads((await listener.until("upsert")).data)["projection"]["canvas"]) == CANVAS
    events = (await api.http.get(api.path(f"/{task_id}/events"))).json()["events"]
    assert (events[-1]["kind"], events[-1]["payload"]) == ("placed", {"by": "admin", "slots": 2, "results": 1})
    again = await place(api, task_id, CANVAS)
    assert again.json()["revision"] == 2


async def test_a_canvas_is_replaced_or_left_as_the_caller_says(api: RunningApi, db: TestDatabase) -> None:
    task_id = await rows.created(db)
    assert without_nulls((await place(api, task_id, OTHER, "set-if-empty")).json()["canvas"]) == OTHER
    kept = await place(api, task_id, CANVAS, "set-if-empty")
    assert (kept.status_code, without_nulls(kept.json()["canvas"])) == (200, OTHER)
    assert without_nulls((await place(api, task_id, CANVAS)).json()["canvas"]) == CANVAS
    assert (await place(api, task_id, {})).json()["canvas"] is None
    assert without_nulls((await place(api, task_id, OTHER, "set-if-empty")).json()["canvas"]) == OTHER


async def test_of_two_canvases_at_once_one_is_kept_whole(api: RunningApi, db: TestDatabase) -> None:
    for _ in range(25):
        task_id = await rows.created(db)
        answers = await both(place(api, task_id, CANVAS), place(api, task_id, OTHER))
        assert {answer.status_code for answer in answers} == {200}
        last = max(answers, key=lambda answer: answer.json()["revision"]).json()
        kept = await one(api, task_id)
        assert (kept["revision"], kept["canvas"]) == (3, last["canvas"])
        assert without_nulls(kept["canvas"]) in (CANVAS, OTHER)
        first_wins = await rows.created(db)
        answers = await both(*(place(api, first_wins, each, "set-if-empty") for each in (CANVAS, OTHER)))
        kept = await one(api, first_wins)
        assert [answer.json()["canvas"] for answer in answers] == [kept["canvas"]] * 2
        assert kept["revision"] == 2


async def both(*asked: Coroutine[Any, Any, Any]) -> list[Any]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in asked]
    return [task.result() for task in tasks]


async def test_a_task_that_is_over_is_not_placed_and_a_foreign_one_is_not_there(
    api: RunningApi, db: TestDatabase
) -> None:
    ended = await rows.failed(db)
    refused = await place(api, ended, CANVAS)
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:locktender:problem:not-placeable")
    assert refused.json()["snapshot"]["task"]["status"] == "failed"
    foreign = await rows.created(db, workspace="umbrella")
    assert (await place(api, foreign, CANVAS)).status_code == 404
    assert (await place(api, new_id(), CANVAS)).status_code == 404
    assert (await place(api, await rows.created(db), CANVAS, **GUEST)).status_code == 403


@pytest.mark.parametrize(
    ("canvas", "pointer", "code"),
    [
        ({"slots": [{"id": "a"}, {"id": "a"}]}, "/canvas/slots/1/id", "duplicate-slot"),
        ({"edges": [{"sourceSlotId": "a", "targetSlotId": "a"}]}, "/canvas/edges/0/sourceSlotId", "unknown-slot"),
        ({"resultMappings": [CANVAS["resultMappings"][0]]}, "/canvas/resultMappings/0/slotId", "unknown-slot"),
        ({"slots": [{"id": str(n)} for n in range(201)]}, "/canvas/slots", "too-long"),
        ({"slots": [{"id": ""}]}, "/canvas/slots/0/id", "string-too-short"),
        ({"boxes": []}, "/canvas/boxes", "unknown-member"),
    ],
)
async def test_a_canvas_that_makes_no_sense_is_refused_with_the_place(
    api: RunningApi, db: TestDatabase, canvas: object, pointer: str, code: str
) -> None:
    task_id = await rows.created(db)
    answer = await place(api, task_id, canvas)
    assert answer.status_code == 400
    assert (pointer, code) in {(each["pointer"], each["code"]) for each in answer.json()["errors"]}
    assert (await one(api, task_id))["canvas"] is None
