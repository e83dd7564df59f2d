"""The routes of runs in the process of a test: real HTTP on a free port, a real database, a real bus."""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
from litestar import Litestar, Router

from locktender.api.http.auth import AdminToken, Gate
from locktender.api.http.paging import Cursors
from locktender.api.http.problems import exception_handlers
from locktender.api.http.tracing import Tracing
from locktender.api.server import HttpServer
from locktender.api.stacks.runs.bodies import RunLimits
from locktender.api.stacks.runs.side import RunSide, RunSideGiven, open_runs
from locktender.contracts.kernel.lease import Lease
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.vocabulary import RunFailureReason
from locktender.contracts.stacks.wire import RunFailure
from locktender.integrations.objects.keys import KeyRing
from locktender.integrations.objects.store import ObjectStore
from locktender.runtime.bus import Bus
from locktender.runtime.clock import SystemClock
from locktender.runtime.connect import connect_bus
from locktender.storage.kernel.database import Database, Transaction
from locktender.storage.stacks.assign import take
from locktender.storage.stacks.complete import end_unfinished, held_run
from locktender.storage.stacks.told import Told
from locktender.testkit.api import ADMIN_TOKEN, OBJECT_KEY, Guest
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import RUNNER, StackRig

_BODY = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Connection:
    """What a bus is connected with."""

    nats_url: str
    nats_seed_file: Any


@dataclass(frozen=True, slots=True)
class HeldToken:
    """A run that a test holds as its runner would.

    Attributes:
        bearer: the header of the run protocol.
        basic: user and password of the state backend.
    """

    lease: Lease
    stack_id: UUID
    token: str

    @property
    def id(self) -> UUID:
        """The run."""
        return self.lease.row_id

    @property
    def bearer(self) -> dict[str, str]:
        """The header of the run protocol."""
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def basic(self) -> httpx.BasicAuth:
        """User and password of the state backend."""
        return httpx.BasicAuth(str(self.id), self.token)

    def path(self, rest: str) -> str:
        """An address of the run protocol."""
        return f"/v1/runs/{self.id}{rest}"

    def state(self, rest: str = "") -> str:
        """An address of the state backend."""
        return f"/v1/stacks/{self.stack_id}/state{rest}"


@dataclass(frozen=True, slots=True)
class RunApi:
    """The routes, answering. `http` has the token of the administrator."""

    db: TestDatabase
    side: RunSide
    store: ObjectStore
    keys: KeyRing
    bus: Bus
    url: str
    http: httpx.AsyncClient

    async def take(self, rig: StackRig, deployment_id: UUID, *, ttl: float = 60.0) -> HeldToken:
        """Take the pending run of a deployment over, with a token that the test knows."""
        return await take_run(rig, deployment_id, ttl=ttl)


async def take_run(rig: StackRig, deployment_id: UUID, *, ttl: float = 60.0) -> HeldToken:
    """Take the pending run of a deployment over, with a token that the test knows."""
    run = await rig.open_run(deployment_id)
    assert run is not None
    token = secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode()).digest()
    taken = await take(rig.db.database, run["id"], owner=RUNNER, ttl=ttl, token_hash=digest)
    assert taken is not None
    return HeldToken(taken.lease, rig.stack_id, token)


@asynccontextmanager
async def running_runs(
    db: TestDatabase,
    nats: NatsServer,
    *,
    heartbeat: float = 10.0,
    most_streams: int = 300,
    limits: RunLimits | None = None,
) -> AsyncGenerator[RunApi]:
    """The routes for as long as the block lasts."""
    clock, keys = SystemClock(), KeyRing([OBJECT_KEY])
    bus = await connect_bus(_Connection(nats.url, nats.seeds.get("api")), "api", clock=clock)
    store = ObjectStore.open("memory:///", keys)
    issuers = (AdminToken(hashlib.sha256(ADMIN_TOKEN.encode()).hexdigest()), Guest())
    given = RunSideGiven(
        database=db.database, bus=bus, clock=clock, store=store, keys=keys, gate=Gate(issuers),
        cursors=Cursors(OBJECT_KEY), public_url=None, deadlines=StackDeadlines(),
        tracing=Tracing(exported=False), limits=limits or RunLimits(), heartbeat=heartbeat, most_streams=most_streams,
    )  # fmt: skip
    try:
        async with open_runs(given) as side, _served(side) as url, _client(url) as http:
            yield RunApi(db, side, store, keys, bus, url, http)
    finally:
        await bus.close()


@asynccontextmanager
async def _served(side: RunSide) -> AsyncGenerator[str]:
    app = Litestar(
        [Router("/v1", route_handlers=side.handlers)], exception_handlers=exception_handlers(),
        request_max_body_size=_BODY, openapi_config=None, logging_config=None,
    )  # fmt: skip
    server = HttpServer(app, "127.0.0.1", 0, drain_seconds=2)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        await server.started()
        try:
            yield server.url
        finally:
            side.tails.close()
            server.stop()


def _client(url: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=20, limits=limits, trust_env=False)


async def lose_run(database: Database, run_id: UUID) -> None:
    """End a run as the reaper does when its runner has fallen silent."""

    async def work(tx: Transaction) -> None:
        owner, row = await held_run(tx, run_id)
        failure = RunFailure(reason=RunFailureReason.LOST, message="silent")
        await end_unfinished(tx, owner, row, Told("reaper"), failure)

    await database.transact(work)
