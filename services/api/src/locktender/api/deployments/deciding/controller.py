"""The routes of decisions about a task under way: HTTP in, a use case, HTTP out."""

from litestar import post
from litestar.handlers import HTTPRouteHandler

from locktender.api.deployments.addressed import TASK, client_of, task_of, workspace_of
from locktender.api.deployments.deciding.cancel import CancelDeployment
from locktender.api.deployments.deciding.input import SubmitInputs
from locktender.api.deployments.deploying.create import Order
from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.body import read_json
from locktender.api.http.gated import HttpRequest, gated
from locktender.api.http.responses import Answer, snapshot_answer
from locktender.api.http.tracing import Tracing


class DecidingRoutes:
    """The handlers, bound to their use cases."""

    def __init__(
        self, *, gate: Gate, submit: SubmitInputs, cancel: CancelDeployment, body_seconds: float, tracing: Tracing
    ) -> None:
        self._gate = gate
        self._submit = submit
        self._cancel = cancel
        self._body_seconds = body_seconds
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""
        return [
            post(TASK + "/input")(gated(self._gate, Verb.SUBMIT, self.submit)),
            post(TASK + "/cancel")(gated(self._gate, Verb.CANCEL, self.cancel)),
        ]

    async def submit(self, request: HttpRequest, by: Principal) -> Answer:
        """The task with its inputs on their way."""
        task_id = task_of(request)
        document = await read_json(request, self._body_seconds)
        with self._tracing.span("deployment_task.input", request.headers) as trace:
            order = Order(workspace_of(request), by.name, client_of(request), None, trace)
            return snapshot_answer(await self._submit(order, task_id, document))

    async def cancel(self, request: HttpRequest, by: Principal) -> Answer:
        """The task as the cancel left it."""
        with self._tracing.span("deployment_task.cancel", request.headers) as trace:
            return snapshot_answer(await self._cancel(workspace_of(request), task_of(request), by.name, trace))
