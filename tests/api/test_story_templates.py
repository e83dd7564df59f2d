"""Deploying from templates: what may be stored, what only memory holds, and what people see before they deploy."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from locktender.api.templates.platforms import PlatformSettings
from locktender.contracts.kernel.ids import new_owner
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.templates.catalogue_settings import CatalogueSettings
from locktender.runtime.connect import connect_bus
from locktender.runtime.custody_client import CustodyClient
from locktender.testkit.api import GUEST_TOKEN, RunningApi, kubeconfig, running_api
from locktender.testkit.cage import found_in_rows
from locktender.testkit.canaries import Cage, Canary, awkward, token
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, nats_rig
from locktender.testkit.servers import NatsServer
from locktender.testkit.templates import WIKI, catalogue

Body = dict[str, Any]
PLATFORMS = PlatformSettings(
    variables={"SEALOS_CLOUD_DOMAIN": "cloud.example", "SEALOS_CLOUD_PORT": "443"},
    servers={"https://cluster.example:6443/": {"SEALOS_CLOUD_DOMAIN": "own.example"}},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return catalogue(tmp_path_factory.mktemp("catalogue"))


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer, folder: Path) -> AsyncGenerator[RunningApi]:
    settings = {"catalogue": CatalogueSettings(folder=folder), "platforms": PLATFORMS}
    async with running_api(module_db, nats_server, **settings) as running:
        yield running


def wiki(**more: Any) -> Body:
    inputs = {"title": "Our wiki", "admin_password": "hunter2-and-more"} | more.pop("inputs", {})
    source = {"kind": "template", "template": "wiki"}
    return {"source": source, "inputs": inputs, "kubeconfig": kubeconfig(namespace="prod")} | more


async def made(api: RunningApi, body: Body) -> Body:
    answer = await api.http.post(api.path(), json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def stored(db: TestDatabase, task_id: str) -> Body:
    text = await db.admin.fetchval("select source::text from locktender.deployment_task where id = $1", UUID(task_id))
    return json.loads(text)


def faults(answer: Any) -> set[tuple[str, str]]:
    assert answer.status_code == 400, answer.text
    return {(each["pointer"], each["code"]) for each in answer.json()["errors"]}


async def test_what_was_asked_is_what_is_stored_and_what_was_secret_is_not(
    api: RunningApi, module_db: TestDatabase
) -> None:
    task = (await made(api, wiki(inputs={"replicas": 2, "public": True, "host": "wiki.example", "unknown": "x"})))[
        "task"
    ]
    source = await stored(module_db, task["id"])
    assert (task["runner"], task["displayName"], task["namespace"]) == ("template", "Wiki", "prod")
    assert (source["template"], source["form"], list(source["files"])) == ("wiki", "template", ["index.yaml"])
    assert len(source["digest"]) == 64
    assert source["revision"] is None
    assert source["inputs"] == {"title": "Our wiki", "replicas": "2", "public": "true", "host": "wiki.example"}
    assert source["sensitiveKeys"] == ["admin_password"]
    assert source["apply"]["force"] is False


async def test_a_template_has_two_steps_and_no_cards_before_it_is_rendered(api: RunningApi) -> None:
    timeline = (await made(api, wiki()))["timeline"]
    assert [step["id"] for step in timeline["steps"]] == ["prepare-template", "create-resources"]
    assert timeline["cards"] == []


async def test_the_answer_is_what_a_read_gives(api: RunningApi) -> None:
    answer = await api.http.post(api.path(), json=wiki())
    assert (await api.http.get(answer.headers["location"])).json() == answer.json()
    [created] = answer.json()["events"]
    assert created["payload"]["template"] == "wiki"
    assert created["payload"]["sensitiveKeys"] == ["admin_password"]


async def test_the_platform_is_what_settings_say_of_this_cluster(api: RunningApi, module_db: TestDatabase) -> None:
    target = {"project": "shop", "namespace": "ns-team"}
    source = await stored(module_db, (await made(api, wiki(target=target)))["task"]["id"])
    assert source["variables"] == {
        "SEALOS_NAMESPACE": "ns-team", "SEALOS_SERVICE_ACCOUNT": "default",
        "SEALOS_CLOUD_DOMAIN": "own.example", "SEALOS_CLOUD_PORT": "443",
    }  # fmt: skip


async def test_required_inputs_may_be_missing_because_the_run_asks_for_them(
    api: RunningApi, module_db: TestDatabase
) -> None:
    task = (await made(api, wiki() | {"inputs": {}}))["task"]
    assert (task["status"], (await stored(module_db, task["id"]))["inputs"]) == ("queued", {})


async def test_every_value_that_cannot_be_used_is_told_by_its_place_and_never_repeated(api: RunningApi) -> None:
    wrong = ("many-of-them", "huge-one", "perhaps", "abc")
    inputs = dict(zip(("replicas", "size", "public", "admin_password"), wrong, strict=True)) | {"title": " "}
    answer = await api.http.post(api.path(), json=wiki(inputs=inputs))
    assert faults(answer) == {
        ("/inputs/title", "blank"), ("/inputs/replicas", "not-a-number"), ("/inputs/size", "not-an-option"),
        ("/inputs/public", "not-a-boolean"), ("/inputs/admin_password", "too-short"),
    }  # fmt: skip
    assert not [value for value in wrong if value in answer.text]


@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}])
async def test_an_input_is_a_scalar(api: RunningApi, value: object) -> None:
    assert faults(await api.http.post(api.path(), json=wiki(inputs={"title": value}))) == {
        ("/inputs/title", "not-a-scalar")
    }


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ({"template": "nothing"}, ("/source/template", "unknown-template")),
        ({"template": "../wiki"}, ("/source/template", "unknown-template")),
        ({"template": "broken"}, ("/source/template", "no-app-name")),
        ({"template": "wiki", "text": WIKI}, ("/source", "template-or-text")),
        ({}, ("/source", "template-or-text")),
        ({"text": "kind: ConfigMap"}, ("/source/text", "no-template")),
    ],
)
async def test_a_template_that_is_none_is_refused(api: RunningApi, source: Body, fault: tuple[str, str]) -> None:
    answer = await api.http.post(api.path(), json=wiki(source={"kind": "template", **source}))
    assert fault in faults(answer)


async def test_a_template_needs_a_kubeconfig_as_manifests_do(api: RunningApi) -> None:
    body = wiki()
    del body["kubeconfig"]
    assert faults(await api.http.post(api.path(), json=body)) == {("/kubeconfig", "required")}


async def test_manifests_take_no_inputs(api: RunningApi) -> None:
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
    body = wiki(source={"kind": "manifests", "manifests": text})
    assert faults(await api.http.post(api.path(), json=body)) == {("/inputs", "no-inputs")}


@pytest.mark.story(14)
async def test_no_secret_input_is_in_any_row_or_answer_however_it_is_repeated(
    api: RunningApi, module_db: TestDatabase
) -> None:
    canaries = [Canary("declared", awkward("declared")), Canary("named", token("named")), Canary("told", token("told"))]
    declared, named, told = (canary.value for canary in canaries)
    inputs = {
        "admin_password": declared, "motto": f"so {named} it is", "host": told, "api_token": named, "public": True,
    }  # fmt: skip
    body = wiki(inputs=inputs, sensitiveKeys=["host"], displayName=f"wiki {told}")
    answer = await api.http.post(api.path(), json=body, headers={"Idempotency-Key": "secret-inputs"})
    assert answer.status_code == 201, answer.text
    task = answer.json()["task"]
    assert task["displayName"] == "wiki [withheld]"
    # What repeats a secret is secret as well, and is asked for again like one.
    source = await stored(module_db, task["id"])
    assert source["sensitiveKeys"] == ["admin_password", "api_token", "host", "motto"]
    cage = Cage(canaries)
    shown = [answer.text, (await api.http.get(api.path(f"/{task['id']}/source"))).text]
    assert [hit for text in shown for hit in cage.text("answer", text)] == []
    assert await found_in_rows(module_db, cage) == []


async def test_a_secret_that_is_not_even_used_is_kept_out_as_well(api: RunningApi, module_db: TestDatabase) -> None:
    canary = Canary("unused", token("unused"))
    body = wiki(inputs={"old_password": canary.value, "motto": canary.value}, displayName=f"wiki {canary.value}")
    task = (await made(api, body))["task"]
    assert (await stored(module_db, task["id"]))["inputs"] == {"title": "Our wiki"}
    assert await found_in_rows(module_db, Cage([canary])) == []


async def test_a_secret_in_the_text_of_a_template_is_refused_because_the_text_is_stored(
    api: RunningApi, module_db: TestDatabase
) -> None:
    before = await module_db.admin.fetchval("select count(*) from locktender.deployment_task")
    text = WIKI.replace("a motto of our own", "hunter2-and-more")
    answer = await api.http.post(api.path(), json=wiki(source={"kind": "template", "text": text}))
    assert faults(answer) == {("/source/text", "secret-in-template")}
    assert "hunter2" not in answer.text
    assert await module_db.admin.fetchval("select count(*) from locktender.deployment_task") == before


async def test_a_template_may_come_as_text(api: RunningApi, module_db: TestDatabase) -> None:
    task = (await made(api, wiki(source={"kind": "template", "text": WIKI})))["task"]
    source = await stored(module_db, task["id"])
    assert (source["template"], list(source["files"].values())) == (None, [WIKI])
    view = (await api.http.get(api.path(f"/{task['id']}/source"))).json()
    assert (view["source"]["text"], view["source"]["inputs"]) == (WIKI, {"title": "Our wiki"})


async def test_one_key_makes_one_task_also_after_the_catalogue_has_changed(
    db: TestDatabase, nats_server: NatsServer, tmp_path: Path
) -> None:
    folder = catalogue(tmp_path)
    headers = {"Idempotency-Key": "one-wiki"}
    async with running_api(db, nats_server, catalogue=CatalogueSettings(folder=folder)) as api:
        first = await api.http.post(api.path(), json=wiki(), headers=headers)
        (folder / "wiki" / "index.yaml").write_text(WIKI.replace("A place", "Another place"))
        again = await api.http.post(api.path(), json=wiki(), headers=headers)
        other = await api.http.post(api.path(), json=wiki(inputs={"title": "Theirs"}), headers=headers)
        secret = await api.http.post(api.path(), json=wiki(inputs={"admin_password": "another-one"}), headers=headers)
    assert [each.status_code for each in (first, again, other, secret)] == [201, 200, 409, 409]
    assert again.json()["task"]["id"] == first.json()["task"]["id"]


@pytest.fixture
async def keyless() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as rig:
        yield rig


async def test_the_claiming_runner_gets_the_secret_inputs_and_nobody_else(
    db: TestDatabase, keyless: NatsRig, folder: Path
) -> None:
    runner = await connect_bus(keyless, "runner")
    nats = NatsServer("embedded", keyless.nats_url, {})
    try:
        async with running_api(db, nats, catalogue=CatalogueSettings(folder=folder)) as api:
            task = (await made(api, wiki()))["task"]
            [claimed] = await db.writes.claim([UUID(task["id"])], new_owner("runner-1"), 60)
            assert claimed.custodian is not None
            lease = claimed.lease
            payload = await CustodyClient(runner).fetch(claimed.custodian, lease.row_id, lease.epoch, "acme", 5)
        document = json.loads(payload)
        assert (document["inputs"], document["secrets"]) == ({"admin_password": "hunter2-and-more"}, {})
        assert "canary-token-7d1e" in document["kubeconfig"]
    finally:
        await runner.close()


async def test_the_catalogue_is_listed_with_what_is_broken_in_it(api: RunningApi) -> None:
    found = (await api.http.get("/v1/workspaces/acme/templates")).json()
    assert [(each["name"], each["form"], each["fault"] is None) for each in found["templates"]] == [
        ("broken", None, False), ("settings", "kustomize", True), ("wiki", "template", True),
    ]  # fmt: skip
    found = (await api.http.get("/v1/workspaces/acme/templates", params={"search": "PLACE write"})).json()
    assert [each["name"] for each in found["templates"]] == ["wiki"]


@pytest.mark.parametrize("query", ["serach=wiki", "search=a&search=b", f"search={'x' * 201}"])
async def test_a_search_that_cannot_be_meant_is_refused(api: RunningApi, query: str) -> None:
    answer = await api.http.get(f"/v1/workspaces/acme/templates?{query}")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "")


async def test_a_template_tells_what_it_asks_for(api: RunningApi) -> None:
    found = (await api.http.get("/v1/workspaces/acme/templates/wiki")).json()
    asked = {each["key"]: each for each in found["inputs"]}
    assert (found["title"], found["about"]["author"]) == ("Wiki", "Ada")
    assert asked["admin_password"]["sensitive"]
    assert asked["size"]["options"] == ["small", "large"]
    assert asked["host"]["condition"] == "inputs.public === 'true'"


async def test_the_inputs_of_a_template_have_a_json_schema(api: RunningApi) -> None:
    schema = (await api.http.get("/v1/workspaces/acme/templates/wiki/schema")).json()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["required"] == ["title", "admin_password"]
    properties = schema["properties"]
    assert properties["replicas"] == {"type": "number", "default": 1, "description": "How many"}
    assert properties["public"] == {"type": "boolean", "default": False}
    assert properties["size"]["enum"] == ["small", "large"]
    assert properties["admin_password"]["writeOnly"]
    assert properties["admin_password"]["format"] == "password"


async def test_rendering_shows_what_would_be_applied_without_what_is_secret(api: RunningApi) -> None:
    body = {"inputs": {"admin_password": "hunter2-and-more", "replicas": "x"}, "target": {"namespace": "team"}}
    answer = await api.http.post("/v1/workspaces/acme/templates/wiki:render", json=body)
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert shown["instance"].startswith("wiki-")
    assert shown["missing"] == ["title"]
    assert [(each["pointer"], each["code"]) for each in shown["findings"]] == [("/inputs/replicas", "not-a-number")]
    assert "hunter2" not in answer.text
    objects = parse_manifests(shown["documents"])
    assert [(each.kind, each.namespace) for each in objects] == [("ConfigMap", "team"), ("Secret", "team")]
    assert objects[0].body["data"]["domain"] == "cloud.example"  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue, reportOptionalSubscript]


async def test_a_kustomization_is_rendered_too(api: RunningApi) -> None:
    answer = await api.http.post("/v1/workspaces/acme/templates/settings:render", json={})
    assert answer.status_code == 200, answer.text
    [rendered] = parse_manifests(answer.json()["documents"])
    assert (rendered.kind, rendered.body["data"]) == ("ConfigMap", {"a": "b"})


async def test_a_catalogue_in_git_is_served_with_its_commit(
    db: TestDatabase, nats_server: NatsServer, tmp_path: Path
) -> None:
    folder = catalogue(tmp_path / "origin")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        await (await asyncio.create_subprocess_exec(*git, *arguments)).wait()
    async with running_api(db, nats_server, catalogue=CatalogueSettings(git_url=f"file://{folder}")) as api:
        found = (await api.http.get("/v1/workspaces/acme/templates")).json()
        source = await stored(db, (await made(api, wiki()))["task"]["id"])
    assert len(found["revision"]) == 40
    assert source["revision"] == found["revision"]


async def test_without_its_catalogue_only_names_cannot_be_deployed(
    db: TestDatabase, nats_server: NatsServer, tmp_path: Path
) -> None:
    async with running_api(db, nats_server, catalogue=CatalogueSettings(folder=tmp_path / "gone")) as api:
        listed = await api.http.get("/v1/workspaces/acme/templates")
        created = await api.http.post(api.path(), json=wiki())
        inline = await api.http.post(api.path(), json=wiki(source={"kind": "template", "text": WIKI}))
    assert [each.status_code for each in (listed, created, inline)] == [503, 503, 201]


@pytest.mark.parametrize("name", ["nothing", "..", "%2e%2e%2fwiki", "wiki%2findex.yaml", "wiki%00", "~", "-wiki"])
async def test_a_name_is_no_path(api: RunningApi, name: str) -> None:
    for method, path in (("GET", name), ("GET", f"{name}/schema"), ("POST", f"{name}:render")):
        answer = await api.http.request(method, f"/v1/workspaces/acme/templates/{path}", json={})
        assert answer.status_code in {404, 405}, (method, path, answer.text)


async def test_a_broken_template_says_what_is_wrong_with_it(api: RunningApi) -> None:
    answer = await api.http.get("/v1/workspaces/acme/templates/broken")
    assert (answer.status_code, "app_name" in answer.json()["detail"]) == (400, True)


async def test_whoever_may_look_may_look_at_templates_and_render_them(api: RunningApi) -> None:
    headers = {"Authorization": f"Bearer {GUEST_TOKEN}"}
    for path, status in (("acme/templates", 200), ("acme/templates/wiki", 200), ("other/templates", 404)):
        assert (await api.http.get(f"/v1/workspaces/{path}", headers=headers)).status_code == status
    answer = await api.http.post("/v1/workspaces/acme/templates/wiki:render", json={}, headers=headers)
    assert answer.status_code == 200
    answer = await api.http.post(api.path(), json=wiki(), headers=headers)
    assert answer.status_code == 403


async def test_posting_to_a_template_itself_is_no_rendering(api: RunningApi) -> None:
    answer = await api.http.post("/v1/workspaces/acme/templates/wiki", json={})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


@pytest.fixture(scope="module")
async def cluster() -> AsyncGenerator[SandboxCluster]:
    async with sandbox_cluster() as cluster:
        yield cluster


async def test_a_preview_plans_what_a_template_comes_to_under_a_provisional_name(
    api: RunningApi, cluster: SandboxCluster
) -> None:
    body = wiki(kubeconfig=cluster.kubeconfig)
    answer = await api.http.post(api.path(":preview"), json=body)
    assert answer.status_code == 200, answer.text
    plan = answer.json()
    assert plan["instance"].startswith("wiki-")
    assert {(each["ref"]["kind"], each["ref"]["name"], each["action"]) for each in plan["documents"]} == {
        ("ConfigMap", plan["instance"], "create"), ("Secret", plan["instance"], "create"),
    }  # fmt: skip
    assert "hunter2" not in answer.text


async def test_a_preview_names_the_inputs_that_it_cannot_do_without(api: RunningApi, cluster: SandboxCluster) -> None:
    body = wiki(kubeconfig=cluster.kubeconfig) | {"inputs": {"public": True}}
    assert faults(await api.http.post(api.path(":preview"), json=body)) == {
        ("/inputs/title", "required"), ("/inputs/admin_password", "required"), ("/inputs/host", "required"),
    }  # fmt: skip
