"""What the client sends, over which connection, and how long it keeps trying."""

import asyncio
import datetime as dt
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import (
    KubeDenied,
    KubeTerminating,
    KubeUnavailable,
    KubeUnknownKind,
    Outage,
)
from locktender.integrations.kube.retry import retrying
from locktender.testkit.clock import FakeClock

ACCESS = ClusterAccess(server="https://cluster.example/prefix", token="canary-token")
KINDS = {"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


class Script:
    """Answers by method and path, and keeps what was asked."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.get(f"{request.method} {request.url.path}", (404, {}))
        return answer if isinstance(answer, httpx.Response) else httpx.Response(answer[0], json=answer[1])


def scripted(answers: dict[str, Any], **options: Any) -> tuple[Script, KubeClient]:
    script = Script(answers)
    return script, KubeClient(ACCESS, transport=httpx.MockTransport(script), **options)


async def test_an_apply_is_a_strict_server_side_apply_in_our_name() -> None:
    place = "/prefix/api/v1/namespaces/team/configmaps/a"
    script, client = scripted({"GET /prefix/api/v1": (200, KINDS), f"PATCH {place}": (201, MAP)})
    async with client:
        await client.apply(MAP, namespace="team", dry_run=True)
    request = script.asked[-1]
    assert (request.method, request.url.path) == ("PATCH", place)
    assert dict(request.url.params) == {
        "fieldManager": "locktender",
        "force": "false",
        "fieldValidation": "Strict",
        "dryRun": "All",
    }
    assert request.headers["content-type"] == "application/apply-patch+yaml"
    assert request.headers["authorization"] == "Bearer canary-token"
    assert json.loads(request.content) == {**MAP, "metadata": {"name": "a", "namespace": "team"}}
    assert MAP["metadata"] == {"name": "a"}


async def test_names_cannot_leave_their_place_in_the_path() -> None:
    script, client = scripted({"GET /prefix/api/v1": (200, KINDS)})
    async with client:
        await client.get(ObjectRef(api_version="v1", kind="ConfigMap", name="../secrets/x?y", namespace="a/b"))
    assert script.asked[-1].url.raw_path == b"/prefix/api/v1/namespaces/a%2Fb/configmaps/..%2Fsecrets%2Fx%3Fy"


async def test_kinds_are_asked_for_once_and_once_more_after_a_miss() -> None:
    script, client = scripted({"GET /prefix/api/v1": (200, KINDS)})
    async with client:
        for _ in range(3):
            await client.resource_for("v1", "ConfigMap")
        assert len(script.asked) == 1
        with pytest.raises(KubeUnknownKind):
            await client.resource_for("v1", "Widget")
        widgets = {"name": "widgets", "kind": "Widget", "namespaced": False}
        script.answers["GET /prefix/api/v1"] = (200, {"resources": [*KINDS["resources"], widgets]})
        assert (await client.resource_for("v1", "Widget")).path(name="w") == "/api/v1/widgets/w"
        assert len(script.asked) == 3


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"null", b"\xff", b"[" * 100_000])
async def test_a_success_that_is_no_object_is_no_answer(body: bytes) -> None:
    _, client = scripted({"GET /prefix/version": httpx.Response(200, content=body)})
    async with client:
        with pytest.raises(KubeUnavailable, match="not JSON"):
            await client.version()


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b'{"type": "ERROR", "object": {"code": 500, "message": "no"}}',
        b'{"type": "NEWS"}',
        b'{"type": 7, "object": 8}',
    ],
)
async def test_a_watch_that_talks_nonsense_ends_with_an_error(line: bytes) -> None:
    events = httpx.Response(200, content=line + b"\n")
    _, client = scripted({"GET /prefix/api/v1": (200, KINDS), "GET /prefix/api/v1/configmaps": events})
    async with client:
        resource = await client.resource_for("v1", "ConfigMap")
        with pytest.raises(KubeUnavailable):
            async for _ in client.watch(resource, resource_version="1"):
                pass


async def test_a_line_of_a_watch_without_end_is_not_kept() -> None:
    events = httpx.Response(200, content=b"x" * 20_000)
    answers = {"GET /prefix/api/v1": (200, KINDS), "GET /prefix/api/v1/configmaps": events}
    _, client = scripted(answers, body_limit=10_000)
    async with client:
        resource = await client.resource_for("v1", "ConfigMap")
        with pytest.raises(KubeUnavailable, match="larger than 10000 bytes"):
            async for _ in client.watch(resource, resource_version="1"):
                pass


async def test_an_answer_that_trickles_is_given_up_as_a_whole() -> None:
    class Trickle(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for _ in range(1_000):
                await asyncio.sleep(0.02)
                yield b" "

    _, client = scripted(
        {"GET /prefix/version": httpx.Response(200, stream=Trickle())}, connect_seconds=0.1, read_seconds=0.1
    )
    async with client, asyncio.timeout(5):
        with pytest.raises(KubeUnavailable) as caught:
            await client.version()
    assert caught.value.outage is Outage.TIMEOUT


def certificate(directory: Path) -> tuple[str, str, Path]:
    """A certificate for `kube.internal` alone that vouches for itself, its key, and both in a file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube.internal")])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("kube.internal")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM).decode()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    path = directory / "server.pem"
    path.write_text(pem + secret, encoding="ascii")
    return pem, secret, path


async def test_a_client_certificate_is_shown_and_the_expected_name_is_checked(tmp_path: Path) -> None:
    pem, key, path = certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=pem)
    context.load_cert_chain(path)
    context.verify_mode = ssl.CERT_REQUIRED
    subjects: list[object] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        subjects.append(writer.get_extra_info("peercert")["subject"])
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n{"a": 42}')
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        known = ClusterAccess(address, pem, None, pem, key, tls_server_name="kube.internal")
        async with KubeClient(known) as client:
            assert await client.version() == {"a": 42}
        assert subjects == [((("commonName", "kube.internal"),),)]
        async with KubeClient(ClusterAccess(address, pem, None, pem, key)) as client:
            with pytest.raises(KubeUnavailable, match="certificate is not trusted"):
                await client.version()


