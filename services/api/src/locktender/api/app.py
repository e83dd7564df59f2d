"""The composition root: what the API is made of, and its routes."""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from litestar import Litestar, Router
from litestar.handlers import HTTPRouteHandler

from locktender.api.deployments.side import DeploymentSide, open_deployments
from locktender.api.http.auth import AdminToken, Gate, Issuer
from locktender.api.http.health import health_routes
from locktender.api.http.openapi import openapi_route
from locktender.api.http.problems import exception_handlers
from locktender.api.ops import ops_endpoints
from locktender.api.server import HttpServer, announce
from locktender.api.settings import ApiSettings
from locktender.api.stacks.side import StackSide, open_stacks
from locktender.api.templates.side import open_templates
from locktender.runtime.service import Service
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import Database, open_database

VERSION_PREFIX = "/v1"


@dataclass(frozen=True, slots=True)
class Api:
    """An API that is ready to be served."""

    app: Litestar
    deployments: DeploymentSide
    stacks: StackSide

    def close_streams(self) -> None:
        """End every stream at once, so that the server can drain."""
        self.deployments.close()
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
    settings = service.settings
    gate = Gate((*issuers, *_admin(settings)))
    key = os.urandom(32) if settings.cursor_key is None else settings.cursor_key.get_secret_value().encode()
    async with (
        open_database(
            settings.database_url.get_secret_value(), name="locktender-api", size=settings.database_pool
        ) as database,
        open_templates(settings, service.clock) as templates,
        open_stacks(service, database, gate, key) as stacks,
        open_deployments(service, database, gate, key, templates) as deployments,
    ):
        _watch_health(service, database)
        handlers = [*deployments.handlers, *templates.handlers(gate, settings), *stacks.handlers]
        app = create_app(service, handlers, stacks.at_root)
        async with ops_endpoints(service.bus, deployments.custodian, deployments.fanout).serving():
            yield Api(app, deployments, stacks)


def create_app(
    service: Service[ApiSettings], handlers: list[HTTPRouteHandler], at_root: Sequence[HTTPRouteHandler] = ()
) -> Litestar:
    """The routes: `handlers` below the version prefix, `at_root` beside it."""
    versioned = Router(VERSION_PREFIX, route_handlers=handlers)
    return Litestar(
        [versioned, *health_routes(service.health), openapi_route(), *at_root],
        exception_handlers=exception_handlers(),
        request_max_body_size=service.settings.limits.max_body_bytes,
        openapi_config=None,
        logging_config=None,
        debug=False,
    )


def _watch_health(service: Service[ApiSettings], database: Database) -> None:
    writes = DeploymentWrites(database)

    async def check() -> None:
        # A write that touches no row: a server that only reads refuses it all the same.
        await writes.renew([], ttl=1.0)

    service.health.add("database", check)


def _admin(settings: ApiSettings) -> tuple[Issuer, ...]:
    return () if settings.admin_token_sha256 is None else (AdminToken(settings.admin_token_sha256),)
