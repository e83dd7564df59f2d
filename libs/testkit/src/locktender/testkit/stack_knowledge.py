"""The routes that show what runs found out, and that follow deployments: real HTTP, a real database, a real bus."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from litestar import Litestar, Router

from locktender.api.http.auth import AdminToken, Gate
from locktender.api.http.paging import Cursors
from locktender.api.http.problems import exception_handlers
from locktender.api.server import HttpServer
from locktender.api.stacks.inventory.analyses import Analyses, AnalysisPlace
from locktender.api.stacks.inventory.controller import InventoryRoutes
from locktender.api.stacks.inventory.queries import InventoryQueries
from locktender.api.stacks.reading.queries import DeploymentReading
from locktender.api.stacks.watching.side import WatchSide, open_watching
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.integrations.objects.store import ObjectStore
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.runtime.connect import connect_bus
from locktender.testkit.api import ADMIN_TOKEN, Guest, RunningApi, ServerEvent
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import StackRig

_KEY = b"k" * 32


@dataclass(frozen=True, slots=True)
class _Connection:
    """What a bus is connected with."""

    nats_url: str
    nats_seed_file: Path | None


@dataclass(frozen=True, slots=True)
class KnowledgeApi:
    """The routes, answering.

    Attributes:
        bus: of the API.
        outbox: of whoever may tell events.
        http: a client with the token of the administrator.
    """

    db: TestDatabase
    side: WatchSide
    store: ObjectStore
    bus: Bus
    outbox: Bus
    http: httpx.AsyncClient

    async def path(self, rig: StackRig, rest: str) -> str:
        """An address below a stack."""
        return f"/v1/workspaces/acme/stacks/{(await rig.stack())['name']}{rest}"

    async def get(self, rig: StackRig, rest: str, **parameters: Any) -> dict[str, Any]:
        """What is at an address below a stack."""
        answer = await self.http.get(await self.path(rig, rest), params=parameters)
        assert answer.status_code == HTTPStatus.OK, answer.text
        return answer.json()

    async def keep(self, rig: StackRig, run_id: UUID, analysis: bytes) -> AnalysisPlace:
        """Keep what a run told, as the run protocol does."""
        place = AnalysisPlace("acme", rig.stack_id, run_id)
        await self.store.put(place.key, analysis, once=True)
        await self.db.admin.execute("update locktender.stack_run set analysed = true where id = $1", run_id)
        return place

    async def stream(self, path: str, **headers: str) -> AsyncGenerator[ServerEvent]:
        """The events of a stream until it ends. Close it, or read it to its end."""
        async for event in RunningApi.stream(self, path, **headers):  # pyright: ignore[reportArgumentType]  # it reads nothing but `http`
            yield event


@asynccontextmanager
async def knowledge_api(
    db: TestDatabase, nats: NatsServer, *, heartbeat: float = 10.0, most_streams: int = 300, calm: float = 60.0
) -> AsyncGenerator[KnowledgeApi]:
    """The routes for as long as the block lasts. Unless `calm` is less, nothing but events tells streams of changes."""
    clock = SystemClock()
    store = ObjectStore.open("memory:///", _KEY)
    gate = Gate((AdminToken(hashlib.sha256(ADMIN_TOKEN.encode()).hexdigest()), Guest()))
    inventory = InventoryRoutes(gate=gate, queries=InventoryQueries(db.database, Analyses(store)))
    reading = DeploymentReading(db.database, Cursors(_KEY), StackDeadlines())
    async with _connected(nats, "api") as bus, _connected(nats, "outbox") as outbox:
        watching = open_watching(
            database=db.database, bus=bus, clock=clock, gate=gate, reading=reading, heartbeat=heartbeat,
            most_streams=most_streams, calm=calm,
        )  # fmt: skip
        async with watching as side, _served(side, inventory) as url, _client(url) as http:
            yield KnowledgeApi(db, side, store, bus, outbox, http)


@asynccontextmanager
async def _connected(nats: NatsServer, name: str) -> AsyncGenerator[Bus]:
    bus = await connect_bus(_Connection(nats.url, nats.seeds.get(name)), name, clock=SystemClock())
    try:
        yield bus
    finally:
        await bus.close()


@asynccontextmanager
async def _served(side: WatchSide, inventory: InventoryRoutes) -> AsyncGenerator[str]:
    routes = [*side.handlers, *inventory.handlers()]
    app = Litestar(
        [Router("/v1", route_handlers=routes)], exception_handlers=exception_handlers(), openapi_config=None,
        logging_config=None,
    )  # fmt: skip
    server = HttpServer(app, "127.0.0.1", 0, drain_seconds=2)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        await server.started()
        try:
            yield server.url
        finally:
            side.close()
            server.stop()


def _client(url: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=20, limits=limits, trust_env=False)
