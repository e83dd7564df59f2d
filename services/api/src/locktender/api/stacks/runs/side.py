"""What belongs to runs, put together: protocol, states, logs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from litestar.handlers import HTTPRouteHandler

from locktender.api.http.auth import Gate
from locktender.api.http.paging import Cursors
from locktender.api.http.tracing import Tracing
from locktender.api.stacks.identity.issuer import IdentityIssuer
from locktender.api.stacks.logs.archive import LogArchive
from locktender.api.stacks.logs.controller import LogRoutes
from locktender.api.stacks.logs.follow import LogStreams
from locktender.api.stacks.logs.intake import LogIntake
from locktender.api.stacks.logs.tails import LogTails, open_tails
from locktender.api.stacks.runs.artifacts import Artifacts
from locktender.api.stacks.runs.bodies import Room, RunLimits
from locktender.api.stacks.runs.context import RunContexts
from locktender.api.stacks.runs.controller import RunRoutes
from locktender.api.stacks.runs.gate import RunGate
from locktender.api.stacks.runs.reports import RunReports
from locktender.api.stacks.runs.variables import digest_key
from locktender.api.stacks.states.backend import StateBackend
from locktender.api.stacks.states.controller import StateRoutes
from locktender.api.stacks.states.keeping import StateKeeping
from locktender.api.stacks.states.versions import StateVersions
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.keys import KeyRing
from locktender.integrations.objects.store import ObjectStore
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database, Row
from locktender.storage.stacks.logs import log_end


@dataclass(frozen=True, slots=True)
class RunSideGiven:
    """What the routes of runs stand on.

    Attributes:
        public_url: where runners reach the API, without the version prefix. None: wherever they do reach it.
        deadlines: how long a run may take.
        heartbeat: seconds between two signs of life of a stream.
        most_streams: logs that are followed at the same time.
        identity: signs who a run is. None: runs that need it fail.
    """

    database: Database
    bus: Bus
    clock: Clock
    store: ObjectStore
    keys: KeyRing
    gate: Gate
    cursors: Cursors
    public_url: str | None
    deadlines: StackDeadlines
    tracing: Tracing
    limits: RunLimits
    heartbeat: float
    most_streams: int
    identity: IdentityIssuer | None = None


@dataclass(frozen=True, slots=True)
class RunSide:
    """The routes, and the streams: close `tails` when the process stops, before the server drains."""

    handlers: list[HTTPRouteHandler]
    tails: LogTails


@asynccontextmanager
async def open_runs(given: RunSideGiven) -> AsyncGenerator[RunSide]:
    """The routes of runs, for the life of a process."""
    async with open_tails(given.bus, given.clock, most=given.most_streams) as tails:
        room, gate = Room(given.limits), RunGate(given.database)
        archive, keeping = LogArchive(given.store), StateKeeping(database=given.database, store=given.store)
        protocol = RunRoutes(
            gate=gate,
            contexts=RunContexts(
                database=given.database, cipher=Cipher(given.keys), digest_key=digest_key(given.keys),
                public_url=given.public_url, deadlines=given.deadlines, identity=given.identity,
            ),
            reports=RunReports(database=given.database, bus=given.bus, tell_ended=tails.tell_ended),
            artifacts=Artifacts(database=given.database, store=given.store),
            intake=LogIntake(
                database=given.database, archive=archive, bus=given.bus, most_bytes=given.limits.log_bytes
            ),
            limits=given.limits,
            room=room,
            tracing=given.tracing,
        )  # fmt: skip
        backend = StateBackend(gate=gate, database=given.database, keeping=keeping, room=room, limits=given.limits)
        versions = StateVersions(database=given.database, keeping=keeping, cursors=given.cursors)
        states = StateRoutes(gate=given.gate, versions=versions, room=room, limits=given.limits)
        streams = _streams(given, tails, archive)
        logs = LogRoutes(gate=given.gate, database=given.database, archive=archive, streams=streams)
        routes = [*protocol.handlers(), *backend.handlers(), *states.handlers(), *logs.handlers()]
        yield RunSide(routes, tails)


def _streams(given: RunSideGiven, tails: LogTails, archive: LogArchive) -> LogStreams:
    async def find(run_id: UUID) -> Row | None:
        return await log_end(given.database, run_id)

    return LogStreams(tails=tails, archive=archive, find=find, clock=given.clock, heartbeat=given.heartbeat)
