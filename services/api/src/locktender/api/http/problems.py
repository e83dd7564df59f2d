"""Every refusal as a problem document (RFC 9457). Nothing that was not written for the caller ever reaches it."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from secrets import token_hex
from typing import Any

import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException

from locktender.contracts.kernel.errors import Conflict, Finding, LocktenderError, NotFound, Rejected, Unavailable
from locktender.contracts.kernel.problems import Problem

_log = structlog.stdlib.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_BY_STATUS = {
    problem.value.status: problem
    for problem in (
        Problem.INVALID_REQUEST,
        Problem.UNAUTHENTICATED,
        Problem.FORBIDDEN,
        Problem.NOT_FOUND,
        Problem.METHOD_NOT_ALLOWED,
        Problem.TOO_LARGE,
        Problem.UNSUPPORTED_MEDIA_TYPE,
        Problem.UNAVAILABLE,
    )
}
_DETAILS = {
    Problem.INVALID_REQUEST: "the request cannot be read",
    Problem.NOT_FOUND: "there is nothing at this address, or nothing that you may see",
    Problem.METHOD_NOT_ALLOWED: "this address does not take this method; the Allow header names those it takes",
    Problem.TOO_LARGE: "the body is larger than the limit; send less at once",
    Problem.INTERNAL: "the fault is recorded under the trace id; trying again is safe",
}


class ProblemError(Exception):
    """A refusal on its way to the caller. `snapshot` is a JSON text: what the resource is now."""

    def __init__(
        self,
        problem: Problem,
        detail: str,
        errors: Sequence[Finding] = (),
        *,
        snapshot: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.problem = problem
        self.detail = detail
        self.errors = errors
        self.snapshot = snapshot
        self.headers = headers or {}


Handler = Callable[[Request[Any, Any, Any], Any], Response[bytes]]


def exception_handlers() -> dict[int | type[Exception], Handler]:
    """What turns whatever a handler raises into a problem document."""
    return {
        ProblemError: _answer(_as_it_is),
        LocktenderError: _answer(_from_refusal),
        HTTPException: _answer(_from_http),
        Exception: _answer(_from_fault),
    }


def trace_id(headers: Mapping[str, str]) -> str:
    """The trace id that the caller sent, or a fresh one."""
    found = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    return found.group(1) if found else token_hex(16)


def document(error: ProblemError, trace: str) -> bytes:
    """The JSON text of a problem."""
    kind = error.problem.value
    members: dict[str, object] = {
        "type": kind.urn,
        "title": kind.title,
        "status": kind.status,
        "detail": error.detail,
        "traceId": trace,
    }
    if error.errors:
        members["errors"] = [
            {"pointer": finding.pointer, "message": finding.message, "code": finding.code} for finding in error.errors
        ]
    # Pointers and messages may repeat names that were sent, half surrogate pairs included: hence ASCII.
    text = json.dumps(members).encode()
    return text if error.snapshot is None else text[:-1] + b', "snapshot": ' + error.snapshot + b"}"


def _answer(convert: Callable[[Any], ProblemError]) -> Handler:
    def handle(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        trace = trace_id(request.headers)
        problem = convert(error)
        if problem.problem is Problem.INTERNAL:
            _log.error("a request failed", exc_info=error, trace_id=trace, method=request.method)
        return Response(
            document(problem, trace),
            status_code=problem.problem.value.status,
            media_type=MEDIA_TYPE,
            headers={"Cache-Control": "no-store", **problem.headers},
        )

    return handle


def _as_it_is(error: ProblemError) -> ProblemError:
    return error


def _from_refusal(error: LocktenderError) -> ProblemError:
    match error:
        case Rejected():
            return ProblemError(Problem.INVALID_REQUEST, _count(error.findings), error.findings)
        case NotFound():
            return ProblemError(Problem.NOT_FOUND, _DETAILS[Problem.NOT_FOUND])
        case Unavailable():
            return ProblemError(Problem.UNAVAILABLE, f"{error}; try again in a moment", headers={"Retry-After": "1"})
        case Conflict():
            return ProblemError(Problem.INTERNAL, _DETAILS[Problem.INTERNAL])
        case _:
            return ProblemError(Problem.INTERNAL, _DETAILS[Problem.INTERNAL])


def _from_http(error: HTTPException) -> ProblemError:
    problem = _BY_STATUS.get(error.status_code, Problem.INTERNAL)
    allow = {name.title(): value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
    return ProblemError(problem, _DETAILS.get(problem, problem.value.title), headers=allow)


def _from_fault(_: Exception) -> ProblemError:
    return ProblemError(Problem.INTERNAL, _DETAILS[Problem.INTERNAL])


def _count(findings: Sequence[Finding]) -> str:
    if len(findings) == 1:
        return findings[0].message
    return f"{len(findings)} faults were found; each is listed under errors"
