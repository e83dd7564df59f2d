"""Bad input, denied callers, and trouble that tests order from the sandbox cluster."""

import asyncio
import http.client
import json
import ssl
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
APPLY = "application/apply-patch+yaml"


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster() as running:
        yield running


def config_map(name: str = "cm", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name} | metadata}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "invalid JSON at line 1"),
        (b'{"kind": "ConfigMap"', "invalid JSON"),
        (b"[]", "must be one object"),
        (b"a: b: c", "invalid YAML at line 1"),
        (b"a: &x 1\nb: *x", "cannot be read"),
        (b'{"data": {"a": "1", "a": "2"}}', 'key "a" already set in map'),
        (b"data: {}\ndata: {}", 'key "data" already set in map'),
        (b'{"data":' * 2000 + b"{}" + b"}" * 2000, "cannot be read"),
        (b'{"data":' * 300 + b"{}" + b"}" * 300, "nested more than"),
        (b"\xff\xfe", "cannot be read"),
        (b'{"metadata": {"name": "UPPER"}}', "RFC 1123"),
        (b"{}", "name or generateName is required"),
    ],
)
async def test_a_body_that_cannot_be_taken_is_refused_with_a_reason(
    cluster: SandboxCluster, body: bytes, said: str
) -> None:
    code, refused = await cluster.request("POST", CONFIG_MAPS, body)

    assert code in (400, 422)
    assert (refused["kind"], refused["status"], refused["code"]) == ("Status", "Failure", code)
    assert said in refused["message"]


async def test_a_body_beyond_the_limit_is_refused(cluster: SandboxCluster) -> None:
    code, refused = await cluster.request("POST", CONFIG_MAPS, b" " * (3 * 1024 * 1024 + 1))

    assert (code, refused["reason"]) == (413, "RequestEntityTooLarge")


async def test_a_secret_value_never_comes_back_in_an_error(cluster: SandboxCluster) -> None:
    body = b'{"metadata": {"name": "s"}, "data": {"key": "canary-in-clear!"}}'
    code, refused = await cluster.request("POST", "/api/v1/namespaces/default/secrets", body)
    cut_code, cut = await cluster.request("POST", "/api/v1/namespaces/default/secrets", body[:-3])

    assert (code, cut_code) == (422, 400)
    assert "canary" not in json.dumps([refused, cut])


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/apis/nowhere.dev/v1", 404),
        ("GET", "/apis/nowhere.dev/v1/things", 404),
        ("GET", "/api/v1/namespaces/default/deployments", 404),
        ("GET", "/api/v1/namespaces/default/pods/x/logs", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/none", 404),
        ("GET", "/openapi/v9", 404),
        ("GET", "/api/v1/nodes/sandbox/x/y", 404),
        ("POST", "/api/v1/namespaces/default/configmaps/cm", 405),
        ("PUT", CONFIG_MAPS, 405),
        ("PATCH", f"{CONFIG_MAPS}/cm", 415),
        ("GET", f"{CONFIG_MAPS}?labelSelector=((", 400),
        ("GET", f"{CONFIG_MAPS}?fieldSelector=data.a=1", 400),
        ("GET", f"{CONFIG_MAPS}?watch=true&resourceVersion=x", 400),
        ("DELETE", f"{CONFIG_MAPS}/cm?propagationPolicy=Sometimes", 400),
        ("GET", f"{CONFIG_MAPS}?limit=1&continue=!!", 400),
    ],
)
async def test_a_path_or_parameter_that_makes_no_sense_is_a_status(
    cluster: SandboxCluster, method: str, path: str, code: int
) -> None:
    answered, refused = await cluster.request(method, path)

    assert (answered, refused["kind"], refused["code"]) == (code, "Status", code)


@pytest.mark.parametrize("token", ["", "wrong", "\x7f"])
async def test_a_wrong_token_is_unauthorized(cluster: SandboxCluster, token: str) -> None:
    code, refused = await cluster.request("GET", "/api/v1/namespaces", token=token)

    assert (code, refused["reason"], refused["message"]) == (401, "Unauthorized", "Unauthorized")


async def test_rules_may_allow_what_is_denied_by_default(cluster: SandboxCluster) -> None:
    allow = {"effect": "allow", "verbs": ["get", "list"], "resources": ["configmaps"], "namespaces": ["default"]}
    token = await cluster.add_token("reader", allowed=False, rules=(allow,))

    assert (await cluster.request("GET", CONFIG_MAPS, token=token))[0] == 200
    code, refused = await cluster.request("POST", CONFIG_MAPS, config_map(), token=token)
    assert (code, refused["message"]) == (
        403,
        (
            'configmaps is forbidden: User "reader" cannot create resource "configmaps" in API group "" '
            'in the namespace "default"'
        ),
    )
    code, refused = await cluster.request("GET", "/api/v1/nodes", token=token)
    assert (code, refused["message"]) == (
        403,
        'nodes is forbidden: User "reader" cannot list resource "nodes" in API group "" at the cluster scope',
    )
    assert (await cluster.request("GET", "/sandbox/ledger", token=token))[0] == 403


async def test_a_token_stops_working_when_it_expires(cluster: SandboxCluster) -> None:
    token = await cluster.add_token("guest", expires_in=0.5)
    assert (await cluster.request("GET", CONFIG_MAPS, token=token))[0] == 200

    async with asyncio.timeout(10):
        while (await cluster.request("GET", CONFIG_MAPS, token=token))[0] != 401:  # noqa: ASYNC110 - the server's clock decides
            await asyncio.sleep(0.05)


