"""The routes of stacks: HTTP in, a use case, HTTP out. Nothing is decided here but what a body asks the right for."""

from litestar import delete, get, patch, post
from litestar.handlers import HTTPRouteHandler

from locktender.api.http.auth import Gate, forbidden
from locktender.api.http.authorize import Decision, Kind, Principal, Verb, authorize
from locktender.api.http.gated import HttpRequest
from locktender.api.http.responses import Answer, json_answer
from locktender.api.http.tracing import Tracing
from locktender.api.settings import RequestLimits
from locktender.api.stacks.admitted import STACK, STACKS, admitted, body_of, query_of, stack_of, workspace_of
from locktender.api.stacks.catalogue.commands import By, StackCommands, approves_by_itself
from locktender.api.stacks.catalogue.queries import StackListing, StackQueries
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.contracts.stacks.flow import DeploymentStatus
from locktender.contracts.stacks.requests import StackCreate, StackUpdate
from locktender.contracts.stacks.views import StackView
from locktender.contracts.stacks.vocabulary import AutoApproveMode
from locktender.storage.stacks.reads import StackSort

LONGEST_SEARCH = 63


class StackRoutes:
    """The handlers, bound to their use cases."""

    def __init__(
        self, *, gate: Gate, commands: StackCommands, queries: StackQueries, limits: RequestLimits, tracing: Tracing
    ) -> None:
        self._gate = gate
        self._commands = commands
        self._queries = queries
        self._limits = limits
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""
        return [
            post(STACKS)(admitted(self._gate, Verb.CREATE, self.create)),
            get(STACKS)(admitted(self._gate, Verb.LIST, self.list)),
            get(STACK)(admitted(self._gate, Verb.READ, self.show)),
            patch(STACK)(admitted(self._gate, Verb.UPDATE, self.update)),
            delete(STACK, status_code=200)(admitted(self._gate, Verb.DELETE, self.delete)),
        ]

    async def create(self, request: HttpRequest, by: Principal) -> Answer:
        """201 with the new stack."""
        asked = await body_of(request, StackCreate, self._limits.body_seconds)
        await self._may_approve(request, asked.auto_approve)
        with self._tracing.span("stack.create", request.headers) as trace:
            made = await self._commands.create(By(workspace_of(request), by.name, trace), asked)
        return _answer(made, status=201, Location=f"/v1/workspaces/{made.workspace}/stacks/{made.name}")

    async def list(self, request: HttpRequest, _: Principal) -> Answer:
        """One page."""
        query = query_of(request, "status", "project", "search", "sort", "limit", "cursor")
        sort = query.choices("sort", StackSort)[0] if query.one("sort") is not None else StackSort.CREATED
        search = query.one("search")
        if search is not None and not 0 < len(search) <= LONGEST_SEARCH:
            raise _refused(f"search for 1 to {LONGEST_SEARCH} characters of a name", "invalid-search")
        listing = StackListing(
            workspace=workspace_of(request),
            statuses=query.choices("status", DeploymentStatus),
            project=query.name("project"),
            search=search,
            sort=sort,
            limit=query.number("limit", self._limits.page_default, least=1, most=self._limits.page_max),
            cursor=query.one("cursor"),
        )
        return json_answer(await self._queries.page(listing))

    async def show(self, request: HttpRequest, _: Principal) -> Answer:
        """One stack."""
        return _answer(await self._queries.one(workspace_of(request), stack_of(request)))

    async def update(self, request: HttpRequest, by: Principal) -> Answer:
        """The stack as the change left it."""
        name, asked = stack_of(request), await body_of(request, StackUpdate, self._limits.body_seconds)
        await self._may_approve(request, asked.auto_approve)
        if asked.project is not None:
            _demand(by, workspace_of(request), asked.project)
        with self._tracing.span("stack.update", request.headers) as trace:
            return _answer(await self._commands.update(By(workspace_of(request), by.name, trace), name, asked))

    async def delete(self, request: HttpRequest, by: Principal) -> Answer:
        """What is left to say of it."""
        name = stack_of(request)
        with self._tracing.span("stack.delete", request.headers) as trace:
            return json_answer(await self._commands.delete(By(workspace_of(request), by.name, trace), name))

    async def _may_approve(self, request: HttpRequest, mode: AutoApproveMode | None) -> None:
        """Whoever lets a stack approve its plans has to be somebody who may."""
        if approves_by_itself(mode):
            await self._gate.admit(request, Kind.STACK, Verb.CONFIRM)


def _demand(by: Principal, workspace: str, project: str) -> None:
    """Whoever moves a stack to another project has to be somebody who may change those that are there."""
    if authorize(by, workspace, Kind.STACK, Verb.UPDATE, project) is not Decision.ALLOWED:
        raise forbidden(Verb.UPDATE)


def _answer(stack: StackView, *, status: int = 200, **headers: str) -> Answer:
    return json_answer(stack, status=status, headers={"ETag": f'"{stack.revision}"', **headers})


def _refused(message: str, code: str) -> Rejected:
    return Rejected([Finding(Pointer(""), message, code)])
