"""Stacks, their variables and what is read of their deployments, put together."""

from collections.abc import Collection

from litestar.handlers import HTTPRouteHandler

from locktender.api.http.auth import Gate
from locktender.api.http.paging import Cursors
from locktender.api.http.tracing import Tracing
from locktender.api.settings import RequestLimits
from locktender.api.stacks.catalogue.commands import StackCommands
from locktender.api.stacks.catalogue.controller import StackRoutes
from locktender.api.stacks.catalogue.queries import StackQueries
from locktender.api.stacks.reading.controller import DeploymentReadingRoutes
from locktender.api.stacks.reading.queries import DeploymentReading
from locktender.api.stacks.variables.commands import VariableCommands
from locktender.api.stacks.variables.controller import VariableRoutes
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.sources.address import SCHEMES
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database


def stack_reading_handlers(
    *,
    database: Database,
    gate: Gate,
    cipher: Cipher,
    cursors: Cursors,
    bus: Bus,
    limits: RequestLimits,
    tracing: Tracing,
    deadlines: StackDeadlines,
    schemes: Collection[str] = SCHEMES,
    signs: bool = False,
) -> list[HTTPRouteHandler]:
    """The routes, relative to the version prefix.

    `schemes`: what addresses of repositories may begin with. `signs`: whether runs can be given identity tokens.
    """
    stacks = StackRoutes(
        gate=gate,
        commands=StackCommands(database=database, cipher=cipher, bus=bus, schemes=schemes),
        queries=StackQueries(database, cursors),
        limits=limits,
        tracing=tracing,
    )
    variables = VariableRoutes(
        gate=gate,
        variables=VariableCommands(database=database, cipher=cipher, bus=bus, signs=signs),
        limits=limits,
        tracing=tracing,
    )
    deployments = DeploymentReadingRoutes(
        gate=gate, reading=DeploymentReading(database, cursors, deadlines), limits=limits
    )
    return [*stacks.handlers(), *variables.handlers(), *deployments.handlers()]
