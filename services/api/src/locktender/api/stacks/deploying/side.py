"""The commands on stacks, put together."""

from dataclasses import dataclass

from litestar.handlers import HTTPRouteHandler

from locktender.api.http.auth import Gate
from locktender.api.http.idempotency import Digests
from locktender.api.http.tracing import Tracing
from locktender.api.stacks.deciding.admission import StackAdmission
from locktender.api.stacks.deciding.bulk import BulkSkips
from locktender.api.stacks.deciding.conflicts import Snapshots
from locktender.api.stacks.deciding.controller import DecidingRoutes
from locktender.api.stacks.deciding.decisions import Decisions, TellEnded
from locktender.api.stacks.deploying.archives import SourceArchives
from locktender.api.stacks.deploying.controller import DeployingRoutes
from locktender.api.stacks.deploying.deploy import DeployStack
from locktender.api.stacks.deploying.pins import Pins
from locktender.api.stacks.deploying.repeats import MadeRequests, Repeats
from locktender.api.stacks.deploying.retrying import RetryDeployment
from locktender.api.stacks.runs.bodies import Room
from locktender.api.stacks.runs.variables import digest_key
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.keys import KeyRing
from locktender.integrations.objects.store import ObjectStore
from locktender.integrations.sources.git_remote import GitLimits
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database


@dataclass(frozen=True, slots=True)
class CommandSideGiven:
    """What the commands stand on.

    Attributes:
        snapshots: the deployment that every command answers with.
        requests: the record of idempotency keys.
        tell_ended: wakes whoever follows the log of a run that a decision has ended.
        git: bounds of finding a ref; a request waits for it, so its deadline is short.
        archive_bytes: the largest archive of a source.
        body_seconds: until a body of JSON has arrived.
    """

    database: Database
    bus: Bus
    store: ObjectStore
    keys: KeyRing
    gate: Gate
    digests: Digests
    snapshots: Snapshots
    requests: MadeRequests
    tell_ended: TellEnded
    git: GitLimits
    room: Room
    tracing: Tracing
    archive_bytes: int
    body_seconds: float


def command_routes(given: CommandSideGiven) -> list[HTTPRouteHandler]:
    """The routes, relative to the version prefix."""
    cipher, archives = Cipher(given.keys), SourceArchives(given.store)
    admission = StackAdmission(given.gate, given.database)
    repeats = Repeats(requests=given.requests, digests=given.digests, snapshots=given.snapshots, bus=given.bus)
    deploying = DeployingRoutes(
        admission=admission,
        deploy=DeployStack(
            pins=Pins(archives=archives, cipher=cipher, limits=given.git), repeats=repeats, cipher=cipher
        ),
        retry=RetryDeployment(
            database=given.database, archives=archives, repeats=repeats, snapshots=given.snapshots, cipher=cipher
        ),
        archives=archives,
        room=given.room,
        archive_bytes=given.archive_bytes,
        body_seconds=given.body_seconds,
        tracing=given.tracing,
    )
    deciding = DecidingRoutes(
        admission=admission,
        decisions=Decisions(
            database=given.database, cipher=cipher, digest_key=digest_key(given.keys), snapshots=given.snapshots,
            bus=given.bus, tell_ended=given.tell_ended,
        ),
        bulk=BulkSkips(database=given.database, bus=given.bus, tell_ended=given.tell_ended),
        body_seconds=given.body_seconds,
        tracing=given.tracing,
    )  # fmt: skip
    return [*deploying.handlers(), *deciding.handlers()]
