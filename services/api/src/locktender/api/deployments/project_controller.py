"""The routes of a project's canvas and dock: HTTP in, a use case, HTTP out. Nothing is decided here."""

from litestar import get, patch
from litestar.handlers import HTTPRouteHandler
from litestar.response.streaming import ASGIStreamingResponse

from locktender.api.deployments.canvas import PlaceOnCanvas
from locktender.api.deployments.queries import ProjectionQueries
from locktender.api.deployments.streams import DeploymentStreams
from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.body import read_json
from locktender.api.http.gated import HttpRequest, gated
from locktender.api.http.query import is_name, row_id
from locktender.api.http.responses import Answer, json_answer
from locktender.api.http.sse import event_stream
from locktender.api.http.tracing import Tracing
from locktender.contracts.deployments.models import ProjectionList
from locktender.contracts.kernel.errors import NotFound

CANVAS = "/workspaces/{workspace:str}/deployment-tasks/{task_id:str}/canvas-projection"
TASKS = "/workspaces/{workspace:str}/projects/{project:str}/deployment-tasks"


class ProjectRoutes:
    """The handlers, bound to their use cases."""

    def __init__(
        self,
        *,
        gate: Gate,
        place: PlaceOnCanvas,
        projections: ProjectionQueries,
        streams: DeploymentStreams,
        body_seconds: float,
        tracing: Tracing,
    ) -> None:
        self._gate = gate
        self._place = place
        self._projections = projections
        self._streams = streams
        self._body_seconds = body_seconds
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""
        return [
            get(TASKS)(gated(self._gate, Verb.LIST, self.list)),
            get(TASKS + "/stream")(gated(self._gate, Verb.WATCH, self.watch)),
            patch(CANVAS)(gated(self._gate, Verb.PLACE, self.place)),
        ]

    async def list(self, request: HttpRequest, _: Principal) -> Answer:
        """The newest tasks of one project."""
        board = await self._projections.board(_project(request))
        return json_answer(ProjectionList(projections=tuple(each.projection for each in board.shown)))

    async def watch(self, request: HttpRequest, _: Principal) -> ASGIStreamingResponse:
        """The tasks of one project as they change."""
        return event_stream(self._streams.project(*_project(request), request.headers.get("last-event-id", "")))

    async def place(self, request: HttpRequest, by: Principal) -> Answer:
        """The task with the canvas that it has now."""
        task_id = row_id(request.path_params, "task_id")
        document = await read_json(request, self._body_seconds)
        with self._tracing.span("deployment_task.place", request.headers) as trace:
            workspace = str(request.path_params["workspace"])
            placed = await self._place(workspace, task_id, document, by.name, trace)
        return json_answer(placed, headers={"ETag": f'"{placed.revision}"'})


def _project(request: HttpRequest) -> tuple[str, str]:
    project = str(request.path_params["project"])
    if not is_name(project):
        raise NotFound("project", "with this name")
    return str(request.path_params["workspace"]), project
