"""What the read side is made of: the streams, and the routes of projects."""

import asyncio
from uuid import UUID

from locktender.api.deployments.canvas import PlaceOnCanvas
from locktender.api.deployments.lookout import Lookout
from locktender.api.deployments.project_controller import ProjectRoutes
from locktender.api.deployments.queries import DeploymentQueries, ProjectionQueries
from locktender.api.deployments.streams import DeploymentStreams
from locktender.api.events.fanout import Fanout
from locktender.api.flights import Flights
from locktender.api.http.auth import Gate
from locktender.api.http.tracing import Tracing
from locktender.api.settings import ApiSettings
from locktender.contracts.deployments.models import Snapshot
from locktender.runtime.service import Service
from locktender.storage.deployments.projections import ProjectionReads
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import Database


class ReadSide:
    """Streams and the routes of projects, over one fan-out. The shared look of the streams ends with the fan-out."""

    def __init__(
        self,
        service: Service[ApiSettings],
        database: Database,
        queries: DeploymentQueries,
        gate: Gate,
        fanout: Fanout,
        group: asyncio.TaskGroup,
    ) -> None:
        limits = service.settings.limits
        reads = ProjectionReads(database)
        projections = ProjectionQueries(reads, limits.grace_seconds)
        lookout = Lookout(reads, fanout, service.clock)

        async def find(task: tuple[str, UUID]) -> Snapshot | None:
            return await queries.find(*task)

        self.streams = DeploymentStreams(
            tasks=Flights(group, find),
            boards=Flights(group, projections.board),
            shown=Flights(group, projections.shown),
            fanout=fanout,
            lookout=lookout,
            clock=service.clock,
            heartbeat=limits.heartbeat_seconds,
        )
        self.projects = ProjectRoutes(
            gate=gate,
            place=PlaceOnCanvas(
                writes=DeploymentWrites(database), queries=queries, projections=projections, bus=service.bus
            ),
            projections=projections,
            streams=self.streams,
            body_seconds=limits.body_seconds,
            tracing=Tracing(exported=service.settings.otlp_endpoint is not None),
        )
        fanout.accompany(lookout.run())
