"""The routes of decisions: HTTP in, a use case, HTTP out."""

from collections.abc import Awaitable, Callable

from litestar import post
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from locktender.api.http.authorize import Verb
from locktender.api.http.gated import HttpRequest
from locktender.api.http.responses import Answer, json_answer
from locktender.api.http.tracing import Tracing
from locktender.api.stacks.admitted import STACK, body_of, workspace_of
from locktender.api.stacks.deciding.admission import StackAdmission, Target
from locktender.api.stacks.deciding.bulk import BulkSkips
from locktender.api.stacks.deciding.decisions import Decisions
from locktender.contracts.stacks.requests import ConfirmApply, Replan
from locktender.contracts.stacks.views import DeploymentView
from locktender.contracts.stacks.wire import Narrowing

DEPLOYMENTS = STACK + "/deployments"
DEPLOYMENT = DEPLOYMENTS + "/{number:str}"
QUEUE = "/workspaces/{workspace:str}/stack-queue"

_Plain = Callable[[Target], Awaitable[DeploymentView]]


class DecidingRoutes:
    """The handlers, bound to their use cases."""

    def __init__(
        self,
        *,
        admission: StackAdmission,
        decisions: Decisions,
        bulk: BulkSkips,
        body_seconds: float,
        tracing: Tracing,
    ) -> None:
        self._admission = admission
        self._decisions = decisions
        self._bulk = bulk
        self._body_seconds = body_seconds
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""
        decide = self._decisions

        # Functions, not methods: the framework copies its handlers, and with a method all that hangs on it.
        async def confirm(request: HttpRequest) -> ASGIApp:
            return await self.confirm(request)

        async def replan(request: HttpRequest) -> ASGIApp:
            return await self.replan(request)

        async def skip_all(request: HttpRequest) -> ASGIApp:
            return await self.skip_all(request)

        async def clear(request: HttpRequest) -> ASGIApp:
            return await self.clear(request)

        return [
            post(DEPLOYMENT + "/confirm")(confirm),
            post(DEPLOYMENT + "/replan")(replan),
            post(DEPLOYMENT + "/skip")(self._plain(Verb.CONFIRM, decide.skip)),
            post(DEPLOYMENT + "/cancel")(self._plain(Verb.CANCEL, decide.cancel)),
            post(DEPLOYMENT + "/prioritize")(self._plain(Verb.PRIORITIZE, decide.prioritize)),
            post(DEPLOYMENT + "/deprioritize")(self._plain(Verb.PRIORITIZE, decide.deprioritize)),
            post(DEPLOYMENTS + ":skip-all")(skip_all),
            post(QUEUE + ":cancel-pending")(clear),
        ]

    async def confirm(self, request: HttpRequest) -> ASGIApp:
        """The deployment, which applies its plan."""
        admitted = await self._admission.stack(request, Verb.CONFIRM)
        given = await body_of(request, ConfirmApply, self._body_seconds)
        with self._tracing.span("stack_deployment.confirm", request.headers) as trace:
            target = await self._admission.target(request, admitted, trace)
            return deployment_answer(await self._decisions.confirm(target, given.plan_digest))

    async def replan(self, request: HttpRequest) -> ASGIApp:
        """The deployment, which plans again."""
        admitted = await self._admission.stack(request, Verb.CONFIRM)
        given = await body_of(request, Replan, self._body_seconds)
        narrowing = Narrowing(targets=given.targets, excludes=given.excludes, replaces=given.replaces)
        with self._tracing.span("stack_deployment.replan", request.headers) as trace:
            target = await self._admission.target(request, admitted, trace)
            return deployment_answer(await self._decisions.replan(target, narrowing))

    async def skip_all(self, request: HttpRequest) -> ASGIApp:
        """What was skipped of a stack."""
        admitted = await self._admission.stack(request, Verb.CONFIRM)
        with self._tracing.span("stack.skip_all", request.headers) as trace:
            return json_answer(await self._bulk.of_stack(admitted, trace))

    async def clear(self, request: HttpRequest) -> ASGIApp:
        """What was skipped of the queue of the runners."""
        by, patterns = await self._admission.scope(request, Verb.CONFIRM)
        with self._tracing.span("stack_queue.clear", request.headers) as trace:
            return json_answer(await self._bulk.of_queue(workspace_of(request), patterns, by.name, trace))

    def _plain(self, verb: Verb, decide: _Plain) -> Callable[..., Awaitable[ASGIApp]]:
        """A decision that needs no body."""
        admission, tracing, name = self._admission, self._tracing, f"stack_deployment.{verb}"

        async def handler(request: HttpRequest) -> ASGIApp:
            admitted = await admission.stack(request, verb)
            with tracing.span(name, request.headers) as trace:
                return deployment_answer(await decide(await admission.target(request, admitted, trace)))

        return handler


def deployment_answer(view: DeploymentView, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A deployment, with its revision as entity tag."""
    return json_answer(view, status=status, headers={"ETag": f'"{view.revision}"', **(headers or {})})
