"""The routes of runner groups for people: HTTP in, a use case, HTTP out."""

from collections.abc import Awaitable, Callable

from litestar import delete, get, patch, post
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Kind, Principal, Verb
from locktender.api.http.gated import HttpRequest, Method
from locktender.api.http.query import is_name, row_id
from locktender.api.http.responses import json_answer
from locktender.api.http.tracing import Tracing
from locktender.api.stacks.admitted import body_of, workspace_of
from locktender.api.stacks.remote.pools import Pools
from locktender.api.stacks.runs.bodies import NoContent
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.stacks.requests import RunnerGroupCreate, RunnerGroupUpdate, TokenRotation

GROUPS = "/workspaces/{workspace:str}/runner-groups"
GROUP = GROUPS + "/{group:str}"
TOKEN = GROUP + "/rotate-token"
RUNNER = GROUP + "/runners/{runner_id:str}"
_BODY_SECONDS = 30.0


class PoolRoutes:
    """The handlers. Each passes the gate."""

    def __init__(self, *, gate: Gate, pools: Pools, tracing: Tracing) -> None:
        self._gate = gate
        self._pools = pools
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix."""
        return [
            get(GROUPS)(self._gated(Verb.LIST, self.list)),
            post(GROUPS)(self._gated(Verb.CREATE, self.create)),
            get(GROUP)(self._gated(Verb.READ, self.show)),
            patch(GROUP)(self._gated(Verb.UPDATE, self.update)),
            post(TOKEN, status_code=200)(self._gated(Verb.UPDATE, self.rotate_token)),
            delete(GROUP, status_code=200)(self._gated(Verb.DELETE, self.delete)),
            delete(RUNNER, status_code=200)(self._gated(Verb.DELETE, self.delete_runner)),
        ]

    async def list(self, request: HttpRequest, _: Principal) -> ASGIApp:
        """All groups of the workspace."""
        return json_answer(await self._pools.list(workspace_of(request)))

    async def create(self, request: HttpRequest, by: Principal) -> ASGIApp:
        """201 with the group and its token."""
        asked = await body_of(request, RunnerGroupCreate, _BODY_SECONDS)
        made = await self._pools.create(workspace_of(request), asked, by.name)
        place = f"/v1/workspaces/{workspace_of(request)}/runner-groups/{made.group.name}"
        return json_answer(made, status=201, headers={"Location": place})

    async def show(self, request: HttpRequest, _: Principal) -> ASGIApp:
        """One group with its runners."""
        return json_answer(await self._pools.show(workspace_of(request), _group(request)))

    async def update(self, request: HttpRequest, by: Principal) -> ASGIApp:
        """The group as it is then."""
        name = _group(request)
        asked = await body_of(request, RunnerGroupUpdate, _BODY_SECONDS)
        return json_answer(await self._pools.update(workspace_of(request), name, asked, by.name))

    async def rotate_token(self, request: HttpRequest, by: Principal) -> ASGIApp:
        """200 with the group and its new token."""
        name = _group(request)
        asked = await body_of(request, TokenRotation, _BODY_SECONDS)
        return json_answer(await self._pools.rotate_token(workspace_of(request), name, asked, by.name))

    async def delete(self, request: HttpRequest, by: Principal) -> ASGIApp:
        """The group is gone."""
        await self._pools.delete(workspace_of(request), _group(request), by.name)
        return NoContent()

    async def delete_runner(self, request: HttpRequest, by: Principal) -> ASGIApp:
        """The group without the runner."""
        runner_id = row_id(request.path_params, "runner_id")
        with self._tracing.span("stack_runner.delete", request.headers) as trace:
            view = await self._pools.delete_runner(workspace_of(request), _group(request), runner_id, by.name, trace)
        return json_answer(view)

    def _gated(self, verb: Verb, method: Method) -> Callable[..., Awaitable[ASGIApp]]:
        """A function, not a method: the framework copies its handlers, and with a method all that hangs on it."""
        gate = self._gate

        async def handler(request: HttpRequest) -> ASGIApp:
            return await method(request, await gate.admit(request, Kind.RUNNER_GROUP, verb))

        return handler


def _group(request: HttpRequest) -> str:
    name = str(request.path_params["group"])
    if not is_name(name):
        raise NotFound("runner group", "with this name")
    return name
