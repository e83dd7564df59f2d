"""The routes of deployment tasks: HTTP in, a use case, HTTP out. Nothing is decided here."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from litestar import Request, Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream
from pydantic import BaseModel

from locktender.api.deployments.cancel import CancelDeployment
from locktender.api.deployments.create import CreateDeployment, Order, task_path
from locktender.api.deployments.queries import DeploymentQueries, Listing
from locktender.api.deployments.streams import DeploymentStreams
from locktender.api.http.auth import caller, permission
from locktender.api.http.authorize import Kind, Verb
from locktender.api.http.body import read_json
from locktender.api.http.idempotency import idempotency_key
from locktender.api.http.query import Query, is_name, row_id
from locktender.api.http.sse import event_stream
from locktender.api.settings import RequestLimits
from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.deployments.models import EventPage, Snapshot
from locktender.contracts.kernel.errors import NotFound
from locktender.runtime.traces import extract, inject, tracer

TASKS = "/workspaces/{workspace:str}/deployment-tasks"
TASK = TASKS + "/{task_id:str}"
PROJECT_STREAM = "/workspaces/{workspace:str}/projects/{project:str}/deployment-tasks/stream"
_CLIENTS = frozenset({"api", "cli", "ui", "chat"})
_MOST = 2**53
_tracer = tracer(__name__)

HttpRequest = Request[Any, Any, Any]


class DeploymentRoutes:
    """The handlers, bound to their use cases."""

    def __init__(
        self,
        *,
        create: CreateDeployment,
        cancel: CancelDeployment,
        queries: DeploymentQueries,
        streams: DeploymentStreams,
        limits: RequestLimits,
    ) -> None:
        self._create = create
        self._cancel = cancel
        self._queries = queries
        self._streams = streams
        self._limits = limits

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix."""
        kind = Kind.DEPLOYMENT_TASK
        return [
            post(TASKS, opt=permission(kind, Verb.CREATE))(_plain(self.create)),
            get(TASKS, opt=permission(kind, Verb.LIST))(_plain(self.list)),
            get(TASK, opt=permission(kind, Verb.READ))(_plain(self.show)),
            get(TASK + "/events", opt=permission(kind, Verb.READ))(_plain(self.events)),
            post(TASK + "/cancel", status_code=200, opt=permission(kind, Verb.CANCEL))(_plain(self.cancel)),
            get(TASK + "/timeline/stream", opt=permission(kind, Verb.WATCH))(_plain_stream(self.watch_task)),
            get(PROJECT_STREAM, opt=permission(kind, Verb.WATCH))(_plain_stream(self.watch_project)),
        ]

    async def create(self, request: HttpRequest) -> Response[bytes]:
        """201 with the new task, or 200 with the one that the same request made before."""
        workspace = _workspace(request)
        key = idempotency_key(request.headers.get("idempotency-key"))
        document = await read_json(request, self._limits.body_seconds)
        client = request.headers.get("locktender-client", "api").lower()
        with _tracer.start_as_current_span("deployment_task.create", context=extract(request.headers)):
            order = Order(
                workspace=workspace,
                by=caller(request).name,
                client=client if client in _CLIENTS else "api",
                key=key,
                trace=inject(),
            )
            made = await self._create(order, document)
        headers = {"Location": task_path(workspace, made.snapshot.task.id)}
        return _snapshot(made.snapshot, status=201 if made.fresh else 200, headers=headers)

    async def list(self, request: HttpRequest) -> Response[bytes]:
        """One page."""
        query = Query(request)
        listing = Listing(
            workspace=_workspace(request),
            statuses=query.choices("status", TaskStatus),
            project=query.name("project"),
            limit=query.number("limit", self._limits.page_default, least=1, most=self._limits.page_max),
            cursor=query.one("cursor"),
        )
        return _json(await self._queries.page(listing))

    async def show(self, request: HttpRequest) -> Response[bytes]:
        """One snapshot."""
        return _snapshot(await self._queries.snapshot(_workspace(request), _task_id(request)))

    async def events(self, request: HttpRequest) -> Response[bytes]:
        """Events above a revision."""
        query = Query(request)
        after = query.number("after", 0, least=0, most=_MOST)
        limit = query.number("limit", self._limits.page_default, least=1, most=self._limits.page_max)
        found = await self._queries.events(_workspace(request), _task_id(request), after=after, limit=limit)
        return _json(EventPage(events=found))

    async def cancel(self, request: HttpRequest) -> Response[bytes]:
        """The task as the cancel left it."""
        with _tracer.start_as_current_span("deployment_task.cancel", context=extract(request.headers)):
            by = caller(request).name
            return _snapshot(await self._cancel(_workspace(request), _task_id(request), by, inject()))

    async def watch_task(self, request: HttpRequest) -> Stream:
        """The snapshots of one task as it changes."""
        workspace, task_id = _workspace(request), _task_id(request)
        last = request.headers.get("last-event-id", "")
        await self._queries.snapshot(workspace, task_id)
        return event_stream(self._streams.timeline(workspace, task_id, int(last) if _is_revision(last) else None))

    async def watch_project(self, request: HttpRequest) -> Stream:
        """The tasks of one project as they change."""
        project = str(request.path_params["project"])
        if not is_name(project):
            raise NotFound("project", "with this name")
        return event_stream(self._streams.project(_workspace(request), project))


def _plain(method: Callable[[HttpRequest], Awaitable[Response[bytes]]]) -> Callable[..., Awaitable[Response[bytes]]]:
    """A function instead of a method: the framework copies its handlers, and with a method all that hangs on it."""

    async def handler(request: HttpRequest) -> Response[bytes]:
        return await method(request)

    return handler


def _plain_stream(method: Callable[[HttpRequest], Awaitable[Stream]]) -> Callable[..., Awaitable[Stream]]:
    async def handler(request: HttpRequest) -> Stream:
        return await method(request)

    return handler


def _workspace(request: HttpRequest) -> str:
    return str(request.path_params["workspace"])


def _task_id(request: HttpRequest) -> UUID:
    return row_id(request.path_params, "task_id")


def _is_revision(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19  # noqa: PLR2004 - what a bigint holds


def _snapshot(snapshot: Snapshot, *, status: int = 200, headers: dict[str, str] | None = None) -> Response[bytes]:
    return _json(snapshot, status=status, headers={"ETag": f'"{snapshot.task.revision}"', **(headers or {})})


def _json(model: BaseModel, *, status: int = 200, headers: dict[str, str] | None = None) -> Response[bytes]:
    return Response(
        model.model_dump_json(by_alias=True).encode(),
        status_code=status,
        media_type="application/json",
        headers={"Cache-Control": "no-store", **(headers or {})},
    )
