"""What the API knows of templates, put together: the catalogue kept fresh, packages, renderings and their routes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog
from litestar.handlers import HTTPRouteHandler

from locktender.api.http.auth import Gate
from locktender.api.settings import ApiSettings
from locktender.api.templates.controller import TemplateRoutes
from locktender.api.templates.packages import Packages
from locktender.api.templates.provisional import ProvisionalRenderer
from locktender.api.templates.queries import TemplateQueries
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.templates.catalogue import GitCatalogue, catalogue_of

_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TemplateSide:
    """The parts that others need."""

    packages: Packages
    renderer: ProvisionalRenderer

    def handlers(self, gate: Gate, settings: ApiSettings) -> list[HTTPRouteHandler]:
        """The routes of the catalogue."""
        queries = TemplateQueries(self.packages, settings.platforms, self.renderer)
        return TemplateRoutes(gate=gate, queries=queries, limits=settings.limits).handlers()


@asynccontextmanager
async def open_templates(settings: ApiSettings, clock: Clock) -> AsyncGenerator[TemplateSide]:
    """The catalogue of the settings. A repository is asked for news for as long as the block lasts."""
    catalogue = catalogue_of(settings.catalogue, clock)
    renderer = ProvisionalRenderer(clock, seconds=settings.preview.seconds, at_once=settings.preview.at_once)
    async with asyncio.TaskGroup() as group:
        keeper = None
        if isinstance(catalogue, GitCatalogue):
            keeper = group.create_task(catalogue.keep_fresh(_tell))
        try:
            yield TemplateSide(Packages(catalogue), renderer)
        finally:
            if keeper is not None:
                keeper.cancel()


def _tell(reason: str) -> None:
    _log.warning("the catalogue cannot be refreshed", reason=reason)
