"""The routes that make tasks, or prepare making them: HTTP in, a use case, HTTP out."""

from litestar import get, post
from litestar.handlers import HTTPRouteHandler

from locktender.api.deployments.addressed import TASK, TASKS, client_of, task_of, workspace_of
from locktender.api.deployments.deploying.create import CreateDeployment, Order, task_path
from locktender.api.deployments.deploying.preview import PreviewDeployment
from locktender.api.deployments.deploying.redeploy import RedeployQueries
from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.body import read_json
from locktender.api.http.gated import HttpRequest, gated
from locktender.api.http.idempotency import idempotency_key
from locktender.api.http.responses import Answer, json_answer, snapshot_answer
from locktender.api.http.tracing import Tracing

PREVIEW = TASKS + ":preview"


class DeployingRoutes:
    """The handlers, bound to their use cases."""

    def __init__(
        self,
        *,
        gate: Gate,
        create: CreateDeployment,
        preview: PreviewDeployment,
        redeploys: RedeployQueries,
        body_seconds: float,
        tracing: Tracing,
    ) -> None:
        self._gate = gate
        self._create = create
        self._preview = preview
        self._redeploys = redeploys
        self._body_seconds = body_seconds
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""
        return [
            post(TASKS)(gated(self._gate, Verb.CREATE, self.create)),
            post(PREVIEW)(gated(self._gate, Verb.CREATE, self.preview)),
            get(TASK + "/source")(gated(self._gate, Verb.READ, self.source)),
            get(TASK + "/redeploy")(gated(self._gate, Verb.READ, self.redeploy)),
        ]

    async def create(self, request: HttpRequest, by: Principal) -> Answer:
        """201 with the new task, or 200 with the one that the same request made before."""
        workspace = workspace_of(request)
        key = idempotency_key(request.headers.get("idempotency-key"))
        document = await read_json(request, self._body_seconds)
        with self._tracing.span("deployment_task.create", request.headers) as trace:
            order = Order(workspace, by.name, client_of(request), key, trace)
            made = await self._create(order, document)
        headers = {"Location": task_path(workspace, made.snapshot.task.id)}
        return snapshot_answer(made.snapshot, status=201 if made.fresh else 200, headers=headers)

    async def preview(self, request: HttpRequest, _: Principal) -> Answer:
        """What a create with the same body would do. Nothing is stored."""
        document = await read_json(request, self._body_seconds)
        return json_answer(await self._preview(workspace_of(request), document))

    async def source(self, request: HttpRequest, _: Principal) -> Answer:
        """What the task deploys, as it is stored."""
        return json_answer(await self._redeploys.source(workspace_of(request), task_of(request)))

    async def redeploy(self, request: HttpRequest, _: Principal) -> Answer:
        """Whether the task can be redeployed, and what that means."""
        return json_answer(await self._redeploys.outlook(workspace_of(request), task_of(request)))
