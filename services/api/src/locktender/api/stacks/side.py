"""Everything of stacks that the API serves, put together."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from litestar import HttpMethod, route
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from locktender.api.http.auth import Gate
from locktender.api.http.gated import HttpRequest
from locktender.api.http.idempotency import Digests
from locktender.api.http.operations import Operation
from locktender.api.http.paging import Cursors
from locktender.api.http.problems import ProblemError
from locktender.api.http.tracing import Tracing
from locktender.api.settings import ApiSettings
from locktender.api.stacks.deploying.side import CommandSideGiven, command_routes
from locktender.api.stacks.described import PARTS
from locktender.api.stacks.gate import StackGate
from locktender.api.stacks.identity.controller import identity_routes
from locktender.api.stacks.identity.issuer import IdentityIssuer
from locktender.api.stacks.inventory.analyses import Analyses
from locktender.api.stacks.inventory.controller import InventoryRoutes
from locktender.api.stacks.inventory.queries import InventoryQueries
from locktender.api.stacks.logs.tails import LogTails
from locktender.api.stacks.reading.queries import DeploymentReading
from locktender.api.stacks.reading_side import stack_reading_handlers
from locktender.api.stacks.remote.side import remote_handlers
from locktender.api.stacks.runs.bodies import Room
from locktender.api.stacks.runs.side import RunSideGiven, open_runs
from locktender.api.stacks.watching.side import WatchSide, open_watching
from locktender.contracts.kernel.problems import Problem
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.keys import KeyRing
from locktender.integrations.objects.store import ObjectStore
from locktender.integrations.sources.git_remote import NORMAL, GitLimits
from locktender.integrations.sources.reach import Reach
from locktender.runtime.service import Service
from locktender.storage.kernel.database import Database
from locktender.storage.stacks.request_record import RequestRecord

_REF_SECONDS = 20.0
"""For finding out what a branch stands for: somebody waits for the answer."""
_VERSIONED = "/v1/"


@dataclass(frozen=True, slots=True)
class StackSide:
    """The routes below the version prefix, those at the root of the server, and what ends the streams."""

    handlers: list[HTTPRouteHandler]
    at_root: list[HTTPRouteHandler]
    streams: tuple[WatchSide | LogTails, ...] = ()

    def close(self) -> None:
        """End the streams, so that the server can drain."""
        for each in self.streams:
            each.close()


@asynccontextmanager
async def open_stacks(
    service: Service[ApiSettings], database: Database, gate: Gate, key: bytes
) -> AsyncGenerator[StackSide]:
    """Stacks for the life of a process. Without an object store every route says that they are off.

    Args:
        service: the process.
        database: the record.
        gate: in front of every route that people use.
        key: signs cursors and keys the digests of idempotent requests.

    Raises:
        ValueError: the object store of the settings cannot be used, or the keys of identity tokens cannot.
        Unavailable: its folder cannot be made.
    """
    settings = service.settings
    identity = IdentityIssuer.of(settings.identity, settings.public_url, service.clock)
    at_root = identity_routes(identity)
    if settings.objects.url is None or settings.objects.keys is None:
        yield StackSide(_all_off(), at_root)
        return
    keys = KeyRing.parse(settings.objects.keys.get_secret_value())
    store = ObjectStore.open(settings.objects.url, keys, most_bytes=settings.stack_runs.largest)
    gate = StackGate(gate.issuers, database)
    tracing, cursors = Tracing(exported=settings.otlp_endpoint is not None), Cursors(key)
    reading = DeploymentReading(database, cursors, settings.stacks)
    shown = stack_reading_handlers(
        database=database, gate=gate, cipher=Cipher(keys), cursors=cursors, bus=service.bus, limits=settings.limits,
        tracing=tracing, deadlines=settings.stacks, schemes=settings.stack_git_schemes,
        signs=identity is not None,
    )  # fmt: skip
    inventory = InventoryRoutes(gate=gate, queries=InventoryQueries(database, Analyses(store)))
    remote = remote_handlers(database, service.bus, gate, tracing, settings.stacks)
    given = RunSideGiven(
        database=database, bus=service.bus, clock=service.clock, store=store, keys=keys, gate=gate, cursors=cursors,
        public_url=settings.public_url, deadlines=settings.stacks, tracing=tracing, limits=settings.stack_runs,
        heartbeat=settings.limits.heartbeat_seconds, most_streams=settings.limits.max_streams,
        identity=identity,
    )  # fmt: skip
    watched = open_watching(
        database=database, bus=service.bus, clock=service.clock, gate=gate, reading=reading,
        heartbeat=settings.limits.heartbeat_seconds, most_streams=settings.limits.max_streams,
    )  # fmt: skip
    async with open_runs(given) as runs, watched as watching:
        commands = command_routes(
            CommandSideGiven(
                database=database, bus=service.bus, store=store, keys=keys, gate=gate, digests=Digests(key),
                snapshots=reading.one, requests=RequestRecord(database), tell_ended=runs.tails.tell_ended,
                git=_git(settings), room=Room(settings.stack_runs), tracing=tracing,
                archive_bytes=settings.stack_runs.archive_bytes, body_seconds=settings.limits.body_seconds,
            )
        )  # fmt: skip
        routes = [*shown, *inventory.handlers(), *commands, *remote, *runs.handlers, *watching.handlers]
        yield StackSide(routes, at_root, (runs.tails, watching))


def _git(settings: ApiSettings) -> GitLimits:
    """How branches are looked up."""
    reach = Reach(settings.stack_git_hosts)
    return replace(NORMAL, seconds=_REF_SECONDS, schemes=settings.stack_git_schemes, reach=reach)


def _all_off() -> list[HTTPRouteHandler]:
    return [_off(each) for part in PARTS for each in part.operations if each.path.startswith(_VERSIONED)]


def _off(operation: Operation) -> HTTPRouteHandler:
    """A route that says why there is nothing behind it."""

    async def answer(request: HttpRequest) -> ASGIApp:
        del request
        detail = "stacks are off here: give the API LOCKTENDER_OBJECTS__URL and LOCKTENDER_OBJECTS__KEYS"
        raise ProblemError(Problem.UNAVAILABLE, detail)

    return route(_routed(operation.path), http_method=HttpMethod(operation.method.upper()), status_code=200)(answer)


def _routed(path: str) -> str:
    """The address of an operation as the router wants it. What follows a parameter in its segment is not routed."""
    return re.sub(r"\{(\w+)\}(?::[\w-]+)?", r"{\1:str}", path.removeprefix(_VERSIONED.rstrip("/")))
