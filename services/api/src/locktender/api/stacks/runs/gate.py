"""In front of the routes of runners: a run token stands for one run at one epoch, for as long as its lease lives."""

import base64
import binascii
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from litestar import Request
from litestar.types import ASGIApp

from locktender.api.http.problems import ProblemError
from locktender.api.http.query import row_id
from locktender.contracts.kernel.errors import LeaseLost, NotFound, WrongState
from locktender.contracts.kernel.lease import Epoch, Lease, Owner
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.vocabulary import RunMode
from locktender.runtime.runs.tokens import token_digest
from locktender.storage.kernel.database import Database, Row
from locktender.storage.stacks.assign import live_run
from locktender.storage.stacks.states import RunClaim

_log = structlog.stdlib.get_logger(__name__)

HttpRequest = Request[Any, Any, Any]
_TOKEN_LIMIT = 200
_BASIC_LIMIT = 500


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run whose token was valid when the request came. Every write asks again."""

    row: Row
    claim: RunClaim

    @property
    def id(self) -> UUID:
        """The run."""
        return self.claim.run_id

    @property
    def mode(self) -> RunMode:
        """What it does."""
        return RunMode(self.row["mode"])

    @property
    def lease(self) -> Lease:
        """The right that the token stands for."""
        return Lease(self.id, Owner(self.row["lease_owner"]), Epoch(self.claim.epoch))


Method = Callable[[HttpRequest, HeldRun], Awaitable[ASGIApp]]


class RunGate:
    """Who a runner is. A void token, a wrong one and no token look the same from outside."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def by_bearer(self, method: Method) -> Callable[..., Awaitable[ASGIApp]]:
        """A handler of `/runs/{run}/…` for whoever brings the token of this run."""

        async def handler(request: HttpRequest) -> ASGIApp:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            run = None
            if scheme.lower() == "bearer":
                run = await self._run(str(request.path_params["run"]), token.strip())
            if run is None:
                raise _refused('Bearer realm="locktender-run"')
            with_lease = _telling_the_loss(method)
            return await with_lease(request, run)

        return handler

    def by_basic(self, method: Method) -> Callable[..., Awaitable[ASGIApp]]:
        """A handler of `/stacks/{stackId}/state…`: user is the run, password its token, and the stack is its own."""

        async def handler(request: HttpRequest) -> ASGIApp:
            user, token = _basic(request.headers.get("authorization", ""))
            run = await self._run(user, token)
            if run is None:
                raise _refused('Basic realm="locktender-run", charset="UTF-8"')
            if run.claim.stack_id != row_id(request.path_params, "stack_id"):
                raise NotFound("stack", "of this run")
            with_lease = _telling_the_loss(method)
            return await with_lease(request, run)

        return handler

    async def _run(self, run_id: str, token: str) -> HeldRun | None:
        try:
            key = row_id({"run": run_id}, "run")
        except NotFound:
            return None
        if not token or len(token) > _TOKEN_LIMIT:
            return None
        digest = token_digest(token)
        row = await live_run(self._database, key, digest)
        return None if row is None else HeldRun(row, RunClaim(key, row["stack_id"], digest, row["lease_epoch"]))


def _telling_the_loss(method: Method) -> Method:
    """What was valid at the gate may have ended before the write: then the write has changed nothing."""

    async def handler(request: HttpRequest, run: HeldRun) -> ASGIApp:
        try:
            return await method(request, run)
        except LeaseLost as error:
            _log.warning("a runner wrote without its lease and was refused", run=str(run.id), reason=str(error))
            raise ProblemError(Problem.LEASE_LOST, "the run is not yours any more; stop, and write nothing") from error
        except WrongState as error:
            raise ProblemError(
                Problem.INVALID_REQUEST, f"the run is {error.actual}; this cannot be said now"
            ) from error

    return handler


def _basic(header: str) -> tuple[str, str]:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic" or len(encoded) > _BASIC_LIMIT:
        return "", ""
    try:
        user, _, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return user, password


def _refused(challenge: str) -> ProblemError:
    detail = "no valid run token; where there was one, the run has ended or belongs to somebody else by now"
    return ProblemError(Problem.UNAUTHENTICATED, detail, headers={"WWW-Authenticate": challenge})