class Failing:
    """A call that raises what it was given, one after the other, and then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def busy(retry_after: float | None = None) -> KubeUnavailable:
    return KubeUnavailable("busy", Outage.OVERLOADED, retry_after=retry_after)


async def outcome(call: Failing, clock: FakeClock, deadline_seconds: float) -> str | Exception:
    result: list[str | Exception] = []

    async def attempt() -> None:
        try:
            result.append(await retrying(call, clock=clock, deadline_seconds=deadline_seconds, chance=lambda: 0.5))
        except (KubeUnavailable, KubeTerminating, KubeDenied) as error:
            result.append(error)

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(attempt())
        while not result:
            await clock.elapse(0.1)
    return result[0]


async def test_trying_again_waits_as_long_as_the_server_asked() -> None:
    clock, call = FakeClock(), Failing(busy(retry_after=7))
    assert await outcome(call, clock, 60) == "done"
    assert 7 <= clock.monotonic() < 8


async def test_trying_again_ends_with_the_deadline() -> None:
    clock, call = FakeClock(), Failing(*[busy() for _ in range(100)])
    assert isinstance(await outcome(call, clock, 5), KubeUnavailable)
    assert clock.monotonic() <= 5
    assert 3 <= call.calls <= 10


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    clock, call = FakeClock(), Failing(busy(retry_after=30))
    assert isinstance(await outcome(call, clock, 10), KubeUnavailable)
    assert clock.monotonic() < 1


async def test_what_is_going_away_is_waited_for() -> None:
    clock, call = FakeClock(), Failing(KubeTerminating("going"), KubeTerminating("going"))
    assert await outcome(call, clock, 60) == "done"


@pytest.mark.parametrize("error", [KubeUnavailable("no", Outage.TLS), KubeDenied("no", verb="get", resource="pods")])
async def test_what_waiting_does_not_change_is_not_tried_again(error: Exception) -> None:
    call = Failing(error)
    assert await outcome(call, FakeClock(), 60) is error
    assert call.calls == 1
