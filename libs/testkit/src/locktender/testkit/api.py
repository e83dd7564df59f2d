"""The API in the process of a test: real HTTP on a free port, over a real database and a real bus."""

import asyncio
import hashlib
import json
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
from pydantic import SecretStr

from locktender.api.app import Api, open_api
from locktender.api.http.auth import Issuer, Token
from locktender.api.http.authorize import Grant, Principal
from locktender.api.server import HttpServer
from locktender.api.settings import ApiSettings, ObjectSettings
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.envelope import Envelope
from locktender.contracts.kernel.faults import NO_FAULTS
from locktender.contracts.kernel.ids import new_owner
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.runtime.connect import connect_bus
from locktender.runtime.health import Health
from locktender.runtime.service import Service
from locktender.runtime.stop import Stop
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer

ADMIN_TOKEN = "admin-token-for-tests"  # noqa: S105 - opens nothing but the API of a test
GUEST_TOKEN = "guest-token-for-tests"  # noqa: S105 - as above
OBJECT_KEY = b"k" * 32
"""Encrypts what belongs to stacks."""

NOOP: dict[str, Any] = {"source": {"kind": "noop"}, "target": {"project": "shop"}}
"""A request that needs no cluster."""


class Guest:
    """An issuer that knows one principal: somebody who may look at workspace `acme`, and at nothing else."""

    async def principal(self, token: Token) -> Principal | None:
        """The guest, for the guest's token."""
        grant = Grant("acme", "*", "*", frozenset({"read", "list", "watch"}))
        return Principal("guest", (grant,)) if token == GUEST_TOKEN else None


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream; comments have the name `comment`."""

    name: str
    data: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class RunningApi:
    """An API that answers.

    Attributes:
        http: a client with the admin token.
        stop: requests the end, as a signal would.
    """

    api: Api
    url: str
    http: httpx.AsyncClient
    stop: Stop
    bus: Bus

    def path(self, rest: str = "", workspace: str = "acme") -> str:
        """An address below the tasks of a workspace."""
        return f"/v1/workspaces/{workspace}/deployment-tasks{rest}"

    async def create(self, workspace: str = "acme", **body: Any) -> dict[str, Any]:
        """A no-op task; its snapshot."""
        answer = await self.http.post(self.path(workspace=workspace), json=NOOP | body)
        assert answer.status_code == HTTPStatus.CREATED, answer.text
        return answer.json()

    async def stream(self, path: str, **headers: str) -> AsyncGenerator[ServerEvent]:
        """The events of a stream until it ends. Close it, or read it to its end."""
        async with self.http.stream("GET", path, headers=headers, timeout=30) as response:
            if response.status_code != HTTPStatus.OK:
                await response.aread()
                raise AssertionError(response.text)
            fields: dict[str, str] = {}
            async for line in response.aiter_lines():
                if line:
                    name, _, value = line.partition(":")
                    fields[name or "comment"] = value.removeprefix(" ")
                elif fields:
                    name = "comment" if "comment" in fields else fields.get("event", "retry")
                    yield ServerEvent(name, fields.get("data", ""), fields.get("id"))
                    fields = {}


@asynccontextmanager
async def running_api(
    db: TestDatabase, nats: NatsServer, *, clock: Clock | None = None, issuers: tuple[Issuer, ...] = (), **settings: Any
) -> AsyncGenerator[RunningApi]:
    """An API for as long as the block lasts, with the no-op runner on. `issuers` know others than guest and admin."""
    given: dict[str, Any] = {
        "database_url": SecretStr(db.dsn), "nats_url": nats.url, "nats_seed_file": nats.seeds.get("api"),
        "objects": ObjectSettings(url="memory:///", keys=SecretStr(b64encode(OBJECT_KEY).decode())),
        "instance": "api-1", "noop_runner": True, "drain_seconds": 2.0,
        "admin_token_sha256": hashlib.sha256(ADMIN_TOKEN.encode()).hexdigest(),
    }  # fmt: skip
    made = ApiSettings(**(given | settings))
    stop, used = Stop(), clock or SystemClock()
    health = Health(stop)
    bus = await connect_bus(made, "api", clock=used, on_closed=stop.request)
    try:
        health.add("bus", bus.check)
        health.opened()
        service = Service("api", new_owner(made.instance), stop, used, bus, made, health, NO_FAULTS)
        async with open_api(service, (Guest(), *issuers)) as api, _served(api, stop) as url, _client(url) as http:
            yield RunningApi(api, url, http, stop, bus)
    finally:
        await bus.close()


@asynccontextmanager
async def _served(api: Api, stop: Stop) -> AsyncGenerator[str]:
    server = HttpServer(api.app, "127.0.0.1", 0, drain_seconds=2)

    async def end() -> None:
        await stop.wait()
        api.close_streams()
        server.stop()

    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        group.create_task(end())
        await server.started()
        try:
            yield server.url
        finally:
            stop.request()


def _client(url: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=20, trust_env=False)


async def taken(stream: AsyncGenerator[ServerEvent], count: int, seconds: float = 20) -> list[ServerEvent]:
    """The next events of a stream, comments and reconnect times left out; it is closed afterwards.

    Raises:
        TimeoutError: they did not come in time.
    """
    found: list[ServerEvent] = []
    async with asyncio.timeout(seconds), aclosing(stream):
        async for event in stream:
            if event.name not in {"comment", "retry"}:
                found.append(event)
            if len(found) >= count:
                break
    return found


async def relay_events(db: TestDatabase, bus: Bus) -> int:
    """Send the events that wait in the outbox, as the relay would, but as core messages. How many there were."""
    rows = await db.admin.fetch(
        "update locktender.outbox set published_at = locktender.now() where published_at is null "
        "returning seq, event_id, subject, type, aggregate, revision, tombstone, created_at, data::text as data"
    )
    events = [row for row in sorted(rows, key=lambda row: row["seq"]) if row["subject"].startswith("lt.evt.")]
    for row in events:
        envelope = Envelope(
            event_id=row["event_id"], subject=row["subject"], type=row["type"], aggregate=row["aggregate"],
            revision=row["revision"], tombstone=row["tombstone"], time=row["created_at"], data=row["data"],
        )  # fmt: skip
        await bus.publish(envelope.subject, envelope.body(), headers=envelope.headers())
    return len(events)


def kubeconfig(*, token: str = "canary-token-7d1e", namespace: str | None = None, **user: str) -> str:  # noqa: S107 - a canary
    """A kubeconfig that is acceptable, unless `user` adds what is not."""
    context: dict[str, Any] = {"cluster": "c", "user": "u"} | ({"namespace": namespace} if namespace else {})
    return json.dumps(
        {
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": "https://cluster.example:6443"}}],
            "users": [{"name": "u", "user": {"token": token} | user}],
            "contexts": [{"name": "x", "context": context}],
        }
    )  # fmt: skip
