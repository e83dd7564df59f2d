"""The routes of deployment tasks: HTTP in, a use case, HTTP out. Nothing is decided here."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from litestar import get, post
from litestar.handlers import HTTPRouteHandler
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import ASGIApp

from locktender.api.deployments.cancel import CancelDeployment
from locktender.api.deployments.create import CreateDeployment, Order, task_path
from locktender.api.deployments.input import SubmitInputs
from locktender.api.deployments.preview import PreviewDeployment
from locktender.api.deployments.queries import DeploymentQueries, Listing
from locktender.api.deployments.redeploy import RedeployQueries
from locktender.api.deployments.streams import DeploymentStreams
from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.body import read_json
from locktender.api.http.gated import HttpRequest, Method, gated
from locktender.api.http.idempotency import idempotency_key
from locktender.api.http.query import Query, row_id
from locktender.api.http.responses import Answer, json_answer, snapshot_answer
from locktender.api.http.sse import event_stream
from locktender.api.http.tracing import Tracing
from locktender.api.settings import RequestLimits
from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.deployments.models import EventPage

TASKS = "/workspaces/{workspace:str}/deployment-tasks"
PREVIEW = TASKS + ":preview"
TASK = TASKS + "/{task_id:str}"
_CLIENTS = frozenset({"api", "cli", "ui", "chat"})
_MOST = 2**53


class DeploymentRoutes:
    """The handlers, bound to their use cases."""

    def __init__(
        self,
        *,
        gate: Gate,
        create: CreateDeployment,
        preview: PreviewDeployment,
        cancel: CancelDeployment,
        submit: SubmitInputs,
        redeploys: RedeployQueries,
        queries: DeploymentQueries,
        streams: DeploymentStreams,
        limits: RequestLimits,
        tracing: Tracing,
    ) -> None:
        self._gate = gate
        self._create = create
        self._preview = preview
        self._cancel = cancel
        self._submit = submit
        self._redeploys = redeploys
        self._queries = queries
        self._streams = streams
        self._limits = limits
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""
        return [
            post(TASKS)(self._gated(Verb.CREATE, self.create)),
            post(PREVIEW)(self._gated(Verb.CREATE, self.preview)),
            get(TASKS)(self._gated(Verb.LIST, self.list)),
            get(TASK)(self._gated(Verb.READ, self.show)),
            get(TASK + "/events")(self._gated(Verb.READ, self.events)),
            get(TASK + "/plan")(self._gated(Verb.READ, self.plan)),
            get(TASK + "/source")(self._gated(Verb.READ, self.source)),
            get(TASK + "/redeploy")(self._gated(Verb.READ, self.redeploy)),
            post(TASK + "/input")(self._gated(Verb.SUBMIT, self.submit)),
            post(TASK + "/cancel")(self._gated(Verb.CANCEL, self.cancel)),
            get(TASK + "/timeline/stream")(self._gated(Verb.WATCH, self.watch_task)),
        ]

    async def create(self, request: HttpRequest, by: Principal) -> Answer:
        """201 with the new task, or 200 with the one that the same request made before."""
        workspace = _workspace(request)
        key = idempotency_key(request.headers.get("idempotency-key"))
        document = await read_json(request, self._limits.body_seconds)
        with self._tracing.span("deployment_task.create", request.headers) as trace:
            order = Order(workspace, by.name, _client(request), key, trace)
            made = await self._create(order, document)
        headers = {"Location": task_path(workspace, made.snapshot.task.id)}
        return snapshot_answer(made.snapshot, status=201 if made.fresh else 200, headers=headers)

    async def preview(self, request: HttpRequest, _: Principal) -> Answer:
        """What a create with the same body would do. Nothing is stored."""
        document = await read_json(request, self._limits.body_seconds)
        return json_answer(await self._preview(_workspace(request), document))

    async def list(self, request: HttpRequest, _: Principal) -> Answer:
        """One page."""
        query = Query(request)
        listing = Listing(
            workspace=_workspace(request),
            statuses=query.choices("status", TaskStatus),
            project=query.name("project"),
            limit=query.number("limit", self._limits.page_default, least=1, most=self._limits.page_max),
            cursor=query.one("cursor"),
        )
        return json_answer(await self._queries.page(listing))

    async def show(self, request: HttpRequest, _: Principal) -> Answer:
        """One snapshot."""
        return snapshot_answer(await self._queries.snapshot(_workspace(request), _task_id(request)))

    async def events(self, request: HttpRequest, _: Principal) -> Answer:
        """Events above a revision."""
        query = Query(request)
        after = query.number("after", 0, least=0, most=_MOST)
        limit = query.number("limit", self._limits.page_default, least=1, most=self._limits.page_max)
        found = await self._queries.events(_workspace(request), _task_id(request), after=after, limit=limit)
        return json_answer(EventPage(events=found))

    async def plan(self, request: HttpRequest, _: Principal) -> Answer:
        """What the latest run was going to do."""
        return json_answer(await self._queries.plan(_workspace(request), _task_id(request)))

    async def source(self, request: HttpRequest, _: Principal) -> Answer:
        """What the task deploys, as it is stored."""
        return json_answer(await self._redeploys.source(_workspace(request), _task_id(request)))

    async def redeploy(self, request: HttpRequest, _: Principal) -> Answer:
        """Whether the task can be redeployed, and what that means."""
        return json_answer(await self._redeploys.outlook(_workspace(request), _task_id(request)))

    async def submit(self, request: HttpRequest, by: Principal) -> Answer:
        """The task with its inputs on their way."""
        task_id = _task_id(request)
        document = await read_json(request, self._limits.body_seconds)
        with self._tracing.span("deployment_task.input", request.headers) as trace:
            order = Order(_workspace(request), by.name, _client(request), None, trace)
            return snapshot_answer(await self._submit(order, task_id, document))

    async def cancel(self, request: HttpRequest, by: Principal) -> Answer:
        """The task as the cancel left it."""
        with self._tracing.span("deployment_task.cancel", request.headers) as trace:
            return snapshot_answer(await self._cancel(_workspace(request), _task_id(request), by.name, trace))

    async def watch_task(self, request: HttpRequest, _: Principal) -> ASGIStreamingResponse:
        """The snapshots of one task as it changes."""
        workspace, task_id = _workspace(request), _task_id(request)
        last = request.headers.get("last-event-id", "")
        await self._queries.snapshot(workspace, task_id)
        return event_stream(self._streams.timeline(workspace, task_id, int(last) if _is_revision(last) else None))

    def _gated(self, verb: Verb, method: Method) -> Callable[..., Awaitable[ASGIApp]]:
        return gated(self._gate, verb, method)


def _workspace(request: HttpRequest) -> str:
    return str(request.path_params["workspace"])


def _client(request: HttpRequest) -> str:
    client = request.headers.get("locktender-client", "api").lower()
    return client if client in _CLIENTS else "api"


def _task_id(request: HttpRequest) -> UUID:
    return row_id(request.path_params, "task_id")


def _is_revision(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19  # noqa: PLR2004 - what a bigint holds
