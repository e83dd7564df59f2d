"""The routes of states for people: HTTP in, a use case, HTTP out."""

from litestar import get, post, put
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.body import read_json
from locktender.api.http.faults import validated
from locktender.api.http.gated import HttpRequest
from locktender.api.http.problems import ProblemError
from locktender.api.http.query import Query, row_id
from locktender.api.http.responses import json_answer
from locktender.api.stacks.admitted import STACK, admitted, stack_of, workspace_of
from locktender.api.stacks.runs.bodies import BytesAnswer, Room, RunLimits
from locktender.api.stacks.states.versions import StackName, StateVersions
from locktender.contracts.kernel.errors import Rejected
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.states import StateVersion, UnlockState

STATE = STACK + "/state"
VERSION = STATE + "/versions/{version:str}"
_ROLLBACK = ":rollback"
_PAGE = 100
_MOST = 200
JSON = "application/json"


class StateRoutes:
    """The handlers, bound to their use cases. A state may hold secrets: to read one is a verb of its own."""

    def __init__(self, *, gate: Gate, versions: StateVersions, room: Room, limits: RunLimits) -> None:
        self._gate = gate
        self._versions = versions
        self._room = room
        self._limits = limits

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix. Each passes the gate."""
        reads, writes, most = Verb.READ_STATE, Verb.WRITE_STATE, self._limits.state_bytes
        return [
            get(STATE)(admitted(self._gate, reads, self.current)),
            put(STATE, request_max_body_size=most)(admitted(self._gate, writes, self.bring)),
            get(STATE + "/versions")(admitted(self._gate, reads, self.list)),
            get(VERSION)(admitted(self._gate, reads, self.show)),
            # `:rollback` ends the last segment, which the router only takes as a whole.
            post(VERSION)(admitted(self._gate, writes, self.roll_back)),
            post(STATE + ":force-unlock")(admitted(self._gate, writes, self.unlock)),
        ]

    async def current(self, request: HttpRequest, _: Principal) -> ASGIApp:
        """The state that counts, as the engine wrote it."""
        async with self._room.place():
            return _content(*await self._versions.content(_stack(request), None))

    async def show(self, request: HttpRequest, _: Principal) -> ASGIApp:
        """One version, as the engine wrote it."""
        async with self._room.place():
            return _content(*await self._versions.content(_stack(request), row_id(request.path_params, "version")))

    async def list(self, request: HttpRequest, _: Principal) -> ASGIApp:
        """Versions, newest first."""
        query = Query(request)
        limit = query.number("limit", _PAGE, least=1, most=_MOST)
        return json_answer(await self._versions.page(_stack(request), limit=limit, cursor=query.one("cursor")))

    async def bring(self, request: HttpRequest, by: Principal) -> ASGIApp:
        """A local state becomes the one that counts."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise ProblemError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send the state file with `Content-Type: {JSON}`")
        async with self._room.place():
            data = await self._room.read(request)
            return json_answer(await self._versions.bring(_stack(request), data, by.name))

    async def roll_back(self, request: HttpRequest, by: Principal) -> ASGIApp:
        """An old version becomes the one that counts."""
        name = str(request.path_params["version"])
        if not name.endswith(_ROLLBACK):
            detail = "this address does not take this method; add `:rollback` to go back to a version"
            raise ProblemError(Problem.METHOD_NOT_ALLOWED, detail, headers={"Allow": "GET"})
        version = row_id({"version": name.removesuffix(_ROLLBACK)}, "version")
        async with self._room.place():
            return json_answer(await self._versions.roll_back(_stack(request), version, by.name))

    async def unlock(self, request: HttpRequest, by: Principal) -> ASGIApp:
        """A lock is broken."""
        given, findings = validated(UnlockState, await read_json(request, self._limits.body_seconds))
        if given is None:
            raise Rejected(findings)
        return json_answer(await self._versions.unlock(_stack(request), given.lock_id, by.name))


def _content(version: StateVersion, data: bytes) -> BytesAnswer:
    return BytesAnswer(data, media_type=JSON, headers={"ETag": f'"{version.id}"'})


def _stack(request: HttpRequest) -> StackName:
    return StackName(workspace_of(request), stack_of(request))
