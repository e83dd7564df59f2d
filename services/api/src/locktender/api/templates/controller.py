"""The routes of the catalogue: HTTP in, a use case, HTTP out. Nothing is decided here."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Request, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Kind, Verb
from locktender.api.http.body import read_json
from locktender.api.http.problems import ProblemError
from locktender.api.http.query import Query
from locktender.api.http.responses import Answer, json_answer
from locktender.api.settings import RequestLimits
from locktender.api.templates.queries import TemplateQueries
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.contracts.kernel.problems import Problem

TEMPLATES = "/workspaces/{workspace:str}/templates"
TEMPLATE = TEMPLATES + "/{template:str}"
_RENDER = ":render"
_SEARCH = "search"
_LONGEST_SEARCH = 200

HttpRequest = Request[Any, Any, Any]
Method = Callable[[HttpRequest], Awaitable[ASGIApp]]


class TemplateRoutes:
    """The handlers, bound to their use cases. A name is looked up among those that were read, and is never a path."""

    def __init__(self, *, gate: Gate, queries: TemplateQueries, limits: RequestLimits) -> None:
        self._gate = gate
        self._queries = queries
        self._limits = limits

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""
        return [
            get(TEMPLATES)(self._gated(Verb.LIST, self.list)),
            get(TEMPLATE)(self._gated(Verb.READ, self.show)),
            get(TEMPLATE + "/schema")(self._gated(Verb.READ, self.schema)),
            # `:render` ends the last segment, which the router only takes as a whole.
            post(TEMPLATE)(self._gated(Verb.READ, self.render)),
        ]

    async def list(self, request: HttpRequest) -> Answer:
        """The templates, or the ones that are searched for."""
        if set(request.query_params) - {_SEARCH}:
            message = f"the only parameter here is `{_SEARCH}`; remove the others, or check their spelling"
            raise Rejected([Finding(Pointer(""), message, "unknown-parameter")])
        search = Query(request).one(_SEARCH)
        if search is not None and len(search) > _LONGEST_SEARCH:
            message = f"search for up to {_LONGEST_SEARCH} characters"
            raise Rejected([Finding(Pointer(""), message, "invalid-search")])
        return json_answer(await self._queries.list(search))

    async def show(self, request: HttpRequest) -> Answer:
        """One template."""
        return json_answer(await self._queries.detail(_template(request)))

    async def schema(self, request: HttpRequest) -> Answer:
        """What its inputs have to be."""
        found = await self._queries.schema(_template(request))
        return Answer(json.dumps(found).encode(), status=200, headers={})

    async def render(self, request: HttpRequest) -> Answer:
        """What it would come to."""
        name = _template(request)
        if not name.endswith(_RENDER):
            detail = "this address does not take this method; add `:render` to see what a template comes to"
            raise ProblemError(Problem.METHOD_NOT_ALLOWED, detail, headers={"Allow": "GET"})
        document = await read_json(request, self._limits.body_seconds)
        return json_answer(await self._queries.render(name.removesuffix(_RENDER), document))

    def _gated(self, verb: Verb, method: Method) -> Callable[..., Awaitable[ASGIApp]]:
        """A function, not a method: the framework copies its handlers, and with a method all that hangs on it."""
        gate = self._gate

        async def handler(request: HttpRequest) -> ASGIApp:
            await gate.admit(request, Kind.TEMPLATE, verb)
            return await method(request)

        return handler


def _template(request: HttpRequest) -> str:
    return str(request.path_params["template"])
