"""Handlers of stacks that only those reach who may, and what their paths name."""

import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

from litestar.types import ASGIApp

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Kind, Verb
from locktender.api.http.body import pointer, read_json
from locktender.api.http.faults import validated
from locktender.api.http.gated import HttpRequest, Method
from locktender.api.http.query import Query, is_name
from locktender.contracts.kernel.errors import Finding, NotFound, Pointer, Rejected
from locktender.contracts.stacks.models import StackWire

W = TypeVar("W", bound=StackWire)

STACKS = "/workspaces/{workspace:str}/stacks"
STACK = STACKS + "/{stack:str}"

_NUMBER = re.compile("[1-9][0-9]{0,17}")
_SOURCE_KINDS = "the member `kind` of a source is `git` or `archive`"


def admitted(gate: Gate, verb: Verb, method: Method) -> Callable[..., Awaitable[ASGIApp]]:
    """A function, not a method: the framework copies its handlers, and with a method all that hangs on it."""

    async def handler(request: HttpRequest) -> ASGIApp:
        return await method(request, await gate.admit(request, Kind.STACK, verb))

    return handler


async def body_of(request: HttpRequest, kind: type[W], seconds: float) -> W:
    """The body as a model.

    Raises:
        ProblemError: the body is no JSON, too large, or does not arrive.
        Rejected: it is not as the model says; every fault is named, no value is repeated.
    """
    made, findings = validated(kind, await read_json(request, seconds), tagged=("source",))
    if made is None:
        raise Rejected([_worded(each) for each in findings])
    return made


def query_of(request: HttpRequest, *names: str) -> Query:
    """The query parameters, which are none but these: a misspelt filter would show too much.

    Raises:
        Rejected: there is another one.
    """
    if set(request.query_params) - set(names):
        message = f"the parameters here are {', '.join(names)}; remove the others, or check their spelling"
        raise Rejected([Finding(Pointer(""), message, "unknown-parameter")])
    return Query(request)


def workspace_of(request: HttpRequest) -> str:
    """The workspace in the path; the gate has looked at it."""
    return str(request.path_params["workspace"])


def stack_of(request: HttpRequest) -> str:
    """The name of the stack in the path.

    Raises:
        NotFound: it is no name, so nothing can be there.
    """
    name = str(request.path_params["stack"])
    if not is_name(name):
        raise NotFound("stack", "with this name")
    return name


def number_of(request: HttpRequest) -> int:
    """The number of the deployment in the path.

    Raises:
        NotFound: it is none, so nothing can be there.
    """
    text = str(request.path_params["number"])
    if _NUMBER.fullmatch(text) is None:
        raise NotFound("deployment", "with this number")
    return int(text)


def _worded(finding: Finding) -> Finding:
    if finding.code == "unknown-kind" or (finding.pointer == pointer("source") and finding.code == "required"):
        return Finding(finding.pointer, _SOURCE_KINDS, finding.code)
    return finding
