"""What belongs to remote runners, put together."""

from litestar.handlers import HTTPRouteHandler

from locktender.api.http.auth import Gate
from locktender.api.http.tracing import Tracing
from locktender.api.stacks.remote.controller import RemoteRoutes
from locktender.api.stacks.remote.gate import GroupGate
from locktender.api.stacks.remote.offers import Offers
from locktender.api.stacks.remote.pool_routes import PoolRoutes
from locktender.api.stacks.remote.pools import Pools
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database


def remote_handlers(
    database: Database, bus: Bus, gate: Gate, tracing: Tracing, deadlines: StackDeadlines
) -> list[HTTPRouteHandler]:
    """The routes of remote runners and of their groups, relative to the version prefix."""
    offers = Offers(database=database, bus=bus, deadlines=deadlines)
    runners = RemoteRoutes(gate=GroupGate(database), offers=offers, tracing=tracing)
    people = PoolRoutes(gate=gate, pools=Pools(database=database, bus=bus), tracing=tracing)
    return [*runners.handlers(), *people.handlers()]
