"""The composition root: what the API is made of, and its routes."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from litestar import Litestar, Router

from locktender.api.deployments.cancel import CancelDeployment
from locktender.api.deployments.controller import DeploymentRoutes
from locktender.api.deployments.create import CreateDeployment
from locktender.api.deployments.preview import PreviewDeployment
from locktender.api.deployments.queries import DeploymentQueries
from locktender.api.deployments.source import Examiner
from locktender.api.deployments.streams import DeploymentStreams
from locktender.api.events.consumer import EventConsumer
from locktender.api.events.fanout import Fanout, open_fanout
from locktender.api.flights import Flights
from locktender.api.http.auth import AdminToken, Gate, Issuer
from locktender.api.http.health import health_routes
from locktender.api.http.idempotency import Digests
from locktender.api.http.openapi import openapi_route
from locktender.api.http.paging import Cursors
from locktender.api.http.problems import exception_handlers
from locktender.api.http.tracing import Tracing
from locktender.api.ops import ops_endpoints
from locktender.api.server import HttpServer, announce
from locktender.api.settings import ApiSettings
from locktender.contracts.deployments.models import Snapshot
from locktender.runtime.custody import Custodian, CustodyLimits
from locktender.runtime.service import Service
from locktender.storage.deployments.reads import DeploymentReads
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import Database, open_database

VERSION_PREFIX = "/v1"


@dataclass(frozen=True, slots=True)
class Api:
    """An API that is ready to be served."""

    app: Litestar
    fanout: Fanout
    custodian: Custodian


async def serve(service: Service[ApiSettings]) -> None:
    """Answer HTTP until the service stops; then streams end at once, and requests under way are finished."""
    settings = service.settings
    async with open_api(service) as api, asyncio.TaskGroup() as group:
        server = HttpServer(api.app, settings.http_host, settings.http_port, drain_seconds=settings.drain_seconds)
        group.create_task(server.serve())
        await server.started()
        service.health.opened()
        if settings.ready_file is not None:
            announce(settings.ready_file, server.url)
        await service.stop.wait()
        api.fanout.close()
        server.stop()


@asynccontextmanager
async def open_api(service: Service[ApiSettings], issuers: tuple[Issuer, ...] = ()) -> AsyncGenerator[Api]:
    """The API over its database and bus. `issuers` are asked before the admin token.

    Raises:
        Unavailable: the database cannot be reached.
    """
    settings, bus = service.settings, service.bus
    custodian_name = service.owner.replace("/", "-")
    async with (
        open_database(
            settings.database_url.get_secret_value(), name="locktender-api", size=settings.database_pool
        ) as database,
        open_fanout(bus, EventConsumer(bus), most=settings.limits.max_streams) as (fanout, group),
    ):
        reads = DeploymentReads(database)
        custodian = Custodian(
            custodian_name,
            clock=service.clock,
            verify=lambda task_id, epoch: reads.custody_workspace(task_id, epoch, custodian_name),
            limits=CustodyLimits(total_bytes=settings.custody_bytes, item_bytes=settings.limits.max_secret_bytes),
        )
        _watch_health(service, database)
        gate = Gate((*issuers, *_admin(settings)))
        routes = _deployments(service, database, gate, custodian, custodian_name, fanout, group)
        app = create_app(service, routes)
        async with custodian.serving(bus), ops_endpoints(bus, custodian, fanout).serving():
            yield Api(app, fanout, custodian)


def create_app(service: Service[ApiSettings], deployments: DeploymentRoutes) -> Litestar:
    """The routes."""
    versioned = Router(VERSION_PREFIX, route_handlers=deployments.handlers())
    return Litestar(
        [versioned, *health_routes(service.health), openapi_route()],
        exception_handlers=exception_handlers(),
        request_max_body_size=service.settings.limits.max_body_bytes,
        openapi_config=None,
        logging_config=None,
        debug=False,
    )


def _deployments(
    service: Service[ApiSettings],
    database: Database,
    gate: Gate,
    custodian: Custodian,
    custodian_name: str,
    fanout: Fanout,
    group: asyncio.TaskGroup,
) -> DeploymentRoutes:
    settings, bus, faults = service.settings, service.bus, service.faults
    reads, writes, deadlines = DeploymentReads(database), DeploymentWrites(database), settings.deadlines
    key = os.urandom(32) if settings.cursor_key is None else settings.cursor_key.get_secret_value().encode()
    queries = DeploymentQueries(reads, Cursors(key), deadlines)

    async def find(task: tuple[str, UUID]) -> Snapshot | None:
        return await queries.find(*task)

    examiner = Examiner(
        limits=settings.manifests,
        max_secret_bytes=settings.limits.max_secret_bytes,
        noop_runner=settings.noop_runner,
    )
    return DeploymentRoutes(
        gate=gate,
        create=CreateDeployment(
            writes=writes,
            reads=reads,
            custodian=custodian,
            custodian_name=custodian_name,
            examiner=examiner,
            digests=Digests(key),
            deadlines=deadlines,
            bus=bus,
            faults=faults,
        ),
        preview=PreviewDeployment(examiner=examiner, limits=settings.preview, clock=service.clock),
        cancel=CancelDeployment(
            writes=writes,
            reads=reads,
            custodian=custodian,
            deadlines=deadlines,
            bus=bus,
            faults=faults,
        ),
        queries=queries,
        streams=DeploymentStreams(
            queries, Flights(group, find), fanout, service.clock, settings.limits.heartbeat_seconds
        ),
        limits=settings.limits,
        tracing=Tracing(exported=settings.otlp_endpoint is not None),
    )


def _watch_health(service: Service[ApiSettings], database: Database) -> None:
    writes = DeploymentWrites(database)

    async def check() -> None:
        # A write that touches no row: a server that only reads refuses it all the same.
        await writes.renew([], ttl=1.0)

    service.health.add("database", check)


def _admin(settings: ApiSettings) -> tuple[Issuer, ...]:
    return () if settings.admin_token_sha256 is None else (AdminToken(settings.admin_token_sha256),)
