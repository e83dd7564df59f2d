"""In front of the routes of remote runners: the token of a group stands for the group, an assignment for a promise."""

from collections.abc import Awaitable, Callable

from litestar.types import ASGIApp

from locktender.api.http.gated import HttpRequest
from locktender.api.http.problems import ProblemError
from locktender.contracts.kernel.problems import Problem
from locktender.runtime.runs.tokens import token_digest
from locktender.storage.kernel.database import Database, Row
from locktender.storage.stacks.groups import group_of_token

_TOKEN_LIMIT = 200

Method = Callable[[HttpRequest, Row], Awaitable[ASGIApp]]


class GroupGate:
    """Which group a runner belongs to. A wrong token and no token look the same from outside."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admit(self, method: Method) -> Callable[..., Awaitable[ASGIApp]]:
        """A handler for whoever brings the token of a group."""

        async def handler(request: HttpRequest) -> ASGIApp:
            token = bearer(request)
            group = await group_of_token(self._database, token_digest(token)) if token else None
            if group is None:
                raise refused("no valid token of a runner group")
            return await method(request, group)

        return handler


def bearer(request: HttpRequest) -> str:
    """The bearer token of a request; empty without one."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and len(token) <= _TOKEN_LIMIT else ""


def refused(detail: str) -> ProblemError:
    """No valid token."""
    challenge = {"WWW-Authenticate": 'Bearer realm="locktender-runner"'}
    return ProblemError(Problem.UNAUTHENTICATED, detail, headers=challenge)
