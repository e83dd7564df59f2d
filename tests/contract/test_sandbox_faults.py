"""Trouble on the wire, as a client with a plain socket sees it."""

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{CONFIG_MAPS}?watch=true&allowWatchBookmarks=true&resourceVersion=0"


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster() as running:
        yield running


class Raw:
    """One connection on which one request was sent."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def all(self, seconds: float = 5) -> bytes:
        """Everything until the connection ends. Raises what the connection ends with, when it is no orderly end."""
        async with asyncio.timeout(seconds):
            return await self._reader.read()

    async def until(self, said: bytes) -> bytes:
        async with asyncio.timeout(5):
            return await self._reader.readuntil(said)

    async def quiet(self, seconds: float) -> bool:
        """Whether nothing comes, not even an end, for so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._reader.read(1)
        except TimeoutError:
            return True
        return False


@contextlib.asynccontextmanager
async def asked(cluster: SandboxCluster, path: str, method: str = "GET", body: object = None) -> AsyncIterator[Raw]:
    host, port = cluster.server.removeprefix("https://").split(":")
    context = ssl.create_default_context(cadata=cluster.ca_pem)
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
    raw = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {cluster.token}\r\nconnection: close\r\n"
    writer.write(f"{head}content-length: {len(raw)}\r\n\r\n".encode() + raw)
    try:
        yield Raw(reader)
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError, ssl.SSLError):
            await writer.wait_closed()


def config_map(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"a": "x" * 200}}


def lines_of(answer: bytes) -> list[bytes]:
    """The lines of a chunked stream."""
    body, rest = b"", answer.partition(b"\r\n\r\n")[2]
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size or b"0", 16)
        body, rest = body + rest[:length], rest[length + 2 :]
    return body.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (409, "Conflict"),
        (410, "Expired"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ],
)
async def test_an_ordered_status_is_a_status_object_with_retry_after(
    cluster: SandboxCluster, status: int, reason: str
) -> None:
    await cluster.faults({"verb": "create", "status": status, "retry_after": 3, "count": 1})
    refused = await cluster.answer("POST", CONFIG_MAPS, config_map("a"))

    assert (refused.status, refused.body["reason"], refused.headers["retry-after"]) == (status, reason, "3")
    assert refused.body["details"]["retryAfterSeconds"] == 3
    assert (await cluster.request("GET", f"{CONFIG_MAPS}/a"))[0] == 404


async def test_a_reset_arrives_before_the_first_byte_and_has_no_effect(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "create", "reset": True, "count": 1})
    async with asked(cluster, CONFIG_MAPS, "POST", config_map("a")) as raw:
        with pytest.raises(ConnectionResetError):
            await raw.all()

    assert (await cluster.request("GET", f"{CONFIG_MAPS}/a"))[0] == 404


async def test_a_reset_after_the_effect_leaves_the_effect(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "create", "reset": True, "after": True, "count": 1})
    async with asked(cluster, CONFIG_MAPS, "POST", config_map("a")) as raw:
        with pytest.raises(ConnectionResetError):
            await raw.all()

    assert (await cluster.request("GET", f"{CONFIG_MAPS}/a"))[0] == 200


async def test_a_dropped_connection_ends_without_a_byte(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "get", "drop": True, "count": 1})
    async with asked(cluster, f"{CONFIG_MAPS}/a") as raw:
        assert await raw.all() == b""


async def test_a_silent_watch_is_accepted_and_then_says_nothing(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "watch", "silent": True})
    async with asked(cluster, WATCH) as raw:
        assert b" 200 " in await raw.until(b"\r\n\r\n")
        await cluster.request("POST", CONFIG_MAPS, config_map("a"))
        assert await raw.quiet(0.4)


async def test_a_watch_falls_silent_after_some_events(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "watch", "silent": True, "events": 1})
    async with asked(cluster, WATCH) as raw:
        await raw.until(b"\r\n\r\n")
        await raw.until(b'"ADDED"')
        await raw.until(b"\n\r\n")
        await cluster.request("POST", CONFIG_MAPS, config_map("a"))
        assert await raw.quiet(0.4)


async def test_a_silent_answer_never_comes(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "list", "silent": True, "count": 1})
    async with asked(cluster, CONFIG_MAPS) as raw:
        await raw.until(b"\r\n\r\n")
        assert await raw.quiet(0.4)


async def test_a_watch_may_end_early_in_good_order(cluster: SandboxCluster) -> None:
    for name in ("a", "b"):
        await cluster.request("POST", CONFIG_MAPS, config_map(name))
    await cluster.faults({"verb": "watch", "ends": True, "events": 2, "count": 1})
    async with asked(cluster, WATCH) as raw:
        answer = await raw.all()

    assert answer.endswith(b"0\r\n\r\n")
    assert [json.loads(line)["type"] for line in lines_of(answer)] == ["ADDED", "ADDED"]


async def test_a_watch_may_break_in_the_middle_of_a_line(cluster: SandboxCluster) -> None:
    for name in ("a", "b"):
        await cluster.request("POST", CONFIG_MAPS, config_map(name))
    await cluster.faults({"verb": "watch", "cut": True, "events": 1, "count": 1})
    async with asked(cluster, WATCH) as raw:
        answer = await raw.all()

    whole, half = lines_of(answer)
    assert json.loads(whole)["type"] == "ADDED"
    assert not half.endswith(b"\n")
    with pytest.raises(json.JSONDecodeError):
        json.loads(half)
    assert not answer.endswith(b"0\r\n\r\n")


async def test_a_watch_may_be_reset_after_some_events(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "watch", "reset": True, "events": 1, "count": 1})
    async with asked(cluster, WATCH) as raw:
        with pytest.raises(ConnectionResetError):
            await raw.all()


async def test_a_cut_answer_promises_more_than_it_sends(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "list", "cut": True, "count": 1})
    async with asked(cluster, CONFIG_MAPS) as raw:
        head, _, body = (await raw.all()).partition(b"\r\n\r\n")

    promised = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
    assert 0 < len(body) < promised


async def test_a_trickling_answer_takes_its_time(cluster: SandboxCluster) -> None:
    await cluster.request("POST", CONFIG_MAPS, config_map("a"))
    await cluster.faults({"verb": "get", "name": "a", "trickle": 1000, "count": 1})
    began = time.monotonic()
    code, found = await cluster.request("GET", f"{CONFIG_MAPS}/a")

    assert (code, found["data"]["a"]) == (200, "x" * 200)
    assert time.monotonic() - began >= 0.3


async def test_latency_and_another_fault_add_up(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "get", "latency": 0.3, "status": 503, "count": 1})
    began = time.monotonic()

    assert (await cluster.request("GET", f"{CONFIG_MAPS}/a"))[0] == 503
    assert time.monotonic() - began >= 0.3


async def test_an_unknown_fault_is_refused(cluster: SandboxCluster) -> None:
    code, refused = await cluster.request("PUT", "/sandbox/faults", {"rules": [{"explode": True}]})

    assert (code, refused["message"]) == (400, "a fault rule has a field that is not known")
