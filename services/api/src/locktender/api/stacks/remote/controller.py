"""The routes of remote runners: HTTP in, a use case, HTTP out."""

import json
from typing import TypeVar

from litestar import post
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp
from pydantic import BaseModel

from locktender.api.http.body import read_json
from locktender.api.http.faults import validated
from locktender.api.http.gated import HttpRequest
from locktender.api.http.query import row_id
from locktender.api.http.responses import Answer
from locktender.api.http.tracing import Tracing
from locktender.api.stacks.remote.gate import GroupGate, bearer, refused
from locktender.api.stacks.remote.offers import Offers
from locktender.api.stacks.runs.bodies import NoContent
from locktender.contracts.kernel.errors import Rejected
from locktender.contracts.stacks.remote import AcceptRun, DispatchFailed, PollRuns
from locktender.storage.kernel.database import Row

GROUPS = "/runner-groups"
ACCEPT = "/runs/{run:str}/accept"
_BODY_SECONDS = 30.0

M = TypeVar("M", bound=BaseModel)


class RemoteRoutes:
    """The handlers, bound to their use cases."""

    def __init__(self, *, gate: GroupGate, offers: Offers, tracing: Tracing) -> None:
        self._gate = gate
        self._offers = offers
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix."""

        # A function, not a method: the framework copies its handlers, and with a method all that hangs on it.
        async def accept(request: HttpRequest) -> ASGIApp:
            return await self.accept(request)

        return [
            post(GROUPS + "/poll")(self._gate.admit(self.poll)),
            post(GROUPS + "/dispatch-failed")(self._gate.admit(self.dispatch_failed)),
            post(ACCEPT)(accept),
        ]

    async def poll(self, request: HttpRequest, group: Row) -> ASGIApp:
        """A run that is promised to the runner, or 204."""
        asked = await _read(request, PollRuns)
        if asked.group is not None and asked.group != group["name"]:
            raise refused("the token belongs to another runner group")
        offer = await self._offers.poll(group, asked)
        if offer is None:
            return NoContent()
        # The model would mask it.
        return _revealed(offer, "assignment", offer.assignment.get_secret_value())

    async def accept(self, request: HttpRequest) -> ASGIApp:
        """The runner takes its run over; the promise is the bearer token."""
        assignment = bearer(request)
        if not assignment:
            raise refused("send the assignment of the offer as bearer token")
        asked, run_id = await _read(request, AcceptRun), row_id(request.path_params, "run")
        with self._tracing.span("stack_run.accept", request.headers) as trace:
            accepted = await self._offers.accept(run_id, asked.runner_id, assignment, trace)
        return _revealed(accepted, "token", accepted.token.get_secret_value())

    async def dispatch_failed(self, request: HttpRequest, group: Row) -> ASGIApp:
        """No runner could be started for the promise."""
        told = await _read(request, DispatchFailed)
        with self._tracing.span("stack_run.dispatch-failed", request.headers) as trace:
            await self._offers.dispatch_failed(group, told, trace)
        return NoContent()


async def _read(request: HttpRequest, kind: type[M]) -> M:
    model, findings = validated(kind, await read_json(request, _BODY_SECONDS))
    if model is None:
        raise Rejected(findings)
    return model


def _revealed(model: BaseModel, name: str, secret: str) -> Answer:
    members = model.model_dump(mode="json", by_alias=True) | {name: secret}
    return Answer(json.dumps(members).encode(), status=200, headers={})
