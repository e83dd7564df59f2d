"""The routes of logs for people: HTTP in, a use case, HTTP out."""

from litestar import get
from litestar.handlers import HTTPRouteHandler
from litestar.response.streaming import ASGIStreamingResponse

from locktender.api.http.auth import Gate
from locktender.api.http.authorize import Principal, Verb
from locktender.api.http.gated import HttpRequest
from locktender.api.http.query import Query, row_id
from locktender.api.http.sse import event_stream
from locktender.api.stacks.admitted import STACK, admitted, number_of, stack_of, workspace_of
from locktender.api.stacks.logs.archive import LogArchive, LogBroken, LogPlace
from locktender.api.stacks.logs.follow import LogStreams
from locktender.api.stacks.removed import check_kept
from locktender.api.stacks.runs.bodies import BytesAnswer
from locktender.contracts.kernel.errors import NotFound
from locktender.storage.kernel.database import Database, Row
from locktender.storage.stacks.logs import log_of

LOG = STACK + "/deployments/{number:str}/runs/{run_id:str}/log"
PAGE_BYTES = 1024 * 1024
MOST_BYTES = 4 * PAGE_BYTES
_FARTHEST = 10**12 - 1
_DIGITS = 18


class LogRoutes:
    """The handlers. Each passes the gate."""

    def __init__(self, *, gate: Gate, database: Database, archive: LogArchive, streams: LogStreams) -> None:
        self._gate = gate
        self._database = database
        self._archive = archive
        self._streams = streams

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix."""
        return [
            get(LOG)(admitted(self._gate, Verb.READ, self.show)),
            get(LOG + "/stream")(admitted(self._gate, Verb.WATCH, self.watch)),
        ]

    async def show(self, request: HttpRequest, _: Principal) -> BytesAnswer:
        """A range of the log. The headers say where it begins, and up to where there is more by now."""
        query = Query(request)
        offset = query.number("offset", 0, least=0, most=_FARTHEST)
        limit = query.number("limit", PAGE_BYTES, least=1, most=MOST_BYTES)
        row = await self._run(request)
        until = min(offset + limit, row["log_end"])
        text = await self._read(request, row, offset, until)
        headers = {"Locktender-Log-Offset": str(min(offset, until)), "Locktender-Log-End": str(row["log_end"])}
        return BytesAnswer(text, media_type="text/plain; charset=utf-8", headers=headers)

    async def watch(self, request: HttpRequest, _: Principal) -> ASGIStreamingResponse:
        """The log as it is written."""
        last = request.headers.get("last-event-id", "")
        known = last.isascii() and last.isdecimal() and len(last) <= _DIGITS
        row = await self._run(request)
        return event_stream(self._streams.follow(row["id"], int(last) if known else None))

    async def _read(self, request: HttpRequest, row: Row, start: int, end: int) -> bytes:
        try:
            return await self._archive.read(LogPlace.of(row), start, end)
        except LogBroken:
            # It may have been removed at this moment; then that is the answer.
            await self._run(request)
            raise

    async def _run(self, request: HttpRequest) -> Row:
        workspace, stack, number = workspace_of(request), stack_of(request), number_of(request)
        row = await log_of(self._database, workspace, stack, number, row_id(request.path_params, "run_id"))
        if row is None:
            raise NotFound("run", "of this deployment")
        check_kept(row, "the log of the run")
        return row
