"""The routes of streams: HTTP in, a use case, HTTP out."""

from litestar import get
from litestar.handlers import HTTPRouteHandler
from litestar.response.streaming import ASGIStreamingResponse

from locktender.api.deployments.addressed import PROJECT_TASKS, TASK, project_of, task_of, workspace_of
from locktender.api.deployments.reading.queries import DeploymentQueries
from locktender.api.deployments.watching.streams import DeploymentStreams
from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.gated import HttpRequest, gated
from locktender.api.http.sse import event_stream


class WatchRoutes:
    """The handlers, bound to their use cases."""

    def __init__(self, *, gate: Gate, queries: DeploymentQueries, streams: DeploymentStreams) -> None:
        self._gate = gate
        self._queries = queries
        self._streams = streams

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""
        return [
            get(TASK + "/timeline/stream")(gated(self._gate, Verb.WATCH, self.task)),
            get(PROJECT_TASKS + "/stream")(gated(self._gate, Verb.WATCH, self.project)),
        ]

    async def task(self, request: HttpRequest, _: Principal) -> ASGIStreamingResponse:
        """The snapshots of one task as it changes."""
        workspace, task_id = workspace_of(request), task_of(request)
        last = request.headers.get("last-event-id", "")
        # Looked at before the answer begins, so that one that is not there is refused as everywhere else.
        await self._queries.snapshot(workspace, task_id)
        return event_stream(self._streams.timeline(workspace, task_id, int(last) if _is_revision(last) else None))

    async def project(self, request: HttpRequest, _: Principal) -> ASGIStreamingResponse:
        """The tasks of one project as they change."""
        return event_stream(self._streams.project(*project_of(request), request.headers.get("last-event-id", "")))


def _is_revision(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19  # noqa: PLR2004 - what a bigint holds
