"""The route of the canvas of a task: HTTP in, a use case, HTTP out."""

from litestar import patch
from litestar.handlers import HTTPRouteHandler

from locktender.api.deployments.addressed import TASK, task_of, workspace_of
from locktender.api.deployments.canvas.placing import PlaceOnCanvas
from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.body import read_json
from locktender.api.http.gated import HttpRequest, gated
from locktender.api.http.responses import Answer, json_answer
from locktender.api.http.tracing import Tracing


class CanvasRoutes:
    """The handler. It passes the gate."""

    def __init__(self, *, gate: Gate, place: PlaceOnCanvas, body_seconds: float, tracing: Tracing) -> None:
        self._gate = gate
        self._place = place
        self._body_seconds = body_seconds
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The route, relative to the version prefix."""
        return [patch(TASK + "/canvas-projection")(gated(self._gate, Verb.PLACE, self.place))]

    async def place(self, request: HttpRequest, by: Principal) -> Answer:
        """The task with the canvas that it has now."""
        task_id = task_of(request)
        document = await read_json(request, self._body_seconds)
        with self._tracing.span("deployment_task.place", request.headers) as trace:
            placed = await self._place(workspace_of(request), task_id, document, by.name, trace)
        return json_answer(placed, headers={"ETag": f'"{placed.revision}"'})
