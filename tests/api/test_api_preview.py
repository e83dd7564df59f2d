"""Asking what a deployment would do: the same request as a create, and nothing stored."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from locktender.testkit.api import GUEST_TOKEN, NOOP, RunningApi, kubeconfig, running_api
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer

Body = dict[str, Any]
CANARY = "canary-password-55aa"


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


@pytest.fixture(scope="module")
async def running() -> AsyncGenerator[SandboxCluster]:
    async with sandbox_cluster() as cluster:
        yield cluster


@pytest.fixture
async def cluster(running: SandboxCluster) -> SandboxCluster:
    await running.reset()
    return running


def config_map(name: str = "settings", **data: str) -> Body:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def secret(value: str = CANARY) -> Body:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "stringData": {"password": value}}


def request(cluster: SandboxCluster, *bodies: Body, **more: Any) -> Body:
    text = "\n---\n".join(json.dumps(body) for body in bodies or (config_map(a="1"),))
    return {"source": {"kind": "manifests", "manifests": text}, "kubeconfig": cluster.kubeconfig} | more


async def applied(cluster: SandboxCluster, body: Body, manager: str = "gitops") -> None:
    metadata = body["metadata"]
    path = f"/api/v1/namespaces/default/configmaps/{metadata['name']}?fieldManager={manager}"
    status, _ = await cluster.request("PATCH", path, body, content_type="application/apply-patch+yaml")
    assert status == 201


async def rows(db: TestDatabase) -> int:
    return await db.admin.fetchval("select count(*) from locktender.deployment_task")


async def test_a_preview_tells_what_a_create_would_do_and_leaves_no_trace(
    api: RunningApi, cluster: SandboxCluster, module_db: TestDatabase
) -> None:
    before = await rows(module_db)
    answer = await api.http.post(api.path(":preview"), json=request(cluster))
    assert answer.status_code == 200, answer.text
    plan = answer.json()
    assert [(each["ref"]["name"], each["action"]) for each in plan["documents"]] == [("settings", "create")]
    assert plan["summary"]["create"] == 1
    assert answer.headers["cache-control"] == "no-store"
    assert await rows(module_db) == before
    assert all(entry.get("dryRun") for entry in await cluster.ledger())


async def test_the_options_of_applying_are_honoured(api: RunningApi, cluster: SandboxCluster) -> None:
    await applied(cluster, config_map(a="1"))
    wanted = request(cluster, config_map(a="2"))
    (document,) = (await api.http.post(api.path(":preview"), json=wanted)).json()["documents"]
    assert (document["action"], document["conflicts"]) == ("conflict", [{"manager": "gitops", "field": "data.a"}])
    forced = wanted | {"apply": {"force": True}}
    (document,) = (await api.http.post(api.path(":preview"), json=forced)).json()["documents"]
    assert document["action"] == "change"


async def test_the_namespace_of_the_target_is_where_documents_go(api: RunningApi, cluster: SandboxCluster) -> None:
    wanted = request(cluster, target={"namespace": "elsewhere"})
    (document,) = (await api.http.post(api.path(":preview"), json=wanted)).json()["documents"]
    assert (document["ref"]["namespace"], document["action"]) == ("elsewhere", "refused")
    assert [warning["code"] for warning in document["warnings"]] == ["missing-namespace"]


async def test_no_secret_value_comes_back(api: RunningApi, cluster: SandboxCluster) -> None:
    await applied(cluster, config_map(copy="something else"))
    wanted = request(cluster, secret(), config_map(copy=f"see {CANARY}"), apply={"force": True})
    answer = await api.http.post(api.path(":preview"), json=wanted)
    assert answer.status_code == 200
    assert CANARY not in answer.text
    assert cluster.token not in answer.text
    assert [document["action"] for document in answer.json()["documents"]] == ["create", "change"]


async def test_what_a_create_refuses_a_preview_refuses_with_the_same_words(
    api: RunningApi, cluster: SandboxCluster
) -> None:
    for wrong in (
        {"source": {"kind": "manifests", "manifests": "a: b"}},
        request(cluster) | {"kubeconfig": "a: ["},
        request(cluster, apply={"replace": ["not a kind"]}),
        request(cluster, surplus=1),
    ):
        created = await api.http.post(api.path(), json=wrong)
        previewed = await api.http.post(api.path(":preview"), json=wrong)
        assert created.status_code == previewed.status_code == 400
        assert {**created.json(), "traceId": ""} == {**previewed.json(), "traceId": ""}


async def test_nothing_to_deploy_is_a_plan_of_nothing(api: RunningApi) -> None:
    answer = await api.http.post(api.path(":preview"), json=NOOP)
    assert (answer.status_code, answer.json()["documents"]) == (200, [])


async def test_a_cluster_that_is_away_is_a_problem_with_the_code_of_the_failure(api: RunningApi) -> None:
    away = kubeconfig().replace("https://cluster.example:6443", "https://127.0.0.1:9")
    body = {"source": {"kind": "manifests", "manifests": json.dumps(config_map())}, "kubeconfig": away}
    answer = await api.http.post(api.path(":preview"), json=body, timeout=30)
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (502, "urn:locktender:problem:cluster-unavailable")
    assert [(error["pointer"], error["code"]) for error in problem["errors"]] == [
        ("/kubeconfig", "cluster-unreachable")
    ]


async def test_credentials_that_the_cluster_does_not_take_are_a_problem(
    api: RunningApi, cluster: SandboxCluster
) -> None:
    wanted = request(cluster) | {"kubeconfig": cluster.kubeconfig_for("canary-token-7d1e")}
    answer = await api.http.post(api.path(":preview"), json=wanted)
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (422, "urn:locktender:problem:cluster-refused")
    assert problem["errors"][0]["code"] == "unauthorized"
    assert "canary" not in answer.text


async def test_whoever_may_only_look_may_not_preview(api: RunningApi, cluster: SandboxCluster) -> None:
    headers = {"Authorization": f"Bearer {GUEST_TOKEN}"}
    answer = await api.http.post(api.path(":preview"), json=request(cluster), headers=headers)
    assert answer.status_code == 403


async def test_a_preview_ends_in_time_and_waits_its_turn(
    module_db: TestDatabase, nats_server: NatsServer, cluster: SandboxCluster
) -> None:
    limits = {"seconds": 1.5, "at_once": 1, "waiting_seconds": 0.2}
    await cluster.faults({"verb": "patch", "silent": True})
    async with running_api(module_db, nats_server, instance="api-2", preview=limits) as api:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(api.http.post(api.path(":preview"), json=request(cluster))) for _ in range(2)]
        first, second = sorted((task.result() for task in asked), key=lambda answer: answer.status_code)
        assert (first.status_code, second.status_code) == (502, 503)
        assert first.json()["errors"][0]["code"] == "cluster-unreachable"
        assert "retry-after" in second.headers
        await cluster.faults()
        again = await api.http.post(api.path(":preview"), json=request(cluster))
        assert again.status_code == 200, again.text


async def test_how_documents_are_applied_is_kept_and_told(
    api: RunningApi, cluster: SandboxCluster, module_db: TestDatabase
) -> None:
    wanted = request(cluster, apply={"force": True, "replace": ["Job"]})
    made = (await api.http.post(api.path(), json=wanted)).json()
    (created,) = made["events"]
    assert created["payload"]["apply"]["force"] is True
    assert created["payload"]["apply"]["replace"] == ["Job"]
    assert "taken over" in created["message"]
    stored = json.loads(
        await module_db.admin.fetchval(
            "select source::text from locktender.deployment_task where id = $1::uuid", made["task"]["id"]
        )
    )
    assert stored["apply"] == {
        "force": True,
        "replace": ["Job"],
        "migrateFrom": ["kubectl-client-side-apply", "before-first-apply"],
    }


async def test_other_options_under_the_same_key_are_another_request(api: RunningApi, cluster: SandboxCluster) -> None:
    headers = {"Idempotency-Key": "one-key-for-two"}
    first = await api.http.post(api.path(), json=request(cluster), headers=headers)
    same = await api.http.post(api.path(), json=request(cluster), headers=headers)
    other = await api.http.post(api.path(), json=request(cluster, apply={"force": True}), headers=headers)
    assert (first.status_code, same.status_code, other.status_code) == (201, 200, 409)


async def test_an_object_without_a_name_gets_one_from_its_task_and_keeps_it(
    api: RunningApi, cluster: SandboxCluster, module_db: TestDatabase
) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "work", "image": "work:1"}]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "once-"}}
    wanted = request(cluster, job | {"spec": {"template": {"spec": pod}}})
    headers = {"Idempotency-Key": "one-key-for-a-job"}
    first = await api.http.post(api.path(), json=wanted, headers=headers)
    again = await api.http.post(api.path(), json=wanted, headers=headers)
    (card,) = first.json()["timeline"]["cards"]
    assert card["ref"]["name"].startswith("once-")
    assert len(card["ref"]["name"]) == len("once-") + 5
    assert (again.status_code, again.json()) == (200, first.json())
    source = await module_db.admin.fetchval(
        "select source::text from locktender.deployment_task where id = $1::uuid", first.json()["task"]["id"]
    )
    assert '"generateName"' in source
    assert card["ref"]["name"] not in source


async def test_a_task_without_a_plan_says_so_and_one_with_a_plan_shows_it(
    api: RunningApi, module_db: TestDatabase
) -> None:
    task = (await api.create())["task"]["id"]
    missing = await api.http.get(api.path(f"/{task}/plan"))
    assert missing.status_code == 404
    assert "plan" in missing.json()["detail"]
    plan = {"documents": [], "summary": {"create": 3}}
    await module_db.admin.execute(
        "insert into locktender.deployment_plan (task_id, epoch, plan) values ($1::uuid, 0, $2::jsonb)",
        task,
        json.dumps(plan),
    )
    found = await api.http.get(api.path(f"/{task}/plan"))
    assert (found.status_code, found.json()["summary"]["create"]) == (200, 3)
    foreign = await api.http.get(api.path(f"/{task}/plan", workspace="other"))
    assert foreign.status_code == 404
