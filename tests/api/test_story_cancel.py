"""The stories of cancelling, as people live them, through HTTP. What runners do: `test_story_cancel_running`."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from uuid import UUID

import httpx
import pytest

from locktender.contracts.deployments.flow import TaskStatus
from locktender.testkit import rows
from locktender.testkit.api import GUEST_TOKEN, RunningApi, ServerEvent, kubeconfig, relay_events, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.runner import config_maps, connected_as
from locktender.testkit.servers import NatsServer

GUEST = {"Authorization": f"Bearer {GUEST_TOKEN}"}
CARD = '{"index": %d, "ref": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c%d"}, "apply": "%s"}'
STEPS = '[{"id": "create-resources", "label": "Create resources", "status": "running"}]'


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


def timeline(*states: str, revision: int = 1) -> str:
    cards = ", ".join(CARD % (index, index, state) for index, state in enumerate(states))
    return f'{{"revision": {revision}, "steps": {STEPS}, "cards": [{cards}]}}'


async def ask(api: RunningApi, task: object, workspace: str = "acme") -> httpx.Response:
    return await api.http.post(api.path(f"/{task}/cancel", workspace))


async def cancelled(api: RunningApi, task: object) -> dict[str, Any]:
    answer = await ask(api, task)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def shown(api: RunningApi, task: object, **headers: str) -> dict[str, Any]:
    answer = await api.http.get(api.path(f"/{task}"), headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def manifests(api: RunningApi, count: int) -> dict[str, Any]:
    """A task of the direct runner that nobody takes."""
    return await api.create(
        source={"kind": "manifests", "manifests": config_maps(count)}, kubeconfig=kubeconfig(),
        target={"project": "shop", "namespace": "default"},
    )  # fmt: skip


# -- A mistaken deploy does nothing at all


@pytest.mark.story(2)
async def test_a_queued_deployment_that_is_cancelled_is_never_taken_by_a_runner(
    api: RunningApi, module_db: TestDatabase
) -> None:
    task = (await manifests(api, 2))["task"]["id"]
    snapshot = await cancelled(api, task)
    assert (snapshot["task"]["status"], snapshot["task"]["blockedBy"]) == ("cancelled", None)
    assert snapshot["task"]["startedAt"] is None
    assert await module_db.writes.claim([UUID(task)], rows.OWNER, 60) == []
    assert (await shown(api, task)) == snapshot


async def test_a_cancelled_deployment_leaves_no_credentials_behind(api: RunningApi) -> None:
    before = api.api.deployments.custodian.held_bytes
    task = (await manifests(api, 1))["task"]["id"]
    assert api.api.deployments.custodian.held_bytes > before
    await cancelled(api, task)
    assert api.api.deployments.custodian.held_bytes == before


@pytest.mark.story(2)
async def test_a_deployment_that_waits_for_inputs_is_cancelled_at_once(
    api: RunningApi, module_db: TestDatabase
) -> None:
    task = await rows.blocked(module_db)
    snapshot = await cancelled(api, task)
    assert (snapshot["task"]["status"], snapshot["task"]["asked"]) == ("cancelled", None)
    assert snapshot["task"]["cancelRequestedBy"] == "admin"


async def test_submitted_inputs_do_not_bring_a_cancelled_deployment_back(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes = module_db.writes
    task = await rows.blocked(module_db)
    await writes.submit_input(task, "ada", "api-1", rows.told(actor="api"))
    assert (await shown(api, task))["task"]["resumeRequestedBy"] == "ada"
    snapshot = await cancelled(api, task)
    assert (snapshot["task"]["status"], snapshot["task"]["resumeRequestedAt"]) == ("cancelled", None)
    assert await writes.claim([task], rows.OWNER, 60) == []
    assert (await shown(api, task))["task"]["status"] == "cancelled"


# -- What was applied and what was not


@pytest.mark.story(6)
async def test_the_timeline_of_a_deployment_cancelled_before_it_ran_itemises_that_nothing_was_applied(
    api: RunningApi,
) -> None:
    snapshot = await cancelled(api, (await manifests(api, 3))["task"]["id"])
    assert [card["apply"] for card in snapshot["timeline"]["cards"]] == ["not-applied"] * 3
    last = snapshot["events"][-1]
    assert (last["kind"], last["message"]) == ("cancelled", "cancelled by admin before anything was applied")
    assert last["payload"] == {
        "by": "admin", "reason": "cancelled", "applied": [], "unknown": [],
        "notApplied": [f"ConfigMap c{number}" for number in range(3)],
        "counts": {"applied": 0, "unknown": 0, "notApplied": 3},
    }  # fmt: skip
    assert snapshot["task"]["failure"] is None


async def test_the_event_of_a_large_deployment_that_is_cancelled_stays_small(
    api: RunningApi, module_db: TestDatabase
) -> None:
    task = await rows.created(module_db, timeline=timeline(*["pending"] * 300))
    payload = (await cancelled(api, task))["events"][-1]["payload"]
    assert (len(payload["notApplied"]), payload["counts"]["notApplied"]) == (25, 300)


@pytest.mark.parametrize("verdict", ["cancel-ack-deadline", "interrupted-with-cancel"])
@pytest.mark.story(6)
async def test_a_cancel_that_is_forced_still_itemises_what_was_recorded(
    api: RunningApi, module_db: TestDatabase, verdict: str
) -> None:
    writes = module_db.writes
    lease = await rows.applying(module_db, ttl=60 if verdict == "cancel-ack-deadline" else 0)
    if verdict == "cancel-ack-deadline":
        recorded = timeline("applied", "applying", "pending")
        await writes.record(lease, rows.told(), phase="apply", timeline=recorded)
    await cancelled(api, lease.row_id)
    patience = {"patience": 0.0} if verdict == "cancel-ack-deadline" else {}
    assert lease.row_id in await writes.sweep(verdict, 100, **patience)
    snapshot = await shown(api, lease.row_id)
    assert (snapshot["task"]["status"], snapshot["task"]["failure"]) == ("cancelled", None)
    assert snapshot["events"][-1]["payload"]["reason"] == verdict
    if verdict == "cancel-ack-deadline":
        assert [card["apply"] for card in snapshot["timeline"]["cards"]] == ["applied", "applying", "not-applied"]
        assert snapshot["timeline"]["cards"][1]["status"] == "unknown"
        assert snapshot["timeline"]["steps"][0]["status"] == "skipped"


# -- "Cancelling…", for everybody and after a refresh


@pytest.mark.story(7)
async def test_cancelling_is_seen_by_a_teammate_in_the_task_the_list_the_project_and_both_streams(
    api: RunningApi, module_db: TestDatabase, nats_server: NatsServer
) -> None:
    project = "cancelling"
    lease = await rows.applying(module_db, project=project)
    own = api.stream(api.path(f"/{lease.row_id}/timeline/stream"), **GUEST)
    whole = api.stream(f"/v1/workspaces/acme/projects/{project}/deployment-tasks/stream", **GUEST)
    async with asyncio.timeout(20), connected_as(nats_server, "outbox") as relay, aclosing(own), aclosing(whole):
        await relay_events(module_db, relay)
        assert json.loads((await following(own, "snapshot")).data)["task"]["cancelRequestedAt"] is None
        before = json.loads((await following(whole, "snapshot")).data)["projections"]
        assert [each["cancelRequestedAt"] for each in before] == [None]
        mine = (await cancelled(api, lease.row_id))["task"]
        await relay_events(module_db, relay)
        told = json.loads((await following(own, "update")).data)["task"]
        changed = json.loads((await following(whole, "upsert")).data)["projection"]
    assert mine["cancelRequestedAt"] is not None
    assert mine["blockedBy"]["kind"] == "cancel"
    assert told == mine
    assert (changed["cancelRequestedAt"], changed["status"]) == (mine["cancelRequestedAt"], "applying")
    assert (await shown(api, lease.row_id, **GUEST))["task"] == mine
    listed = await api.http.get(api.path(), params={"project": project}, headers=GUEST)
    assert listed.json()["tasks"] == [mine]
    # Whoever comes later, or comes back, sees it as well.
    async with aclosing(api.stream(f"/v1/workspaces/acme/projects/{project}/deployment-tasks/stream")) as again:
        late = json.loads((await following(again, "snapshot")).data)["projections"]
    assert [each["cancelRequestedAt"] for each in late] == [mine["cancelRequestedAt"]]


async def following(stream: AsyncGenerator[ServerEvent], name: str) -> ServerEvent:
    """The next event of this name."""
    async for event in stream:
        if event.name == name:
            return event
    raise AssertionError(f"the stream ended without {name}")


async def test_cancelling_says_until_when_it_can_last_at_most(api: RunningApi, module_db: TestDatabase) -> None:
    lease = await rows.applying(module_db, ttl=3600)
    task = (await cancelled(api, lease.row_id))["task"]
    limit = await module_db.admin.fetchval("select $1::text::timestamptz + interval '90 s'", task["cancelRequestedAt"])
    assert await module_db.admin.fetchval("select $1::text::timestamptz", task["deadlineAt"]) == limit


# -- A second click, a second person, a cancel that comes too late


@pytest.mark.parametrize("state", ["queued", "blocked", "running", "applying"])
@pytest.mark.story(19)
async def test_double_clicking_cancel_is_silent_and_equal(api: RunningApi, module_db: TestDatabase, state: str) -> None:
    task = await standing(module_db, state)
    first, second = await ask(api, task), await ask(api, task)
    assert first.status_code == second.status_code == 200
    assert first.content == second.content
    assert first.headers["etag"] == second.headers["etag"]
    kinds = Counter(event["kind"] for event in (await shown(api, task))["events"])
    assert kinds["cancel-requested"] + kinds["cancelled"] == 1


async def standing(db: TestDatabase, state: str) -> UUID:
    match state:
        case "queued":
            return await rows.created(db)
        case "blocked":
            return await rows.blocked(db)
        case "running":
            return (await rows.claimed(db)).lease.row_id
        case "applying":
            return (await rows.applying(db)).row_id
        case "completed":
            return await rows.completed(db)
        case _:
            return await rows.failed(db)


@pytest.mark.parametrize("state", ["queued", "blocked", "running", "applying"])
@pytest.mark.story(18)
async def test_of_many_people_who_cancel_at_once_one_acts_and_all_are_told_the_same(
    api: RunningApi, module_db: TestDatabase, state: str
) -> None:
    task = await standing(module_db, state)
    answers: list[httpx.Response] = []

    async def click() -> None:
        answers.append(await ask(api, task))

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(click())
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    kinds = Counter(event["kind"] for event in (await shown(api, task))["events"])
    assert kinds["cancel-requested"] + kinds["cancelled"] == 1


@pytest.mark.parametrize("state", ["completed", "failed"])
@pytest.mark.story(20)
async def test_cancelling_what_has_finished_says_so_and_shows_how(
    api: RunningApi, module_db: TestDatabase, state: str
) -> None:
    task = await standing(module_db, state)
    for _ in range(2):
        answer = await ask(api, task)
        problem = answer.json()
        assert (answer.status_code, problem["type"]) == (409, "urn:locktender:problem:not-cancellable")
        assert state in problem["detail"]
        assert problem["snapshot"] == await shown(api, task)
    assert "cancel-requested" not in [event["kind"] for event in problem["snapshot"]["events"]]


async def test_a_cancel_from_another_workspace_finds_nothing_and_leaves_no_trace(
    api: RunningApi, module_db: TestDatabase
) -> None:
    for state in ("queued", "blocked", "running", "applying", "completed", "failed"):
        task = await standing(module_db, state)
        before = await shown(api, task)
        answer = await ask(api, task, workspace="elsewhere")
        assert (answer.status_code, "snapshot" in answer.json()) == (404, False)
        assert await shown(api, task) == before


@pytest.mark.story(23)
async def test_a_deployment_that_one_cancelled_oneself_is_no_failure(api: RunningApi, module_db: TestDatabase) -> None:
    lease = await rows.applying(module_db)
    await cancelled(api, lease.row_id)
    await module_db.writes.acknowledge_cancel(lease, rows.told(), timeline=rows.TIMELINE)
    task = (await shown(api, lease.row_id))["task"]
    assert (task["status"], task["failure"], task["blockedBy"], task["deadlineAt"]) == ("cancelled", None, None, None)
    failed = await api.http.get(api.path(), params={"status": "failed"})
    assert str(lease.row_id) not in [each["id"] for each in failed.json()["tasks"]]


# -- A task that moves between the look and the write


Move = tuple[str, str]
_HELD = f"lease_owner = '{rows.OWNER}', lease_epoch = lease_epoch + 1, lease_claimed_at = locktender.now(), "
MOVES: dict[Move, str] = {
    ("queued", "running"): f"status = 'running', {_HELD} lease_expires_at = locktender.now() + interval '1 h'",
    ("blocked", "running"): f"status = 'running', {_HELD} lease_expires_at = locktender.now() + interval '1 h'",
    ("running", "blocked"): f"status = 'blocked', lease_owner = null, lease_expires_at = null, asked = '{rows.ASKED}'",
    ("applying", "completed"): (
        "status = 'completed', lease_owner = null, lease_expires_at = null, completed_at = locktender.now()"
    ),
    ("queued", "cancelled"): (
        "status = 'cancelled', cancel_requested_at = locktender.now(), completed_at = locktender.now()"
    ),
}


@pytest.mark.parametrize("move", MOVES, ids=" to ".join)
async def test_a_cancel_whose_task_moves_away_under_it_looks_again_and_does_what_is_right_then(
    api: RunningApi, module_db: TestDatabase, move: Move
) -> None:
    before, after = move
    task = await standing(module_db, before)
    answer = await overtaken(
        api,
        module_db,
        task,
        f"update locktender.deployment_task set {MOVES[move]}, revision = revision + 1 where id = $1",  # noqa: S608 - ours
    )
    if after == "completed":
        assert (answer.status_code, answer.json()["snapshot"]["task"]["status"]) == (409, "completed")
        return
    found = answer.json()["task"]
    assert answer.status_code == 200
    assert found["status"] == ("running" if after == "running" else "cancelled")
    assert found["cancelRequestedAt"] is not None
    assert found == (await shown(api, task))["task"]


async def test_a_cancel_whose_task_is_purged_under_it_finds_nothing(api: RunningApi, module_db: TestDatabase) -> None:
    task = await rows.created(module_db)
    answer = await overtaken(api, module_db, task, "delete from locktender.deployment_task where id = $1")
    assert answer.status_code == 404


async def overtaken(api: RunningApi, db: TestDatabase, task: UUID, sql: str) -> httpx.Response:
    """The answer to a cancel whose write waits until `sql` has moved the task."""
    async with asyncio.TaskGroup() as group, db.unguarded() as connection:
        await connection.execute("select 1 from locktender.deployment_task where id = $1 for update", task)
        asked = group.create_task(ask(api, task))
        await eventually(lambda: waits_for_a_lock(db))
        await connection.execute(sql, task)
    return asked.result()


async def waits_for_a_lock(db: TestDatabase) -> bool:
    return await db.admin.fetchval(
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    )


async def test_every_status_answers_a_cancel(api: RunningApi, module_db: TestDatabase) -> None:
    """A status that is added has to say what cancelling it means."""
    expected = {
        TaskStatus.QUEUED: 200, TaskStatus.BLOCKED: 200, TaskStatus.RUNNING: 200, TaskStatus.APPLYING: 200,
        TaskStatus.CANCELLED: 200, TaskStatus.COMPLETED: 409, TaskStatus.FAILED: 409,
    }  # fmt: skip
    assert set(expected) == set(TaskStatus)
    for status, code in expected.items():
        lease = await rows.task(module_db, status=status, epoch=1)
        assert (await ask(api, lease.row_id)).status_code == code