async def test_a_fault_answers_as_often_as_asked_and_then_no_more(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "create", "resource": "configmaps", "status": 503, "count": 2})

    codes = [(await cluster.request("POST", CONFIG_MAPS, config_map()))[0] for _ in range(3)]
    assert codes == [503, 503, 201]
    table = await cluster.fault_table()
    assert (table["rules"][0]["hits"], table["rules"][0]["count"]) == (2, 0)


async def test_a_throttled_answer_says_when_to_come_back(cluster: SandboxCluster) -> None:
    await cluster.faults({"name": "cm", "status": 429, "retry_after": 7})

    def ask() -> tuple[int, str | None, dict[str, Any]]:
        context = ssl.create_default_context(cadata=cluster.ca_pem)
        host, port = cluster.server.removeprefix("https://").split(":")
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=10)
        try:
            connection.request("GET", f"{CONFIG_MAPS}/cm", headers={"authorization": f"Bearer {cluster.token}"})
            answer = connection.getresponse()
            return answer.status, answer.getheader("retry-after"), json.loads(answer.read())
        finally:
            connection.close()

    code, retry_after, status = await asyncio.to_thread(ask)
    assert (code, retry_after, status["details"]["retryAfterSeconds"]) == (429, "7", 7)


async def test_a_dropped_connection_has_no_effect_before_and_a_full_one_after(cluster: SandboxCluster) -> None:
    await cluster.faults(
        {"name": "", "verb": "create", "drop": True, "count": 1},
        {"name": "", "verb": "create", "drop": True, "after": True, "count": 1},
    )
    for name in ("before", "after"):
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError, ssl.SSLError)):
            await cluster.request("POST", CONFIG_MAPS, config_map(name))

    assert (await cluster.request("GET", f"{CONFIG_MAPS}/before"))[0] == 404
    assert (await cluster.request("GET", f"{CONFIG_MAPS}/after"))[0] == 200


async def test_a_cut_answer_ends_in_the_middle(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "create", "cut": True, "count": 1})

    with pytest.raises((http.client.IncompleteRead, ConnectionError, ssl.SSLError)):
        await cluster.request("POST", CONFIG_MAPS, config_map())
    assert (await cluster.request("GET", f"{CONFIG_MAPS}/cm"))[0] == 200


async def test_latency_delays_the_answer(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "list", "latency": 0.3, "count": 1})

    began = time.monotonic()
    code, _ = await cluster.request("GET", CONFIG_MAPS)
    assert (code, time.monotonic() - began >= 0.3) == (200, True)


async def test_the_ledger_tells_every_write_with_its_task_and_epoch(cluster: SandboxCluster) -> None:
    fence = {"locktender.dev/task": "t1", "locktender.dev/epoch": "3"}
    robot = await cluster.add_token("robot")
    body = json.dumps(config_map(annotations=fence)).encode()
    apply = f"{CONFIG_MAPS}/cm?fieldManager=locktender"
    await cluster.request("PATCH", apply, body, content_type=APPLY, token=robot)
    await cluster.faults({"verb": "patch", "status": 500, "count": 1})
    await cluster.request("PATCH", apply, body, content_type=APPLY, token=robot)
    await cluster.request("GET", f"{CONFIG_MAPS}/cm")
    await cluster.request("DELETE", f"{CONFIG_MAPS}/cm")

    entries = await cluster.ledger()
    told = [(e["user"], e["verb"], e["resource"], e["name"], e["code"], e["task"], e["epoch"]) for e in entries]
    assert told == [
        ("robot", "patch", "configmaps", "cm", 201, "t1", "3"),
        ("robot", "patch", "configmaps", "cm", 500, "t1", "3"),
        ("sandbox-admin", "delete", "configmaps", "cm", 200, None, None),
    ]
    assert entries[0]["fieldManager"] == "locktender"
    assert int(entries[0]["resourceVersion"]) > 1000
    assert [e["sequence"] for e in await cluster.ledger(since=1)] == [2, 3]


async def test_reset_empties_everything_but_what_a_cluster_has(cluster: SandboxCluster) -> None:
    await cluster.request("POST", CONFIG_MAPS, config_map())
    await cluster.faults({"status": 500})
    await cluster.reset()

    assert (await cluster.request("GET", f"{CONFIG_MAPS}/cm"))[0] == 404
    assert (await cluster.request("GET", "/api/v1/namespaces/default"))[0] == 200
    assert await cluster.ledger() == []


async def test_a_missing_namespace_is_not_found(cluster: SandboxCluster) -> None:
    code, refused = await cluster.request("POST", "/api/v1/namespaces/nowhere/configmaps", config_map())

    assert (code, refused["details"]) == (404, {"name": "nowhere", "group": "", "kind": "namespaces"})


async def test_a_watch_from_a_version_of_another_life_is_told_to_begin_again(cluster: SandboxCluster) -> None:
    for version in ("1", "9" * 15):
        code, event = await cluster.request("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=5&resourceVersion={version}")
        assert (code, event["type"], event["object"]["code"], event["object"]["reason"]) == (
            200,
            "ERROR",
            410,
            "Expired",
        )


async def test_more_pods_than_the_cluster_has_room_for_are_refused_by_quota() -> None:
    labels = {"app": "many"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
    spec = {"replicas": 10**6, "selector": {"matchLabels": labels}, "template": template}
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    async with sandbox_cluster(pods=20) as cluster, asyncio.timeout(20):
        await cluster.request("POST", deployments, {"metadata": {"name": "many"}, "spec": spec})
        message = ""
        while "exceeded quota" not in message:
            _, found = await cluster.request("GET", f"{deployments}/many")
            conditions = found.get("status", {}).get("conditions", [])
            message = " ".join(c["message"] for c in conditions if c["type"] == "ReplicaFailure")
            await asyncio.sleep(0.05)
        _, pods = await cluster.request("GET", "/api/v1/pods")

    assert "limited: pods=20" in message
    assert len(pods["items"]) == 20
