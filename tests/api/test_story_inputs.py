"""Answering what a run asks for: values reach the run that goes on, and nothing else; of two who answer, one does."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import pytest
from pydantic import SecretStr

from locktender.contracts.kernel.ids import new_owner
from locktender.integrations.templates.catalogue_settings import CatalogueSettings
from locktender.runtime.connect import connect_bus
from locktender.runtime.custody_client import CustodyClient
from locktender.testkit import rows
from locktender.testkit.api import GUEST_TOKEN, RunningApi, kubeconfig, running_api
from locktender.testkit.cage import found_in_rows
from locktender.testkit.canaries import Cage, Canary, awkward, token
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, nats_rig
from locktender.testkit.parked import park
from locktender.testkit.proxy import TcpProxy
from locktender.testkit.races import at_once
from locktender.testkit.servers import NatsServer
from locktender.testkit.templates import catalogue

pytestmark = pytest.mark.takes(seconds=20)

Body = dict[str, Any]
OWNER = new_owner("runner-1")
ROUNDS = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return catalogue(tmp_path_factory.mktemp("catalogue"))


@pytest.fixture(scope="module")
async def keyless() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as rig:
        yield rig


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, keyless: NatsRig, folder: Path) -> AsyncGenerator[RunningApi]:
    nats = NatsServer("embedded", keyless.nats_url, {})
    async with running_api(module_db, nats, catalogue=CatalogueSettings(folder=folder)) as running:
        yield running


@pytest.fixture(scope="module")
async def custody(keyless: NatsRig) -> AsyncGenerator[CustodyClient]:
    bus = await connect_bus(keyless, "runner")
    try:
        yield CustodyClient(bus, grace=0.2)
    finally:
        await bus.close()


async def waiting(api: RunningApi, db: TestDatabase, **inputs: Any) -> UUID:
    """A task of the wiki that waits for its inputs."""
    source = {"kind": "template", "template": "wiki"}
    body = {"source": source, "inputs": inputs, "kubeconfig": kubeconfig(namespace="prod")}
    answer = await api.http.post(api.path(), json=body)
    assert answer.status_code == 201, answer.text
    return await park(db, answer.json()["task"]["id"])


def answers(**values: Any) -> Body:
    given = {"title": "Our wiki", "admin_password": "hunter2-and-more"} | values
    return {"values": given, "kubeconfig": kubeconfig(namespace="prod")}


async def submit(api: RunningApi, task_id: UUID, body: Body, workspace: str = "acme") -> httpx.Response:
    return await api.http.post(api.path(f"/{task_id}/input", workspace), json=body)


async def snapshot(api: RunningApi, task_id: UUID) -> Body:
    return (await api.http.get(api.path(f"/{task_id}"))).json()


async def taken(db: TestDatabase, custody: CustodyClient, task_id: UUID) -> Body:
    """What the runner that goes on with a task is handed."""
    [claimed] = await db.writes.claim([task_id], OWNER, 60)
    assert claimed.custodian is not None
    payload = await custody.fetch(claimed.custodian, task_id, claimed.lease.epoch, "acme", 5)
    return json.loads(payload)


def faults(answer: httpx.Response) -> set[tuple[str, str]]:
    assert answer.status_code == 400, answer.text
    return {(each["pointer"], each["code"]) for each in answer.json()["errors"]}


def told(snapshot: Body, kind: str) -> list[Body]:
    return [event for event in snapshot["events"] if event["kind"] == kind]


async def test_a_blocked_task_says_what_it_asks_for(api: RunningApi, module_db: TestDatabase) -> None:
    task = (await snapshot(api, await waiting(api, module_db)))["task"]
    assert (task["status"], task["blockedBy"]["kind"], task["deadlineAt"]) == ("blocked", "input", None)
    assert [each["key"] for each in task["asked"]["inputs"]][:2] == ["title", "admin_password"]


async def test_a_submission_is_recorded_without_its_values_and_calls_a_runner(
    api: RunningApi, module_db: TestDatabase
) -> None:
    task_id = await waiting(api, module_db)
    answer = await submit(api, task_id, answers(replicas=3, unknown="x"))
    assert answer.status_code == 200, answer.text
    task = answer.json()["task"]
    assert (task["status"], task["blockedBy"]["kind"], task["resumeRequestedBy"]) == ("blocked", "runner", "admin")
    assert task["resumeRequestedAt"] is not None
    assert task["deadlineAt"] > task["resumeRequestedAt"]
    [event] = told(answer.json(), "input-submitted")
    assert event["payload"] == {"inputKeys": ["admin_password", "replicas", "title"], "redacted": True, "by": "admin"}
    commands = await module_db.admin.fetchval(
        "select count(*) from locktender.outbox where subject = 'lt.cmd.deployment.template' "
        "and data ->> 'id' = $1", str(task_id),
    )  # fmt: skip
    assert commands == 2


async def test_the_run_that_goes_on_gets_the_values_and_credentials(
    api: RunningApi, module_db: TestDatabase, custody: CustodyClient
) -> None:
    task_id = await waiting(api, module_db)
    body = answers(replicas=3, public=True, host="wiki.example") | {"kubeconfig": kubeconfig(token="second-token")}
    assert (await submit(api, task_id, body)).status_code == 200
    payload = await taken(module_db, custody, task_id)
    assert payload["inputs"] == {
        "title": "Our wiki", "admin_password": "hunter2-and-more", "replicas": "3", "public": "true",
        "host": "wiki.example",
    }  # fmt: skip
    assert "second-token" in payload["kubeconfig"]
    task = (await snapshot(api, task_id))["task"]
    assert (task["status"], task["asked"], task["resumeRequestedAt"]) == ("running", None, None)


@pytest.mark.story(14)
async def test_no_submitted_value_is_in_any_row_or_answer(
    api: RunningApi, module_db: TestDatabase, capfd: pytest.CaptureFixture[str]
) -> None:
    canaries = [Canary("password", awkward("password")), Canary("title", token("title")), Canary("key", token("key"))]
    password, title, key = (canary.value for canary in canaries)
    task_id = await waiting(api, module_db)
    body = answers(admin_password=password, title=title) | {"kubeconfig": kubeconfig(token=key)}
    refused = await submit(api, task_id, answers(admin_password=password, title=title, size=key, replicas=key))
    accepted = await submit(api, task_id, body)
    second = await submit(api, task_id, body)
    assert [each.status_code for each in (refused, accepted, second)] == [400, 200, 409]
    cage = Cage(canaries)
    texts = [refused.text, accepted.text, second.text, json.dumps(await snapshot(api, task_id)), *capfd.readouterr()]
    assert [hit for text in texts for hit in cage.text("answer or log", text)] == []
    assert await found_in_rows(module_db, cage) == []


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"title": ""}, ("/values/title", "blank")),
        ({"title": " \t"}, ("/values/title", "blank")),
        ({"admin_password": "abc"}, ("/values/admin_password", "too-short")),
        ({"replicas": "three"}, ("/values/replicas", "not-a-number")),
        ({"size": "medium"}, ("/values/size", "not-an-option")),
        ({"public": "yes"}, ("/values/public", "not-a-boolean")),
        ({"public": "true"}, ("/values/host", "required")),
        ({"title": ["a"]}, ("/values/title", "not-a-scalar")),
        ({"title": None}, ("/values/title", "not-a-scalar")),
    ],
)
async def test_a_value_that_cannot_be_used_is_refused_and_the_task_goes_on_waiting(
    api: RunningApi, module_db: TestDatabase, values: Body, fault: tuple[str, str]
) -> None:
    task_id = await waiting(api, module_db)
    before = await snapshot(api, task_id)
    assert faults(await submit(api, task_id, answers(**values))) == {fault}
    assert await snapshot(api, task_id) == before


async def test_a_required_value_that_is_left_out_is_named(api: RunningApi, module_db: TestDatabase) -> None:
    task_id = await waiting(api, module_db)
    body = {"values": {"motto": "short"}, "kubeconfig": kubeconfig()}
    assert faults(await submit(api, task_id, body)) == {
        ("/values/title", "required"), ("/values/admin_password", "required"),
    }  # fmt: skip


async def test_what_was_given_on_create_needs_not_be_given_again_unless_it_is_secret(
    api: RunningApi, module_db: TestDatabase
) -> None:
    task_id = await waiting(api, module_db, title="Our wiki", admin_password="given-at-first")
    body = {"values": {"motto": "short"}, "kubeconfig": kubeconfig()}
    assert faults(await submit(api, task_id, body)) == {("/values/admin_password", "required")}
    body["values"]["admin_password"] = "given-again"
    assert (await submit(api, task_id, body)).status_code == 200


@pytest.mark.parametrize("values", [{}, {"unknown": "x"}])
async def test_nothing_that_was_asked_for_is_no_submission(
    api: RunningApi, module_db: TestDatabase, values: Body
) -> None:
    task_id = await waiting(api, module_db)
    body = {"values": values, "kubeconfig": kubeconfig()}
    assert faults(await submit(api, task_id, body)) == {("/values", "nothing-submitted")}


async def test_one_key_twice_is_refused_because_nobody_knows_which_counts(
    api: RunningApi, module_db: TestDatabase
) -> None:
    task_id = await waiting(api, module_db)
    text = '{"values": {"title": "a", "title": "b"}, "kubeconfig": "x"}'
    headers = {"content-type": "application/json"}
    answer = await api.http.post(api.path(f"/{task_id}/input"), content=text, headers=headers)
    assert faults(answer) == {("/values/title", "duplicate-key")}


async def test_the_run_cannot_go_on_without_a_kubeconfig(api: RunningApi, module_db: TestDatabase) -> None:
    task_id = await waiting(api, module_db)
    assert faults(await submit(api, task_id, {"values": {"title": "a"}})) == {("/kubeconfig", "required")}


async def test_the_values_of_secrets_in_manifests_are_asked_for_by_their_names(
    api: RunningApi, module_db: TestDatabase, custody: CustodyClient
) -> None:
    key = "Secret//login/stringData/password"
    form = {"inputs": [{"key": key, "required": True, "sensitive": True}], "message": "values are needed"}
    source = json.dumps({"kind": "manifests", "documents": []})
    task_id = await park(module_db, await rows.created(module_db, runner="direct", source=source), form)
    pointer = "/values/Secret~1~1login~1stringData~1password"
    for value, code in (("", "blank"), ("abc", "too-short")):
        body = {"values": {key: value}, "kubeconfig": kubeconfig()}
        assert faults(await submit(api, task_id, body)) == {(pointer, code)}
    body = {"values": {key: "hunter2-and-more"}, "kubeconfig": kubeconfig()}
    assert (await submit(api, task_id, body)).status_code == 200
    assert (await taken(module_db, custody, task_id))["inputs"] == {key: "hunter2-and-more"}


@pytest.mark.parametrize("state", ["queued", "running", "failed", "completed", "answered"])
async def test_a_task_that_does_not_wait_answers_with_its_snapshot_and_is_left_alone(
    api: RunningApi, module_db: TestDatabase, state: str
) -> None:
    match state:
        case "queued":
            task_id = await rows.created(module_db)
        case "running":
            task_id = (await rows.claimed(module_db)).lease.row_id
        case "failed":
            task_id = await rows.failed(module_db)
        case "completed":
            task_id = await rows.completed(module_db)
        case _:
            task_id = await waiting(api, module_db)
            assert (await submit(api, task_id, answers())).status_code == 200
    before = await snapshot(api, task_id)
    answer = await submit(api, task_id, answers())
    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:locktender:problem:not-waiting"
    assert answer.json()["snapshot"] == before == await snapshot(api, task_id)


async def test_a_foreign_or_unknown_task_is_not_found(api: RunningApi, module_db: TestDatabase) -> None:
    task_id = await waiting(api, module_db)
    assert (await submit(api, task_id, answers(), "other")).status_code == 404
    assert (await submit(api, UUID(int=1), answers())).status_code == 404


async def test_whoever_may_only_look_cannot_answer(api: RunningApi, module_db: TestDatabase) -> None:
    task_id = await waiting(api, module_db)
    headers = {"Authorization": f"Bearer {GUEST_TOKEN}"}
    answer = await api.http.post(api.path(f"/{task_id}/input"), json=answers(), headers=headers)
    assert answer.status_code == 403


async def test_inputs_that_no_runner_took_can_be_given_again(
    api: RunningApi, module_db: TestDatabase, custody: CustodyClient
) -> None:
    task_id = await waiting(api, module_db)
    assert (await submit(api, task_id, answers(title="First"))).status_code == 200
    async with module_db.unguarded() as connection:
        await connection.execute(
            "update locktender.deployment_task set resume_requested_at = null, resume_requested_by = null, "
            "custodian = null where id = $1", task_id,
        )  # fmt: skip
    assert (await submit(api, task_id, answers(title="Second"))).status_code == 200
    assert (await taken(module_db, custody, task_id))["inputs"]["title"] == "Second"


async def test_a_submission_whose_answer_was_lost_is_found_on_the_row_and_its_values_are_there(
    db: TestDatabase, keyless: NatsRig, custody: CustodyClient
) -> None:
    where = urlsplit(db.dsn)
    nats = NatsServer("embedded", keyless.nats_url, {})
    form = {"inputs": [{"key": "title", "required": True}], "message": "a title is needed"}
    async with TcpProxy(str(where.hostname), where.port or 5432) as proxy:
        login = where.netloc.rpartition("@")[0]
        through = SecretStr(where._replace(netloc=f"{login}@127.0.0.1:{proxy.port}").geturl())
        async with running_api(db, nats, database_url=through, instance="api-2") as api:
            task_id = await park(db, await rows.created(db, runner="direct"), form)
            body = {"values": {"title": "Ours"}, "kubeconfig": kubeconfig()}
            async with asyncio.TaskGroup() as group, db.admin.transaction():
                await db.admin.fetch("select 1 from locktender.deployment_task where id = $1 for update", task_id)
                answer = group.create_task(submit(api, task_id, body))
                await waits_for_a_lock(db)
                await proxy.reset()
                # Both the write without an answer and its repetition wait now.
                await waits_for_a_lock(db, 2)
            assert answer.result().status_code == 200, answer.result().text
            assert len(told(await snapshot(api, task_id), "input-submitted")) == 1
            assert (await taken(db, custody, task_id))["inputs"] == {"title": "Ours"}


async def waits_for_a_lock(db: TestDatabase, count: int = 1) -> None:
    async with asyncio.timeout(10):
        while True:
            # Within one transaction, activity is looked up once and then remembered.
            await db.admin.execute("select pg_stat_clear_snapshot()")
            waiting = await db.admin.fetchval(
                "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            )
            if waiting >= count:
                return
            await asyncio.sleep(0.02)


@pytest.mark.story(18)
async def test_of_two_who_answer_one_wins_with_own_values_and_the_other_is_shown_the_task(
    api: RunningApi, module_db: TestDatabase, custody: CustodyClient
) -> None:
    tasks = await parked_many(module_db)

    async def race(task_id: UUID) -> None:
        async with asyncio.TaskGroup() as group:
            both = [group.create_task(submit(api, task_id, answers(title=title))) for title in ("One", "Two")]
        statuses = [each.result().status_code for each in both]
        assert sorted(statuses) == [200, 409]
        lost = both[statuses.index(409)].result().json()
        assert lost["type"] == "urn:locktender:problem:not-waiting"
        assert lost["snapshot"]["task"]["resumeRequestedAt"] is not None
        payload = await taken(module_db, custody, task_id)
        assert payload["inputs"]["title"] == ("One", "Two")[statuses.index(200)]
        assert len(told(await snapshot(api, task_id), "input-submitted")) == 1

    await at_once(race, tasks)


async def test_of_an_answer_and_a_cancel_the_cancel_always_ends_the_task(
    api: RunningApi, module_db: TestDatabase
) -> None:
    tasks = await parked_many(module_db)

    async def race(task_id: UUID) -> None:
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(submit(api, task_id, answers()))
            cancel = group.create_task(api.http.post(api.path(f"/{task_id}/cancel")))
        assert cancel.result().status_code == 200
        assert answer.result().status_code in {200, 409}
        found = await snapshot(api, task_id)
        assert (found["task"]["status"], found["task"]["resumeRequestedAt"]) == ("cancelled", None)
        assert len(told(found, "input-submitted")) == (answer.result().status_code == 200)
        assert found["events"][-1]["kind"] == "cancelled"

    held = api.api.deployments.custodian.held_bytes
    await at_once(race, tasks)
    assert api.api.deployments.custodian.held_bytes <= held


async def parked_many(db: TestDatabase) -> list[UUID]:
    form = {"inputs": [{"key": "title", "required": True}], "message": "a title is needed"}
    made: list[UUID] = []

    async def one(_: int) -> None:
        made.append(await park(db, await rows.created(db, runner="direct"), form))

    await at_once(one, range(ROUNDS))
    return made
