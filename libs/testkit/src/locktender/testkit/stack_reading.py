"""The routes that make and show stacks, over real HTTP messages, a real database and a real bus."""

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
from pydantic import SecretStr

from locktender.api.app import create_app
from locktender.api.http.auth import AdminToken, Gate, Issuer, Token
from locktender.api.http.authorize import Grant, Principal
from locktender.api.http.paging import Cursors
from locktender.api.http.tracing import Tracing
from locktender.api.settings import ApiSettings
from locktender.api.stacks.reading_side import stack_reading_handlers
from locktender.contracts.kernel.faults import NO_FAULTS
from locktender.contracts.kernel.ids import new_owner
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.keys import KeyRing
from locktender.runtime.clock import SystemClock
from locktender.runtime.connect import connect_bus
from locktender.runtime.health import Health
from locktender.runtime.service import Service
from locktender.runtime.stop import Stop
from locktender.testkit.api import ADMIN_TOKEN
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer

WRITER_TOKEN = "writer-token-for-tests"  # noqa: S105 - opens nothing but the API of a test
SOURCE = {"kind": "git", "url": "https://git.example/infra.git", "ref": "main", "path": "network"}


class Writer:
    """An issuer that knows one principal: somebody who may make and change what is in `acme`, and confirm nothing."""

    async def principal(self, token: Token) -> Principal | None:
        """The writer, for their token."""
        verbs = frozenset({"create", "update", "delete", "read", "list"})
        return Principal("writer", (Grant("acme", "*", "*", verbs),)) if token == WRITER_TOKEN else None


@dataclass(frozen=True, slots=True)
class StackApi:
    """Stacks over HTTP. `cipher` opens what was sealed."""

    http: httpx.AsyncClient
    cipher: Cipher

    def path(self, rest: str = "", workspace: str = "acme") -> str:
        """An address below the stacks of a workspace."""
        return f"/v1/workspaces/{workspace}/stacks{rest}"

    async def create(self, name: str, workspace: str = "acme", **body: Any) -> dict[str, Any]:
        """A stack; what is shown of it."""
        answer = await self.http.post(self.path(workspace=workspace), json={"name": name, "source": SOURCE} | body)
        assert answer.status_code == HTTPStatus.CREATED, answer.text
        return answer.json()

    async def get(self, rest: str = "", workspace: str = "acme", **parameters: Any) -> dict[str, Any]:
        """What is at an address below the stacks."""
        answer = await self.http.get(self.path(rest, workspace), params=parameters)
        assert answer.status_code == HTTPStatus.OK, answer.text
        return answer.json()


@asynccontextmanager
async def stack_api(db: TestDatabase, nats: NatsServer) -> AsyncGenerator[StackApi]:
    """The routes for as long as the block lasts."""
    settings = ApiSettings(
        database_url=SecretStr(db.dsn), nats_url=nats.url, nats_seed_file=nats.seeds.get("api"), instance="api-1",
        admin_token_sha256=hashlib.sha256(ADMIN_TOKEN.encode()).hexdigest(),
    )  # fmt: skip
    stop, clock = Stop(), SystemClock()
    health = Health(stop)
    bus = await connect_bus(settings, "api", clock=clock, on_closed=stop.request)
    try:
        service = Service("api", new_owner("api-1"), stop, clock, bus, settings, health, NO_FAULTS)
        issuers: tuple[Issuer, ...] = (Writer(), AdminToken(str(settings.admin_token_sha256)))
        cipher = Cipher(KeyRing([b"k" * 32]))
        handlers = stack_reading_handlers(
            database=db.database, gate=Gate(issuers), cipher=cipher, cursors=Cursors(b"c" * 32), bus=bus,
            limits=settings.limits, tracing=Tracing(exported=False), deadlines=StackDeadlines(),
        )  # fmt: skip
        transport = httpx.ASGITransport(create_app(service, handlers))  # pyright: ignore[reportArgumentType]  # Litestar's own types of ASGI
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://api", headers=headers) as http:
            yield StackApi(http, cipher)
    finally:
        await bus.close()
