"""The routes that show deployments of stacks: HTTP in, a use case, HTTP out. Nothing is decided here."""

from litestar import get
from litestar.handlers import HTTPRouteHandler

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.gated import HttpRequest
from locktender.api.http.responses import Answer, json_answer
from locktender.api.settings import RequestLimits
from locktender.api.stacks.admitted import STACK, admitted, number_of, query_of, stack_of, workspace_of
from locktender.api.stacks.reading.presented import presentation_route
from locktender.api.stacks.reading.queries import DeploymentListing, DeploymentReading
from locktender.contracts.stacks.flow import DeploymentStatus
from locktender.contracts.stacks.vocabulary import DeploymentMode

DEPLOYMENTS = STACK + "/deployments"
DEPLOYMENT = DEPLOYMENTS + "/{number:str}"
QUEUE = "/workspaces/{workspace:str}/stack-queue"


class DeploymentReadingRoutes:
    """The handlers, bound to their use cases."""

    def __init__(self, *, gate: Gate, reading: DeploymentReading, limits: RequestLimits) -> None:
        self._gate = gate
        self._reading = reading
        self._limits = limits

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate, but for the table of states."""
        return [
            get(DEPLOYMENTS)(admitted(self._gate, Verb.LIST, self.list)),
            get(DEPLOYMENT)(admitted(self._gate, Verb.READ, self.show)),
            get(DEPLOYMENT + "/activity")(admitted(self._gate, Verb.READ, self.activity)),
            get(QUEUE)(admitted(self._gate, Verb.LIST, self.queue)),
            presentation_route(),
        ]

    async def list(self, request: HttpRequest, _: Principal) -> Answer:
        """One page."""
        query = query_of(request, "status", "mode", "limit", "cursor")
        listing = DeploymentListing(
            workspace=workspace_of(request),
            stack=stack_of(request),
            statuses=query.choices("status", DeploymentStatus),
            modes=query.choices("mode", DeploymentMode),
            limit=query.number("limit", self._limits.page_default, least=1, most=self._limits.page_max),
            cursor=query.one("cursor"),
        )
        return json_answer(await self._reading.page(listing))

    async def show(self, request: HttpRequest, _: Principal) -> Answer:
        """One deployment, with its revision as entity tag."""
        shown = await self._reading.one(workspace_of(request), stack_of(request), number_of(request))
        return json_answer(shown, headers={"ETag": f'"{shown.revision}"'})

    async def activity(self, request: HttpRequest, _: Principal) -> Answer:
        """Who did what."""
        return json_answer(await self._reading.activity(workspace_of(request), stack_of(request), number_of(request)))

    async def queue(self, request: HttpRequest, _: Principal) -> Answer:
        """What waits."""
        query = query_of(request, "limit")
        limit = query.number("limit", self._limits.page_default, least=1, most=self._limits.page_max)
        return json_answer(await self._reading.queue(workspace_of(request), limit=limit))
