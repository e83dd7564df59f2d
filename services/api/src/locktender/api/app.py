"""The composition root: what the API is made of, and its routes."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from litestar import Litestar, Router
from litestar.handlers import HTTPRouteHandler

from locktender.api.deployments.cancel import CancelDeployment
from locktender.api.deployments.controller import DeploymentRoutes
from locktender.api.deployments.create import CreateDeployment
from locktender.api.deployments.input import SubmitInputs
from locktender.api.deployments.lineage import Lineage
from locktender.api.deployments.manifested import ManifestExaminer
from locktender.api.deployments.presentation import presentation_route
from locktender.api.deployments.preview import PreviewDeployment
from locktender.api.deployments.queries import DeploymentQueries
from locktender.api.deployments.read_side import ReadSide
from locktender.api.deployments.redeploy import RedeployQueries
from locktender.api.deployments.source import Examiner
from locktender.api.deployments.templated import TemplateExaminer
from locktender.api.events.consumer import EventConsumer
from locktender.api.events.fanout import Fanout, open_fanout
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
from locktender.api.stacks.side import StackSide, open_stacks
from locktender.api.templates.side import TemplateSide, open_templates
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
    stacks: StackSide

    def close_streams(self) -> None:
        """End every stream at once, so that the server can drain."""
        self.fanout.close()
        self.stacks.close()


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
        api.close_streams()
        server.stop()


@asynccontextmanager
async def open_api(service: Service[ApiSettings], issuers: tuple[Issuer, ...] = ()) -> AsyncGenerator[Api]:
    """The API over its database and bus. `issuers` are asked before the admin token.

    Raises:
        Unavailable: the database cannot be reached.
    """
    settings, bus = service.settings, service.bus
    custodian_name = service.owner.replace("/", "-")
    gate = Gate((*issuers, *_admin(settings)))
    key = os.urandom(32) if settings.cursor_key is None else settings.cursor_key.get_secret_value().encode()
    async with (
        open_database(
            settings.database_url.get_secret_value(), name="locktender-api", size=settings.database_pool
        ) as database,
        open_fanout(bus, EventConsumer(bus), service.clock, most=settings.limits.max_streams) as (fanout, group),
        open_templates(settings, service.clock) as templates,
        open_stacks(service, database, gate, key) as stacks,
    ):
        reads = DeploymentReads(database)
        custodian = Custodian(
            custodian_name,
            clock=service.clock,
            verify=lambda task_id, epoch: reads.custody_workspace(task_id, epoch, custodian_name),
            limits=CustodyLimits(total_bytes=settings.custody_bytes, item_bytes=settings.limits.max_secret_bytes),
        )
        _watch_health(service, database)
        handlers = _deployments(
            service, database, gate, custodian, custodian_name, fanout, group, templates=templates, key=key
        )
        app = create_app(service, [*handlers, *templates.handlers(gate, settings), *stacks.handlers])
        async with custodian.serving(bus), ops_endpoints(bus, custodian, fanout).serving():
            yield Api(app, fanout, custodian, stacks)


def create_app(service: Service[ApiSettings], handlers: list[HTTPRouteHandler]) -> Litestar:
    """The routes."""
    versioned = Router(VERSION_PREFIX, route_handlers=[*handlers, presentation_route()])
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
    *,
    templates: TemplateSide,
    key: bytes,
) -> list[HTTPRouteHandler]:
    settings, bus, faults = service.settings, service.bus, service.faults
    reads, writes, deadlines = DeploymentReads(database), DeploymentWrites(database), settings.deadlines
    queries = DeploymentQueries(reads, Cursors(key), deadlines)

    read_side = ReadSide(service, database, queries, gate, fanout, group)
    lineage = Lineage(reads, deadlines)
    examiner = _examiner(settings, templates)
    tasks = DeploymentRoutes(
        gate=gate,
        create=CreateDeployment(
            writes=writes,
            reads=reads,
            custodian=custodian,
            custodian_name=custodian_name,
            examiner=examiner,
            lineage=lineage,
            digests=Digests(key),
            deadlines=deadlines,
            bus=bus,
            faults=faults,
        ),
        preview=PreviewDeployment(
            examiner=examiner,
            lineage=lineage,
            renderer=templates.renderer,
            manifests=settings.manifests,
            limits=settings.preview,
            clock=service.clock,
        ),
        submit=SubmitInputs(
            writes=writes,
            reads=reads,
            custodian=custodian,
            custodian_name=custodian_name,
            packages=templates.packages,
            max_secret_bytes=settings.limits.max_secret_bytes,
            deadlines=deadlines,
            bus=bus,
            faults=faults,
        ),
        redeploys=RedeployQueries(reads, templates.packages),
        cancel=CancelDeployment(
            writes=writes,
            reads=reads,
            custodian=custodian,
            deadlines=deadlines,
            bus=bus,
            faults=faults,
        ),
        queries=queries,
        streams=read_side.streams,
        limits=settings.limits,
        tracing=Tracing(exported=settings.otlp_endpoint is not None),
    )
    return [*tasks.handlers(), *read_side.projects.handlers()]


def _examiner(settings: ApiSettings, templates: TemplateSide) -> Examiner:
    most = settings.limits.max_secret_bytes
    return Examiner(
        manifests=ManifestExaminer(limits=settings.manifests, max_secret_bytes=most),
        templates=TemplateExaminer(packages=templates.packages, platforms=settings.platforms, max_secret_bytes=most),
        noop_runner=settings.noop_runner,
    )


def _watch_health(service: Service[ApiSettings], database: Database) -> None:
    writes = DeploymentWrites(database)

    async def check() -> None:
        # A write that touches no row: a server that only reads refuses it all the same.
        await writes.renew([], ttl=1.0)

    service.health.add("database", check)


def _admin(settings: ApiSettings) -> tuple[Issuer, ...]:
    return () if settings.admin_token_sha256 is None else (AdminToken(settings.admin_token_sha256),)
