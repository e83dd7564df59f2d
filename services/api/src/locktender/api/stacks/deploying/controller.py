"""The routes that make deployments: HTTP in, a use case, HTTP out."""

from litestar import post, put
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from locktender.api.http.authorize import Verb
from locktender.api.http.gated import HttpRequest
from locktender.api.http.idempotency import idempotency_key
from locktender.api.http.problems import ProblemError
from locktender.api.http.responses import json_answer
from locktender.api.http.tracing import Tracing
from locktender.api.stacks.admitted import STACK, body_of
from locktender.api.stacks.deciding.admission import Admitted, StackAdmission
from locktender.api.stacks.deciding.controller import DEPLOYMENT, DEPLOYMENTS, deployment_answer
from locktender.api.stacks.deploying.archives import GZIP, SourceArchives
from locktender.api.stacks.deploying.deploy import DeployStack
from locktender.api.stacks.deploying.repeats import Made, StackOrder
from locktender.api.stacks.deploying.retrying import RetryDeployment
from locktender.api.stacks.runs.bodies import Room
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.requests import DeploymentCreate, LocalPlan, RunCommand
from locktender.contracts.stacks.vocabulary import DeploymentMode

ARCHIVE = STACK + "/source-archives/{sha256:str}"


class DeployingRoutes:
    """The handlers, bound to their use cases."""

    def __init__(
        self,
        *,
        admission: StackAdmission,
        deploy: DeployStack,
        retry: RetryDeployment,
        archives: SourceArchives,
        room: Room,
        archive_bytes: int,
        body_seconds: float,
        tracing: Tracing,
    ) -> None:
        self._admission = admission
        self._deploy = deploy
        self._retry = retry
        self._archives = archives
        self._room = room
        self._archive_bytes = archive_bytes
        self._body_seconds = body_seconds
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""

        # Functions, not methods: the framework copies its handlers, and with a method all that hangs on it.
        async def deploy(request: HttpRequest) -> ASGIApp:
            return await self.deploy(request)

        async def run_command(request: HttpRequest) -> ASGIApp:
            return await self.run_command(request)

        async def plan_tree(request: HttpRequest) -> ASGIApp:
            return await self.plan_tree(request)

        async def retry(request: HttpRequest) -> ASGIApp:
            return await self.retry(request)

        async def upload(request: HttpRequest) -> ASGIApp:
            return await self.upload(request)

        return [
            post(DEPLOYMENTS)(deploy),
            post(DEPLOYMENTS + ":run-command")(run_command),
            post(DEPLOYMENTS + ":local")(plan_tree),
            post(DEPLOYMENT + "/retry")(retry),
            put(ARCHIVE, request_max_body_size=self._archive_bytes)(upload),
        ]

    async def deploy(self, request: HttpRequest) -> ASGIApp:
        """201 with the new deployment, or 200 with the one that the same request made before."""
        admitted = await self._admission.stack(request, Verb.DEPLOY)
        given = await body_of(request, DeploymentCreate, self._body_seconds)
        with self._tracing.span("stack_deployment.create", request.headers) as trace:
            return _answer(await self._deploy.deploy(_order(request, admitted, trace), given))

    async def run_command(self, request: HttpRequest) -> ASGIApp:
        """The same, for a script."""
        admitted = await self._admission.stack(request, Verb.RUN_COMMAND)
        given = await body_of(request, RunCommand, self._body_seconds)
        with self._tracing.span("stack_deployment.run_command", request.headers) as trace:
            return _answer(await self._deploy.run_command(_order(request, admitted, trace), given))

    async def plan_tree(self, request: HttpRequest) -> ASGIApp:
        """The same, for a working tree."""
        admitted = await self._admission.stack(request, Verb.LOCAL_DEPLOY)
        given = await body_of(request, LocalPlan, self._body_seconds)
        with self._tracing.span("stack_deployment.local", request.headers) as trace:
            return _answer(await self._deploy.plan_tree(_order(request, admitted, trace), given))

    async def retry(self, request: HttpRequest) -> ASGIApp:
        """The same, once more; what it takes to make a new one, it takes to make one again."""
        admitted = await self._admission.stack(request, Verb.DEPLOY, Verb.RUN_COMMAND)
        with self._tracing.span("stack_deployment.retry", request.headers) as trace:
            target = await self._admission.target(request, admitted, trace)
            admitted.demand(Verb.RUN_COMMAND if target.mode == DeploymentMode.RAW else Verb.DEPLOY)
            return _answer(await self._retry(_order(request, admitted, trace), target))

    async def upload(self, request: HttpRequest) -> ASGIApp:
        """201 where the archive is new, 200 where it was there."""
        admitted = await self._admission.stack(request, Verb.LOCAL_DEPLOY, Verb.UPDATE, Verb.DEPLOY)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != GZIP:
            raise ProblemError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send a tar.gz archive with `Content-Type: {GZIP}`")
        async with self._room.place():
            data = await self._room.read(request)
            kept, fresh = await self._archives.keep(admitted.row, str(request.path_params["sha256"]), data)
        return json_answer(kept, status=201 if fresh else 200)


def _order(request: HttpRequest, admitted: Admitted, trace: dict[str, str]) -> StackOrder:
    return StackOrder(admitted, idempotency_key(request.headers.get("idempotency-key")), trace)


def _answer(made: Made) -> ASGIApp:
    view = made.view
    location = f"/v1/workspaces/{view.workspace}/stacks/{view.stack}/deployments/{view.number}"
    return deployment_answer(view, status=201 if made.fresh else 200, headers={"Location": location})
