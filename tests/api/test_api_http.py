import json
import re
from collections.abc import AsyncGenerator

import httpx
import pytest
from pydantic.alias_generators import to_camel

from locktender.api.http.openapi import openapi_document
from locktender.api.parts import OPERATIONS
from locktender.contracts.kernel.problems import Problem
from locktender.testkit.api import ADMIN_TOKEN, RunningApi, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, nats_rig
from locktender.testkit.servers import NatsServer


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


def is_problem(answer: httpx.Response, problem: Problem) -> bool:
    kind, document = problem.value, answer.json()
    return (
        answer.headers["content-type"] == "application/problem+json"
        and answer.status_code == kind.status
        and (document["type"], document["title"], document["status"]) == (kind.urn, kind.title, kind.status)
        and bool(document["detail"])
        and re.fullmatch("[0-9a-f]{32}", document["traceId"]) is not None
        and "Traceback" not in answer.text
    )


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer wrong", f"Basic {ADMIN_TOKEN}", "Bearer " + "x" * 10_000]
)
async def test_without_a_valid_token_nothing_is_answered(api: RunningApi, header: str | None) -> None:
    async with httpx.AsyncClient(base_url=api.url, trust_env=False) as stranger:
        answer = await stranger.get(api.path(), headers={} if header is None else {"Authorization": header})
    assert is_problem(answer, Problem.UNAUTHENTICATED)
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("workspace", ["Not-A-Name", "a..b", "%00", "*", "x" * 64, "a%0a"])
async def test_what_cannot_be_a_workspace_is_not_found(api: RunningApi, workspace: str) -> None:
    assert is_problem(await api.http.get(api.path(workspace=workspace)), Problem.NOT_FOUND)


async def test_an_unknown_address_is_a_problem_like_any_other(api: RunningApi) -> None:
    for path in ("/", "/v1", "/v2/workspaces/acme", "/v1/workspaces/acme/tasks", "/favicon.ico"):
        assert is_problem(await api.http.get(path), Problem.NOT_FOUND), path


async def test_a_method_that_is_not_there_is_refused_with_those_that_are(api: RunningApi) -> None:
    answer = await api.http.delete(api.path())
    assert is_problem(answer, Problem.METHOD_NOT_ALLOWED)
    assert {"GET", "POST"} <= {method.strip() for method in answer.headers["allow"].split(",")}


async def test_the_trace_id_of_a_problem_is_that_of_the_request(api: RunningApi) -> None:
    headers = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    answer = await api.http.get("/nothing", headers=headers)
    assert answer.json()["traceId"] == "4bf92f3577b34da6a3ce929d0e0e4736"


async def test_an_unforeseen_fault_shows_nothing_of_itself(api: RunningApi, module_db: TestDatabase) -> None:
    task_id = (await api.create())["task"]["id"]
    await module_db.admin.execute(
        """update locktender.deployment_task set timeline = '{"canary": 1}' where id = $1""", task_id
    )
    answer = await api.http.get(api.path(f"/{task_id}"))
    assert is_problem(answer, Problem.INTERNAL)
    assert "canary" not in answer.text


async def test_health_needs_no_token_and_names_every_check(api: RunningApi) -> None:
    async with httpx.AsyncClient(base_url=api.url, trust_env=False) as stranger:
        assert (await stranger.get("/healthz")).json() == {"alive": True}
        ready = await stranger.get("/readyz")
    assert ready.status_code == 200
    assert ready.json() == {"ready": True, "checks": {"bus": {"ok": True}, "database": {"ok": True}}}


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as running:
        yield running


async def test_the_api_is_not_ready_without_its_bus_and_says_which(db: TestDatabase, rig: NatsRig) -> None:
    async with running_api(db, NatsServer("embedded", rig.nats_url, {})) as api:
        await rig.kill()
        answer = await api.http.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["checks"]["bus"] == {"ok": False, "reason": "no connection to NATS"}
        # The record is there, so the work goes on: what the bus would have told is told by the outbox later.
        assert (await api.create())["task"]["status"] == "queued"
        await rig.start()


async def test_a_database_that_only_reads_is_not_ready(db: TestDatabase, nats_server: NatsServer) -> None:
    await db.admin.execute(f'alter database "{db.name}" set default_transaction_read_only = on')
    async with running_api(db, nats_server) as api:
        answer = await api.http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["database"]["ok"] is False


async def test_operators_reach_the_api_over_the_bus(db: TestDatabase, rig: NatsRig) -> None:
    async with running_api(db, NatsServer("embedded", rig.nats_url, {})) as api:
        status = json.loads(await api.bus.request("lt.ops.api.status", b"", 5))
    assert status == {"custodyBytes": 0, "streams": 0, "events": True}


async def test_the_document_describes_every_route_and_no_other(api: RunningApi) -> None:
    served = {
        (method.lower(), re.sub(r"\{(\w+):\w+\}", lambda found: f"{{{to_camel(found[1])}}}", route.path))
        for route in api.api.app.routes
        for method in getattr(route, "methods", ())
        if method != "OPTIONS"
    }
    # The router takes whole segments only, so the handlers themselves look at how these end.
    templates, versions = (
        "/v1/workspaces/{workspace}/templates",
        "/v1/workspaces/{workspace}/stacks/{stack}/state/versions",
    )
    ends = {("post", templates + "/{template}"): ":render", ("post", versions + "/{version}"): ":rollback"}
    served = {(method, path + ends.get((method, path), "")) for method, path in served}
    assert served == {(operation.method, operation.path) for operation in OPERATIONS}
    answer = await api.http.get("/openapi")
    assert answer.text == openapi_document()


def test_the_document_keeps_patterns_and_closed_objects() -> None:
    schemas = json.loads(openapi_document())["components"]["schemas"]
    assert schemas["CreateTask"]["additionalProperties"] is False
    assert "pattern" in json.dumps(schemas["Target"])
