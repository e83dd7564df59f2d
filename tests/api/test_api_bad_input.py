import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

import pytest

from locktender.testkit.api import ADMIN_TOKEN, NOOP, RunningApi, kubeconfig, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
ALIAS_BOMB = (
    CONFIG_MAP % "bomb"
    + "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
)


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


def deploy(text: str, config: str | None = None) -> dict[str, Any]:
    return {"source": {"kind": "manifests", "manifests": text}, "kubeconfig": config or kubeconfig()}


async def refused(api: RunningApi, body: bytes | dict[str, Any], status: int = 400) -> dict[str, Any]:
    """The problem that a body gets. Nothing was created, and nothing is held."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    before = await api.http.get(api.path(workspace="bad"))
    async with asyncio.timeout(15):
        answer = await api.http.post(
            api.path(workspace="bad"), content=content, headers={"Content-Type": "application/json"}
        )
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (await api.http.get(api.path(workspace="bad"))).json() == before.json()
    assert api.api.deployments.custodian.held_bytes == 0
    return answer.json()


def faults(problem: dict[str, Any]) -> set[tuple[str, str]]:
    return {(fault["pointer"], fault["code"]) for fault in problem["errors"]}


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        (b"", "", "malformed-json"),
        (b'{"source": {"kind": "no', "", "malformed-json"),
        (b"[1, 2]", "", "not-an-object"),
        (b'{"source": {"kind": "noop"}, "source": 1}', "/source", "duplicate-key"),
        (b'{"source": {"kind": "noop"}, "displayName": NaN}', "/displayName", "not-a-number"),
        (b'{"source": {"kind": "noop"}, "displayName": 1e999}', "/displayName", "not-a-number"),
        (b'{"source": {"kind": "noop"}, "displayName": "a\\u0000b"}', "/displayName", "nul-byte"),
        (b'{"source": {"kind": "noop"}, "displayName": "\\ud800"}', "/displayName", "lone-surrogate"),
        (b'{"source": {"kind": "noop"}, "x\\u0000": 1}', "", "unstorable-name"),
        (b'{"source": {"kind": "noop"}, "displayName": "\xff"}', "", "not-utf8"),
        (b"\xff\xfe{\x00}\x00", "", "not-utf8"),
        (b'{"a": ' + b"[" * 2000 + b"]" * 2000 + b"}", "", "too-deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", "", "malformed-json"),
        (b"{}", "/source", "required"),
        (b'{"source": {"kind": "helm"}}', "/source", "unknown-kind"),
        (b'{"source": {}}', "/source", "required"),
        (b'{"source": {"kind": "noop", "more": 1}}', "/source/more", "unknown-member"),
        (b'{"source": {"kind": "manifests"}}', "/source/manifests", "required"),
        (b'{"source": {"kind": "noop"}, "display_name": "snake"}', "/display_name", "unknown-member"),
        (b'{"source": {"kind": "noop"}, "target": {"project": "Not A Name"}}', "/target/project", "invalid-name"),
        (b'{"source": {"kind": "noop"}, "displayName": "two\\nlines"}', "/displayName", "control-character"),
        (b'{"source": {"kind": "noop"}, "displayName": 5}', "/displayName", "string-type"),
    ],
)  # fmt: skip
async def test_a_malformed_body_gets_the_place_and_the_reason(
    api: RunningApi, body: bytes, pointer: str, code: str
) -> None:
    assert (pointer, code) in faults(await refused(api, body))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no-objects"),
        ("---\n# nothing\n---\n", "no-objects"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, name: b}\n", "duplicate-key"),
        (ALIAS_BOMB, "too-many-values"),
        (CONFIG_MAP % "deep" + "data: " + "[" * 2000 + "]" * 2000, "too-deep"),
        ("just text", "not-a-mapping"),
        ("apiVersion: v1\nkind: ConfigMap\n", "missing-name"),
    ],
)
async def test_bad_manifests_name_the_field_and_the_fault(api: RunningApi, text: str, code: str) -> None:
    problem = await refused(api, deploy(text))
    assert {pointer for pointer, _ in faults(problem)} == {"/source/manifests"}
    assert code in {found for _, found in faults(problem)}, problem


@pytest.mark.parametrize(
    "user",
    [
        {"exec": {"command": "/bin/true"}},
        {"tokenFile": "/var/run/token"},
        {"client-key": "/etc/key.pem"},
        {"auth-provider": {"name": "gcp"}},
    ],
)
async def test_a_kubeconfig_that_would_run_or_read_something_is_refused(api: RunningApi, user: dict[str, Any]) -> None:
    problem = await refused(api, deploy(CONFIG_MAP % "a", kubeconfig(**user)))
    assert {pointer for pointer, _ in faults(problem)} == {"/kubeconfig"}
    assert next(iter(user)) in problem["detail"]


async def test_a_kubeconfig_that_skips_the_check_of_certificates_is_refused(api: RunningApi) -> None:
    insecure = json.loads(kubeconfig())
    insecure["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
    problem = await refused(api, deploy(CONFIG_MAP % "a", json.dumps(insecure)))
    assert "insecure-skip-tls-verify" in problem["detail"]


async def test_every_fault_of_every_member_comes_in_one_answer(api: RunningApi) -> None:
    body = deploy("just text", kubeconfig(tokenFile="/x")) | {"displayName": 5, "surplus": 1}
    pointers = {pointer for pointer, _ in faults(await refused(api, body))}
    assert pointers == {"/source/manifests", "/kubeconfig", "/displayName", "/surplus"}


async def test_manifests_without_a_kubeconfig_are_refused(api: RunningApi) -> None:
    problem = await refused(api, {"source": {"kind": "manifests", "manifests": CONFIG_MAP % "a"}})
    assert faults(problem) == {("/kubeconfig", "required")}


async def test_a_refusal_never_repeats_a_secret(api: RunningApi) -> None:
    body = deploy("just text", kubeconfig(token="canary-token-7d1e", tokenFile="canary-file-1"))
    text = json.dumps(await refused(api, body | {"displayName": ["canary-token-7d1e"]}))
    assert "canary" not in text


async def test_secrets_that_no_message_can_carry_are_refused(api: RunningApi) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: big}\nstringData: {a: %s}\n" % ("x" * 600_000)
    assert faults(await refused(api, deploy(secret))) == {("/source/manifests", "secrets-too-large")}


async def test_a_body_over_the_limit_is_refused_before_it_is_read(api: RunningApi) -> None:
    problem = await refused(api, b'{"displayName": "' + b"x" * (8 * 1024 * 1024) + b'"}', status=413)
    assert problem["type"] == "urn:locktender:problem:too-large"


async def test_a_body_over_the_limit_is_refused_without_a_declared_length(api: RunningApi) -> None:
    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(140):
            yield b" " * 65_536

    answer = await api.http.post(api.path(), content=chunks(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


async def test_a_body_cut_in_half_creates_nothing_and_hangs_nobody(api: RunningApi) -> None:
    parts = urlsplit(api.url)
    body = json.dumps(NOOP).encode()
    head = (
        f"POST {api.path(workspace='cut')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(head.encode() + body[: len(body) // 2])
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await api.http.get(api.path(workspace="cut"))).json()["tasks"] == []


async def test_a_body_that_never_ends_gets_an_answer(db: TestDatabase, nats_server: NatsServer) -> None:
    async with running_api(db, nats_server, limits={"body_seconds": 0.2}) as api:
        parts = urlsplit(api.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        head = (
            f"POST {api.path()} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        writer.write(head.encode())
        async with asyncio.timeout(10):
            assert b" 400 " in await reader.readline()
        writer.close()
        await writer.wait_closed()


async def test_the_noop_runner_is_off_unless_it_is_switched_on(db: TestDatabase, nats_server: NatsServer) -> None:
    async with running_api(db, nats_server, noop_runner=False) as api:
        assert faults(await refused(api, NOOP)) == {("/source/kind", "noop-is-off")}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-yaml", ""])
async def test_a_body_of_another_media_type_is_refused(api: RunningApi, kind: str) -> None:
    answer = await api.http.post(api.path(), content=b"{}", headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert answer.json()["type"] == "urn:locktender:problem:unsupported-media-type"
