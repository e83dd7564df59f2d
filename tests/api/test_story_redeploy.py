"""Redeploying: a new task in place of one that failed or was cancelled, with its lineage and what it has named."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from locktender.contracts.kernel.ids import new_id
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.templates.catalogue_settings import CatalogueSettings
from locktender.testkit import rows
from locktender.testkit.api import RunningApi, kubeconfig, running_api
from locktender.testkit.cage import found_in_rows
from locktender.testkit.canaries import Cage, Canary, token
from locktender.testkit.database import TestDatabase
from locktender.testkit.endings import ended, purge
from locktender.testkit.servers import NatsServer
from locktender.testkit.templates import WIKI, catalogue

Body = dict[str, Any]
NAME = "wiki-abcdefgh"
IDENTITY = json.dumps({"instance": NAME, "seed": str(UUID(int=7)), "defaults": {"app_name": NAME}})
MANIFESTS = """
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: "1"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {password: hunter2-and-more}}
"""
SECRET_KEY = "Secret//login/stringData/password"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return catalogue(tmp_path_factory.mktemp("catalogue"))


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer, folder: Path) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server, catalogue=CatalogueSettings(folder=folder)) as running:
        yield running


def wiki(**more: Any) -> Body:
    inputs = {"title": "Our wiki", "admin_password": "hunter2-and-more"}
    source = {"kind": "template", "template": "wiki"}
    return {"source": source, "inputs": inputs, "kubeconfig": kubeconfig(namespace="prod")} | more


def manifests(text: str = MANIFESTS, **more: Any) -> Body:
    return {"source": {"kind": "manifests", "manifests": text}, "kubeconfig": kubeconfig(namespace="prod")} | more


async def post(api: RunningApi, body: Body, **more: Any) -> httpx.Response:
    return await api.http.post(api.path(), json=body, **more)


async def made(api: RunningApi, body: Body) -> UUID:
    answer = await post(api, body)
    assert answer.status_code == 201, answer.text
    return UUID(answer.json()["task"]["id"])


async def again(api: RunningApi, before: UUID, **more: Any) -> httpx.Response:
    body = {"predecessorTaskId": str(before), "kubeconfig": kubeconfig(namespace="prod")} | more
    return await post(api, body)


async def stored(db: TestDatabase, task_id: UUID | str) -> Body:
    row = await db.admin.fetchrow(
        "select source::text as source, identity::text as identity from locktender.deployment_task where id = $1",
        UUID(str(task_id)),
    )
    assert row is not None
    return {name: None if row[name] is None else json.loads(row[name]) for name in ("source", "identity")}


async def snapshot(api: RunningApi, task_id: UUID) -> Body:
    return (await api.http.get(api.path(f"/{task_id}"))).json()


def faults(answer: httpx.Response) -> set[tuple[str, str]]:
    assert answer.status_code == 400, answer.text
    return {(each["pointer"], each["code"]) for each in answer.json()["errors"]}


def kind(answer: httpx.Response) -> str:
    return str(answer.json()["type"]).rpartition(":")[2]


@pytest.mark.parametrize("state", ["failed", "cancelled"])
@pytest.mark.story(9)
async def test_what_failed_or_was_cancelled_is_cloned_with_its_lineage(
    api: RunningApi, module_db: TestDatabase, state: str
) -> None:
    before = await made(api, wiki(displayName="Team wiki", target={"project": "shop", "namespace": "team"}))
    if state == "failed":
        await ended(module_db, before)
    else:
        await api.http.post(api.path(f"/{before}/cancel"))
    answer = await again(api, before)
    assert answer.status_code == 201, answer.text
    task = answer.json()["task"]
    assert (task["predecessorId"], task["status"], task["runner"]) == (str(before), "queued", "template")
    assert (task["displayName"], task["project"], task["namespace"]) == ("Team wiki", "shop", "team")
    assert answer.json() == await snapshot(api, UUID(task["id"]))
    assert (await snapshot(api, before))["task"]["supersededBy"] == task["id"]
    [created] = answer.json()["events"]
    assert {name: created["payload"][name] for name in ("predecessor", "edited", "inherits")} == {
        "predecessor": str(before), "edited": False, "inherits": True,
    }  # fmt: skip


@pytest.mark.parametrize("state", ["queued", "running", "applying", "blocked", "completed"])
async def test_what_is_under_way_or_has_succeeded_answers_with_its_snapshot(
    api: RunningApi, module_db: TestDatabase, state: str
) -> None:
    match state:
        case "queued":
            before = await rows.created(module_db)
        case "running":
            before = (await rows.claimed(module_db)).lease.row_id
        case "applying":
            before = (await rows.applying(module_db)).row_id
        case "blocked":
            before = await rows.blocked(module_db)
        case _:
            before = await rows.completed(module_db)
    answer = await again(api, before)
    assert (answer.status_code, kind(answer)) == (409, "not-redeployable")
    assert answer.json()["snapshot"] == await snapshot(api, before)


async def test_an_unknown_a_purged_and_a_foreign_predecessor_are_not_found(
    api: RunningApi, module_db: TestDatabase
) -> None:
    foreign = await rows.failed(module_db, workspace="other")
    purged = await rows.failed(module_db)
    await purge(module_db, purged)
    for before in (new_id(), purged, foreign):
        answer = await again(api, before, source={"kind": "noop"})
        assert (answer.status_code, kind(answer)) == (404, "not-found")


async def test_a_request_without_source_and_predecessor_is_told_so(api: RunningApi) -> None:
    assert faults(await post(api, {"kubeconfig": kubeconfig()})) == {("/source", "required")}


async def test_a_second_redeploy_is_shown_the_first_one(api: RunningApi, module_db: TestDatabase) -> None:
    before = await rows.failed(module_db)
    first, second = await again(api, before), await again(api, before)
    assert (second.status_code, kind(second)) == (409, "already-redeployed")
    assert second.json()["snapshot"] == first.json()


async def test_after_the_first_redeploy_has_failed_the_way_is_free_again(
    api: RunningApi, module_db: TestDatabase
) -> None:
    before = await rows.failed(module_db)
    first = UUID((await again(api, before)).json()["task"]["id"])
    await ended(module_db, first)
    assert (await again(api, before)).status_code == 201


async def test_another_uniqueness_rule_is_not_mistaken_for_a_second_redeploy(
    db: TestDatabase, nats_server: NatsServer
) -> None:
    async with running_api(db, nats_server) as api:
        before = await rows.failed(db)
        await db.admin.execute("create unique index uq_planted on locktender.deployment_task (display_name)")
        answer = await again(api, before, displayName="shop")
        assert (answer.status_code, kind(answer)) == (500, "internal")


async def test_the_same_key_makes_one_redeploy_also_when_its_predecessor_is_gone(
    api: RunningApi, module_db: TestDatabase
) -> None:
    before, other = await rows.failed(module_db), await rows.failed(module_db)
    headers = {"Idempotency-Key": "one-redeploy"}
    first = await post(api, {"predecessorTaskId": str(before)}, headers=headers)
    second = await post(api, {"predecessorTaskId": str(before)}, headers=headers)
    third = await post(api, {"predecessorTaskId": str(other)}, headers=headers)
    assert [each.status_code for each in (first, second, third)] == [201, 200, 409]
    assert kind(third) == "idempotency-mismatch"
    await purge(module_db, before)
    fourth = await post(api, {"predecessorTaskId": str(before)}, headers=headers)
    assert (fourth.status_code, fourth.json()) == (200, first.json())


@pytest.mark.story(11)
async def test_a_chain_keeps_its_instance_although_the_middle_named_nothing_and_the_root_is_gone(
    api: RunningApi, module_db: TestDatabase
) -> None:
    root = await ended(module_db, await made(api, wiki()), identity=IDENTITY)
    middle = await ended(module_db, UUID((await again(api, root)).json()["task"]["id"]))
    await purge(module_db, root)
    last = (await again(api, middle)).json()["task"]
    assert last["instance"] == NAME
    assert (await stored(module_db, last["id"]))["identity"] == json.loads(IDENTITY)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"target": {"project": "other", "namespace": "prod"}},
        {"target": {"project": "default", "namespace": "elsewhere"}},
        {"kubeconfig": kubeconfig(namespace="prod").replace("cluster.example", "another.example")},
        {"source": {"kind": "template", "text": WIKI}, "inputs": {"title": "Ours"}},
    ],
    ids=["project", "namespace", "server", "template"],
)
async def test_what_goes_elsewhere_or_is_something_else_gets_a_name_of_its_own(
    api: RunningApi, module_db: TestDatabase, elsewhere: Body
) -> None:
    before = await ended(module_db, await made(api, wiki()), identity=IDENTITY)
    answer = await again(api, before, **elsewhere)
    assert answer.status_code == 201, answer.text
    assert answer.json()["task"]["instance"] is None
    assert answer.json()["events"][0]["payload"]["inherits"] is False


@pytest.mark.story(10)
async def test_an_edited_redeploy_of_the_same_template_goes_on_under_its_name(
    api: RunningApi, module_db: TestDatabase
) -> None:
    before = await ended(module_db, await made(api, wiki()), identity=IDENTITY)
    answer = await again(api, before, source={"kind": "template", "template": "wiki"}, inputs={"title": "Theirs"})
    assert answer.json()["task"]["instance"] == NAME
    payload = answer.json()["events"][0]["payload"]
    assert (payload["edited"], payload["inherits"]) == (True, True)
    # The password was given to the predecessor, and the run asks for it again.
    source = (await stored(module_db, answer.json()["task"]["id"]))["source"]
    assert (source["inputs"], source["sensitiveKeys"]) == ({"title": "Theirs"}, ["admin_password"])


async def test_a_verbatim_redeploy_deploys_the_stored_template_and_owes_the_secret_inputs(
    db: TestDatabase, nats_server: NatsServer, tmp_path: Path
) -> None:
    folder = catalogue(tmp_path)
    async with running_api(db, nats_server, catalogue=CatalogueSettings(folder=folder)) as api:
        before = await ended(db, await made(api, wiki()))
        (folder / "wiki" / "index.yaml").unlink()
        answer = await again(api, before)
        assert answer.status_code == 201, answer.text
        kept, cloned = await stored(db, before), await stored(db, answer.json()["task"]["id"])
        assert cloned["source"] == kept["source"]
        assert cloned["source"]["sensitiveKeys"] == ["admin_password"]


async def test_values_that_come_along_are_kept_out_of_the_row_as_on_create(
    api: RunningApi, module_db: TestDatabase
) -> None:
    canary = Canary("again", token("again"))
    before = await ended(module_db, await made(api, wiki()))
    answer = await again(api, before, inputs={"admin_password": canary.value, "motto": "new"}, displayName=canary.value)
    assert answer.status_code == 201, answer.text
    source = (await stored(module_db, answer.json()["task"]["id"]))["source"]
    assert source["inputs"] == {"title": "Our wiki", "motto": "new"}
    assert answer.json()["events"][0]["payload"]["edited"] is True
    cage = Cage([canary])
    assert cage.text("answer", answer.text) == []
    assert await found_in_rows(module_db, cage) == []


async def test_manifests_are_cloned_with_fresh_cards_and_the_run_asks_for_their_secrets(
    api: RunningApi, module_db: TestDatabase
) -> None:
    before = await made(api, manifests(apply={"force": True}))
    fresh = (await snapshot(api, before))["timeline"]["cards"]
    await ended(module_db, before)
    answer = await again(api, before)
    assert answer.status_code == 201, answer.text
    assert answer.json()["timeline"]["cards"] == fresh
    kept, cloned = await stored(module_db, before), await stored(module_db, answer.json()["task"]["id"])
    assert cloned["source"] == kept["source"]
    assert cloned["source"]["apply"]["force"] is True


async def test_values_of_secrets_may_come_with_the_redeploy_and_are_checked(
    api: RunningApi, module_db: TestDatabase
) -> None:
    before = await ended(module_db, await made(api, manifests()))
    answer = await again(api, before, inputs={SECRET_KEY: ""})
    assert faults(answer) == {("/inputs/Secret~1~1login~1stringData~1password", "blank")}
    canary = Canary("secret", token("secret"))
    answer = await again(api, before, inputs={SECRET_KEY: canary.value})
    assert answer.status_code == 201, answer.text
    assert await found_in_rows(module_db, Cage([canary])) == []


async def test_a_source_that_cannot_be_made_whole_by_asking_is_needed_anew(
    api: RunningApi, module_db: TestDatabase
) -> None:
    text = MANIFESTS.replace('a: "1"', 'a: "say hunter2-and-more"')
    before = await ended(module_db, await made(api, manifests(text)))
    assert faults(await again(api, before)) == {("/source", "source-needed")}
    outlook = (await api.http.get(api.path(f"/{before}/redeploy"))).json()
    assert (outlook["allowed"], outlook["sourceNeeded"], outlook["asks"]) == (True, True, [])
    answer = await again(api, before, source={"kind": "manifests", "manifests": text})
    assert answer.status_code == 201
    assert answer.json()["events"][0]["payload"]["edited"] is True


@pytest.mark.story(12)
async def test_people_are_warned_once_of_what_a_redeploy_overwrites(api: RunningApi, module_db: TestDatabase) -> None:
    before = await made(api, manifests())
    cards = (await snapshot(api, before))["timeline"]["cards"]
    for card, state in zip(cards, ("applied", "pending"), strict=True):
        card["apply"] = state
    timeline = json.dumps({"revision": 1, "steps": [], "cards": cards})
    await ended(module_db, before, timeline=timeline)
    outlook = (await api.http.get(api.path(f"/{before}/redeploy"))).json()
    assert (outlook["allowed"], outlook["reason"]) == (True, None)
    assert len(outlook["applied"]) == 1
    assert outlook["warning"].startswith("redeploying overwrites what this task has applied: ")
    assert [(each["key"], each["sensitive"]) for each in outlook["asks"]] == [(SECRET_KEY, True)]
    winner = (await again(api, before)).json()["task"]["id"]
    outlook = (await api.http.get(api.path(f"/{before}/redeploy"))).json()
    assert (outlook["allowed"], winner in outlook["reason"]) == (False, True)
    outlook = (await api.http.get(api.path(f"/{winner}/redeploy"))).json()
    assert (outlook["allowed"], outlook["warning"]) == (False, None)


@pytest.mark.story(15)
async def test_the_outlook_of_a_template_names_what_is_asked_again(api: RunningApi, module_db: TestDatabase) -> None:
    before = await ended(module_db, await made(api, wiki()))
    outlook = (await api.http.get(api.path(f"/{before}/redeploy"))).json()
    assert [(each["key"], each["sensitive"]) for each in outlook["asks"]] == [
        ("admin_password", True), ("api_token", True),
    ]  # fmt: skip


@pytest.mark.story(10)
async def test_an_edit_begins_with_what_is_stored(api: RunningApi, module_db: TestDatabase) -> None:
    before = await ended(module_db, await made(api, manifests()))
    view = (await api.http.get(api.path(f"/{before}/source"))).json()
    objects = parse_manifests(view["source"]["manifests"])
    assert [each.kind for each in objects] == ["ConfigMap", "Secret"]
    assert "hunter2" not in json.dumps(view)
    assert (view["target"], view["server"]) == (
        {"project": "default", "namespace": "prod"}, "https://cluster.example:6443",
    )  # fmt: skip
    view = (await api.http.get(api.path(f"/{await made(api, wiki())}/source"))).json()
    assert (view["source"]["template"], view["source"]["inputs"]) == ("wiki", {"title": "Our wiki"})
    assert view["source"]["sensitiveKeys"] == ["admin_password"]
    assert (await api.http.get(api.path(f"/{before}/source", "other"))).status_code == 404
    assert (await api.http.get(api.path(f"/{before}/redeploy", "other"))).status_code == 404
