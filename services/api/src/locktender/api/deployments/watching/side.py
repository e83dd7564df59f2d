"""The streams of deployments, put together."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID

from litestar.handlers import HTTPRouteHandler

from locktender.api.deployments.reading.queries import DeploymentQueries, ProjectionQueries
from locktender.api.deployments.watching.controller import WatchRoutes
from locktender.api.deployments.watching.lookout import Lookout
from locktender.api.deployments.watching.streams import DeploymentStreams
from locktender.api.events.consumer import EventConsumer
from locktender.api.events.fanout import Fanout, open_fanout
from locktender.api.flights import Flights
from locktender.api.http.auth import Gate
from locktender.api.settings import ApiSettings
from locktender.contracts.deployments.models import Snapshot
from locktender.runtime.service import Service
from locktender.storage.deployments.projections import ProjectionReads


class WatchSide:
    """The routes, and the fan-out that feeds their streams."""

    def __init__(self, handlers: list[HTTPRouteHandler], fanout: Fanout) -> None:
        self.handlers = handlers
        self.fanout = fanout


@asynccontextmanager
async def open_watching(
    service: Service[ApiSettings],
    gate: Gate,
    *,
    marks: ProjectionReads,
    queries: DeploymentQueries,
    projections: ProjectionQueries,
) -> AsyncGenerator[WatchSide]:
    """The streams for the life of a process, over one fan-out. Their shared look ends with it.

    Args:
        service: the process.
        gate: in front of the routes.
        marks: what the shared look reads.
        queries: what the record says of a task.
        projections: what it says of a project.
    """
    limits, clock = service.settings.limits, service.clock

    async def find(task: tuple[str, UUID]) -> Snapshot | None:
        return await queries.find(*task)

    async with open_fanout(service.bus, EventConsumer(service.bus), clock, most=limits.max_streams) as (fanout, group):
        lookout = Lookout(marks, fanout, clock)
        streams = DeploymentStreams(
            tasks=Flights(group, find),
            boards=Flights(group, projections.board),
            shown=Flights(group, projections.shown),
            fanout=fanout,
            lookout=lookout,
            clock=clock,
            heartbeat=limits.heartbeat_seconds,
        )
        fanout.accompany(lookout.run())
        yield WatchSide(WatchRoutes(gate=gate, queries=queries, streams=streams).handlers(), fanout)
