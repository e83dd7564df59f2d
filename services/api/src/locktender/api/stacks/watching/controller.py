"""The route of the stream of a deployment: HTTP in, a use case, HTTP out."""

from litestar import get
from litestar.handlers import HTTPRouteHandler
from litestar.response.streaming import ASGIStreamingResponse

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.gated import HttpRequest
from locktender.api.http.sse import event_stream
from locktender.api.stacks.admitted import STACK, admitted, number_of, stack_of, workspace_of
from locktender.api.stacks.reading.queries import DeploymentReading
from locktender.api.stacks.watching.follow import DeploymentWatch, Watched

STREAM = STACK + "/deployments/{number:str}/stream"


class WatchRoutes:
    """The handler. It passes the gate."""

    def __init__(self, *, gate: Gate, reading: DeploymentReading, watch: DeploymentWatch) -> None:
        self._gate = gate
        self._reading = reading
        self._watch = watch

    def handlers(self) -> list[HTTPRouteHandler]:
        """The route, relative to the version prefix."""
        return [get(STREAM)(admitted(self._gate, Verb.WATCH, self.watch))]

    async def watch(self, request: HttpRequest, _: Principal) -> ASGIStreamingResponse:
        """A deployment as it changes."""
        # Looked at before the answer begins, so that one that is not there is refused as everywhere else.
        view = await self._reading.one(workspace_of(request), stack_of(request), number_of(request))
        return event_stream(self._watch.follow(Watched.of(view)))
