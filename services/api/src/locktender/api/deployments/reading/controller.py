"""The routes that only look at tasks: HTTP in, a use case, HTTP out."""

from litestar import get
from litestar.handlers import HTTPRouteHandler

from locktender.api.deployments.addressed import PROJECT_TASKS, TASK, TASKS, project_of, task_of, workspace_of
from locktender.api.deployments.reading.presentation import presentation_route
from locktender.api.deployments.reading.queries import DeploymentQueries, Listing, ProjectionQueries
from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.gated import HttpRequest, gated
from locktender.api.http.query import Query
from locktender.api.http.responses import Answer, json_answer, snapshot_answer
from locktender.api.settings import RequestLimits
from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.deployments.models import EventPage
from locktender.contracts.deployments.projection import ProjectionList

_MOST = 2**53


class ReadingRoutes:
    """The handlers, bound to their use cases."""

    def __init__(
        self, *, gate: Gate, queries: DeploymentQueries, projections: ProjectionQueries, limits: RequestLimits
    ) -> None:
        self._gate = gate
        self._queries = queries
        self._projections = projections
        self._limits = limits

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate, but how states are shown is for all."""
        return [
            get(TASKS)(gated(self._gate, Verb.LIST, self.list)),
            get(TASK)(gated(self._gate, Verb.READ, self.show)),
            get(TASK + "/events")(gated(self._gate, Verb.READ, self.events)),
            get(TASK + "/plan")(gated(self._gate, Verb.READ, self.plan)),
            get(PROJECT_TASKS)(gated(self._gate, Verb.LIST, self.project)),
            presentation_route(),
        ]

    async def list(self, request: HttpRequest, _: Principal) -> Answer:
        """One page."""
        query = Query(request)
        listing = Listing(
            workspace=workspace_of(request),
            statuses=query.choices("status", TaskStatus),
            project=query.name("project"),
            limit=query.number("limit", self._limits.page_default, least=1, most=self._limits.page_max),
            cursor=query.one("cursor"),
        )
        return json_answer(await self._queries.page(listing))

    async def show(self, request: HttpRequest, _: Principal) -> Answer:
        """One snapshot."""
        return snapshot_answer(await self._queries.snapshot(workspace_of(request), task_of(request)))

    async def events(self, request: HttpRequest, _: Principal) -> Answer:
        """Events above a revision."""
        query = Query(request)
        after = query.number("after", 0, least=0, most=_MOST)
        limit = query.number("limit", self._limits.page_default, least=1, most=self._limits.page_max)
        found = await self._queries.events(workspace_of(request), task_of(request), after=after, limit=limit)
        return json_answer(EventPage(events=found))

    async def plan(self, request: HttpRequest, _: Principal) -> Answer:
        """What the latest run was going to do."""
        return json_answer(await self._queries.plan(workspace_of(request), task_of(request)))

    async def project(self, request: HttpRequest, _: Principal) -> Answer:
        """The newest tasks of one project."""
        board = await self._projections.board(project_of(request))
        return json_answer(ProjectionList(projections=tuple(each.projection for each in board.shown)))
