import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from locktender.contracts.kernel.ids import new_owner
from locktender.runtime.connect import connect_bus
from locktender.runtime.custody_client import CredentialsLost, CustodyClient
from locktender.testkit.api import NOOP, RunningApi, kubeconfig, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, nats_rig
from locktender.testkit.proxy import TcpProxy
from locktender.testkit.servers import NatsServer

CANARIES = ("canary-token-7d1e", "canary-password-55aa", "Y2FuYXJ5LXBhc3N3b3JkLTU1YWE=", "canary-string-0b3c")
MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx, env: [{name: AGAIN, value: canary-password-55aa}]}]}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
data: {password: Y2FuYXJ5LXBhc3N3b3JkLTU1YWE=}
stringData: {other: canary-string-0b3c}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
"""


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


def manifests(text: str = MANIFESTS, **more: Any) -> dict[str, Any]:
    return {"source": {"kind": "manifests", "manifests": text}, "kubeconfig": kubeconfig(namespace="prod")} | more


@pytest.mark.story(28)
async def test_the_answer_to_a_create_is_what_a_read_gives(api: RunningApi) -> None:
    answer = await api.http.post(api.path(), json=manifests())
    assert answer.status_code == 201, answer.text
    found = await api.http.get(answer.headers["location"])
    assert found.json() == answer.json()
    assert found.headers["etag"] == answer.headers["etag"] == '"1"'


async def test_a_new_task_says_what_it_waits_for_and_until_when(api: RunningApi) -> None:
    task = (await api.create(displayName="nothing"))["task"]
    assert (task["status"], task["displayName"], task["createdBy"]) == ("queued", "nothing", "admin")
    assert task["blockedBy"] == {"kind": "runner", "message": "waits for a free noop runner"}
    assert task["deadlineAt"] > task["createdAt"]


async def test_every_document_has_a_card_in_the_order_of_applying(api: RunningApi) -> None:
    made = (await api.http.post(api.path(), json=manifests())).json()
    cards = made["timeline"]["cards"]
    assert [(card["index"], card["ref"]["kind"]) for card in cards] == [
        (1, "Secret"),
        (2, "Service"),
        (0, "Deployment"),
    ]
    assert {(card["apply"], card["status"]) for card in cards} == {("pending", "pending")}
    assert made["task"]["displayName"] == "Deployment web and 2 more"
    assert (made["task"]["namespace"], made["task"]["server"]) == ("prod", "https://cluster.example:6443")


async def test_the_target_namespace_goes_before_that_of_the_kubeconfig(api: RunningApi) -> None:
    target = {"project": "shop", "namespace": "staging"}
    made = (await api.http.post(api.path(), json=manifests(target=target))).json()
    assert made["task"]["namespace"] == "staging"


async def test_the_client_header_says_where_a_task_came_from(api: RunningApi) -> None:
    for sent, stored in (("cli", "cli"), ("chat", "chat"), ("nonsense", "api")):
        answer = await api.http.post(api.path(), json=NOOP, headers={"Locktender-Client": sent})
        assert answer.json()["task"]["createdFrom"] == stored


async def test_the_trace_of_the_request_travels_with_the_event(api: RunningApi, module_db: TestDatabase) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    answer = await api.http.post(api.path(), json=NOOP, headers={"traceparent": trace})
    headers = await module_db.admin.fetchval(
        "select headers::text from locktender.outbox where aggregate = $1", answer.json()["task"]["id"]
    )
    assert json.loads(headers)["traceparent"].startswith("00-4bf92f3577b34da6a3ce929d0e0e4736-")


async def test_twenty_equal_requests_at_once_make_one_task(api: RunningApi) -> None:
    headers = {"Idempotency-Key": "twenty-at-once"}
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(api.http.post(api.path(), json=manifests(), headers=headers)) for _ in range(20)]
    answers = [task.result() for task in tasks]
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert len({answer.json()["task"]["id"] for answer in answers}) == 1


async def test_a_key_used_for_another_request_is_a_conflict_with_the_snapshot(api: RunningApi) -> None:
    headers = {"Idempotency-Key": "one-request"}
    first = await api.http.post(api.path(), json=manifests(), headers=headers)
    for other in (
        NOOP,
        manifests(displayName="other"),
        manifests(kubeconfig=kubeconfig(token="another-token", namespace="prod")),
        manifests(MANIFESTS.replace("canary-string-0b3c", "canary-string-0b3d")),
    ):
        answer = await api.http.post(api.path(), json=other, headers=headers)
        assert answer.status_code == 409
        assert answer.json()["type"] == "urn:locktender:problem:idempotency-mismatch"
        assert answer.json()["snapshot"] == first.json()


async def test_the_same_key_in_another_workspace_is_another_task(api: RunningApi) -> None:
    headers = {"Idempotency-Key": "shared"}
    answers = [
        await api.http.post(api.path(workspace=workspace), json=NOOP, headers=headers)
        for workspace in ("acme", "other")
    ]
    assert [answer.status_code for answer in answers] == [201, 201]


@pytest.mark.parametrize("key", ["", "with space", "ü", "x" * 256])
async def test_a_malformed_idempotency_key_is_refused(api: RunningApi, key: str) -> None:
    answer = await api.http.post(api.path(), json=NOOP, headers=[(b"Idempotency-Key", key.encode())])
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["code"] == "invalid-idempotency-key"


async def test_no_submitted_secret_is_in_any_row_or_answer(api: RunningApi, module_db: TestDatabase) -> None:
    answer = await api.http.post(api.path(), json=manifests(), headers={"Idempotency-Key": "canaries"})
    assert not [canary for canary in CANARIES if canary in answer.text]
    tables = await module_db.admin.fetch(
        "select format('%I.%I', table_schema, table_name) as name from information_schema.tables "
        "where table_schema = 'locktender' and table_type = 'BASE TABLE'"
    )
    assert len(tables) > 3
    for table in tables:
        for row in await module_db.admin.fetch(f"select t::text as text from {table['name']} t"):  # noqa: S608 - names of ours
            assert not [canary for canary in CANARIES if canary in row["text"]], table["name"]


async def test_the_names_of_secret_keys_stay_and_their_values_do_not(api: RunningApi, module_db: TestDatabase) -> None:
    made = (await api.http.post(api.path(), json=manifests())).json()
    stored = json.loads(
        await module_db.admin.fetchval(
            "select source::text from locktender.deployment_task where id = $1", made["task"]["id"]
        )
    )
    assert stored["sensitiveKeys"] == {"1": ["data/password", "stringData/other"]}
    assert [document["index"] for document in stored["documents"]] == [0, 1, 2]
    assert stored["documents"][1]["body"]["data"] == {"password": "<locktender:withheld>"}


@pytest.fixture
async def keyless() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as rig:
        yield rig


async def test_the_claiming_runner_gets_the_credentials_and_the_whole_objects(
    db: TestDatabase, keyless: NatsRig
) -> None:
    nats = NatsServer("embedded", keyless.nats_url, {})
    runner = await connect_bus(keyless, "runner")
    try:
        async with running_api(db, nats) as api:
            made = (await api.http.post(api.path(), json=manifests())).json()
            assert api.api.deployments.custodian.held_bytes > 0
            [claimed] = await db.writes.claim([made["task"]["id"]], new_owner("runner-1"), 60)
            assert claimed.custodian is not None
            lease = claimed.lease
            client = CustodyClient(runner)
            payload = json.loads(await client.fetch(claimed.custodian, lease.row_id, lease.epoch, "acme", 5))
            assert "canary-token-7d1e" in payload["kubeconfig"]
            # The Deployment repeats the password, so its whole body is in custody as well.
            assert set(payload["secrets"]) == {"0", "1"}
            assert payload["secrets"]["1"]["stringData"] == {"other": "canary-string-0b3c"}
            await api.http.post(api.path(f"/{made['task']['id']}/cancel"))
    finally:
        await runner.close()


async def test_a_task_cancelled_before_its_start_leaves_nothing_in_custody(db: TestDatabase, keyless: NatsRig) -> None:
    nats = NatsServer("embedded", keyless.nats_url, {})
    async with running_api(db, nats) as api:
        made = (await api.http.post(api.path(), json=manifests())).json()
        await api.http.post(api.path(f"/{made['task']['id']}/cancel"))
        assert api.api.deployments.custodian.held_bytes == 0


async def test_a_restarted_api_has_lost_the_credentials_and_says_so(db: TestDatabase, keyless: NatsRig) -> None:
    nats = NatsServer("embedded", keyless.nats_url, {})
    async with running_api(db, nats) as api:
        made = (await api.http.post(api.path(), json=manifests())).json()
    runner = await connect_bus(keyless, "runner")
    try:
        async with running_api(db, nats):
            [claimed] = await db.writes.claim([made["task"]["id"]], new_owner("runner-1"), 60)
            assert claimed.custodian is not None
            with pytest.raises(CredentialsLost):
                await CustodyClient(runner, grace=0.2).fetch(
                    claimed.custodian, claimed.lease.row_id, claimed.lease.epoch, "acme", 5
                )
    finally:
        await runner.close()


async def test_a_repeated_request_is_recognised_after_a_restart_with_another_key(
    db: TestDatabase, nats_server: NatsServer
) -> None:
    headers, answers = {"Idempotency-Key": "again"}, []
    for _ in range(2):
        async with running_api(db, nats_server) as api:
            answers.append(await api.http.post(api.path(), json=manifests(), headers=headers))
    assert [answer.status_code for answer in answers] == [201, 200]
    assert answers[0].json()["task"]["id"] == answers[1].json()["task"]["id"]


async def test_a_lost_database_is_said_and_asking_again_makes_one_task(
    db: TestDatabase, nats_server: NatsServer
) -> None:
    where = urlsplit(db.dsn)
    async with TcpProxy(str(where.hostname), where.port or 5432) as proxy:
        login = where.netloc.rpartition("@")[0]
        through = SecretStr(where._replace(netloc=f"{login}@127.0.0.1:{proxy.port}").geturl())
        async with running_api(db, nats_server, database_url=through) as api:
            headers = {"Idempotency-Key": "through-the-outage"}
            await proxy.cut()
            for _ in range(3):
                answer = await api.http.post(api.path(), json=manifests(), headers=headers)
                assert answer.status_code == 503
                assert answer.json()["type"] == "urn:locktender:problem:unavailable"
                assert answer.headers["retry-after"] == "1"
            await proxy.heal()
            made = [await api.http.post(api.path(), json=manifests(), headers=headers) for _ in range(2)]
            assert [answer.status_code for answer in made] == [201, 200]
            assert len((await api.http.get(api.path())).json()["tasks"]) == 1
