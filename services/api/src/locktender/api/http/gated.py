"""Handlers that only those reach who may."""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Request
from litestar.types import ASGIApp

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Kind, Principal, Verb

HttpRequest = Request[Any, Any, Any]
Method = Callable[[HttpRequest, Principal], Awaitable[ASGIApp]]


def gated(gate: Gate, verb: Verb, method: Method) -> Callable[..., Awaitable[ASGIApp]]:
    """A function, not a method: the framework copies its handlers, and with a method all that hangs on it."""

    async def handler(request: HttpRequest) -> ASGIApp:
        return await method(request, await gate.admit(request, Kind.DEPLOYMENT_TASK, verb))

    return handler
