"""The streams of deployments, put together."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from litestar.handlers import HTTPRouteHandler

from locktender.api.flights import Flights
from locktender.api.http.auth import Gate
from locktender.api.stacks.reading.queries import DeploymentReading
from locktender.api.stacks.watching.bells import Bells, open_bells
from locktender.api.stacks.watching.controller import WatchRoutes
from locktender.api.stacks.watching.follow import DeploymentWatch, Watched
from locktender.api.stacks.watching.lookout import CALM_SECONDS, Lookout
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.stacks.views import DeploymentView
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database
from locktender.storage.stacks.revisions import Mark, marks


class WatchSide:
    """The routes, and the end of their streams."""

    def __init__(self, handlers: list[HTTPRouteHandler], bells: Bells) -> None:
        self.handlers = handlers
        self.bells = bells

    def close(self) -> None:
        """End every stream, when the process stops and before the server drains."""
        self.bells.close()


@asynccontextmanager
async def open_watching(
    *,
    database: Database,
    bus: Bus,
    clock: Clock,
    gate: Gate,
    reading: DeploymentReading,
    heartbeat: float,
    most_streams: int,
    calm: float = CALM_SECONDS,
) -> AsyncGenerator[WatchSide]:
    """The streams for the life of a process.

    Args:
        database: the record.
        bus: where events come from.
        clock: of the process.
        gate: in front of the route.
        reading: what the record says of a deployment.
        heartbeat: seconds between two signs of life of a stream.
        most_streams: streams at the same time.
        calm: seconds after which a change whose event was lost is noticed.
    """

    async def read(watched: Watched) -> DeploymentView:
        return await reading.one(watched.workspace, watched.stack, watched.number)

    async def marks_of(deployments: Sequence[UUID]) -> dict[UUID, Mark]:
        return await marks(database, deployments)

    async with open_bells(bus, clock, most=most_streams) as (bells, group):
        lookout = Lookout(marks_of, bells, clock, calm=calm)
        watch = DeploymentWatch(
            flights=Flights(group, read), bells=bells, lookout=lookout, clock=clock, heartbeat=heartbeat
        )
        looking = group.create_task(lookout.run())
        try:
            yield WatchSide(WatchRoutes(gate=gate, reading=reading, watch=watch).handlers(), bells)
        finally:
            looking.cancel()
