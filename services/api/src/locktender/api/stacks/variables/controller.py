"""The routes of variables: HTTP in, a use case, HTTP out. Nothing is decided here."""

import re

from litestar import delete, get, put
from litestar.handlers import HTTPRouteHandler

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.gated import HttpRequest
from locktender.api.http.responses import Answer, json_answer
from locktender.api.http.tracing import Tracing
from locktender.api.settings import RequestLimits
from locktender.api.stacks.admitted import STACK, admitted, body_of, stack_of, workspace_of
from locktender.api.stacks.catalogue.commands import By
from locktender.api.stacks.variables.commands import VariableCommands
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.stacks.requests import VariableSet
from locktender.contracts.stacks.views import VariableKind

VARIABLES = STACK + "/variables"
VARIABLE = VARIABLES + "/{kind:str}/{variable:str}"
NAME = "[A-Za-z_][A-Za-z0-9_-]{0,127}"
_NAME = re.compile(NAME)


class VariableRoutes:
    """The handlers, bound to their use cases."""

    def __init__(self, *, gate: Gate, variables: VariableCommands, limits: RequestLimits, tracing: Tracing) -> None:
        self._gate = gate
        self._variables = variables
        self._limits = limits
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""
        return [
            get(VARIABLES)(admitted(self._gate, Verb.READ, self.list)),
            put(VARIABLE)(admitted(self._gate, Verb.UPDATE, self.set)),
            delete(VARIABLE, status_code=200)(admitted(self._gate, Verb.UPDATE, self.remove)),
        ]

    async def list(self, request: HttpRequest, _: Principal) -> Answer:
        """All of a stack."""
        return json_answer(await self._variables.list(workspace_of(request), stack_of(request)))

    async def set(self, request: HttpRequest, by: Principal) -> Answer:
        """The variable, without its value where that is sensitive."""
        stack, (kind, name) = stack_of(request), _variable(request)
        asked = await body_of(request, VariableSet, self._limits.body_seconds)
        with self._tracing.span("stack.set_variable", request.headers) as trace:
            who = By(workspace_of(request), by.name, trace)
            return json_answer(await self._variables.set(who, stack, kind, name, asked))

    async def remove(self, request: HttpRequest, by: Principal) -> Answer:
        """The variables that are left."""
        stack, (kind, name) = stack_of(request), _variable(request)
        with self._tracing.span("stack.remove_variable", request.headers) as trace:
            who = By(workspace_of(request), by.name, trace)
            return json_answer(await self._variables.remove(who, stack, kind, name))


def _variable(request: HttpRequest) -> tuple[VariableKind, str]:
    kind, name = str(request.path_params["kind"]), str(request.path_params["variable"])
    if kind not in set(VariableKind) or _NAME.fullmatch(name) is None:
        raise NotFound("variable", "of this kind and name")
    return VariableKind(kind), name
