"""The routes of the run protocol: HTTP in, a use case, HTTP out."""

from litestar import get, post, put
from litestar.handlers import HTTPRouteHandler

from locktender.api.http.body import read_json
from locktender.api.http.faults import validated
from locktender.api.http.query import Query
from locktender.api.http.responses import Answer, json_answer
from locktender.api.http.tracing import Tracing
from locktender.api.stacks.logs.intake import LogIntake
from locktender.api.stacks.runs.artifacts import Artifacts
from locktender.api.stacks.runs.bodies import BytesAnswer, NoContent, Room, RunLimits
from locktender.api.stacks.runs.context import RunContexts
from locktender.api.stacks.runs.gate import HeldRun, HttpRequest, RunGate
from locktender.api.stacks.runs.reports import RunReports
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.contracts.stacks.wire import MAX_LOG_CHUNK, Done, LogAccepted

RUN = "/runs/{run:str}"
_FARTHEST = 10**12 - 1


class RunRoutes:
    """The handlers, bound to their use cases. Each passes the gate of runs."""

    def __init__(
        self,
        *,
        gate: RunGate,
        contexts: RunContexts,
        reports: RunReports,
        artifacts: Artifacts,
        intake: LogIntake,
        limits: RunLimits,
        room: Room,
        tracing: Tracing,
    ) -> None:
        self._gate = gate
        self._contexts = contexts
        self._reports = reports
        self._artifacts = artifacts
        self._intake = intake
        self._limits = limits
        self._room = room
        self._tracing = tracing

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix."""
        run, artifact, most = self._gate.by_bearer, RUN + "/artifacts/{artifact:str}", self._limits.artifact_bytes
        return [
            get(RUN + "/context")(run(self.context)),
            get(RUN + "/status")(run(self.status)),
            post(RUN + "/acknowledging-cancel")(run(self.acknowledge)),
            post(RUN + "/done")(run(self.done)),
            post(RUN + "/log", request_max_body_size=MAX_LOG_CHUNK)(run(self.log)),
            put(artifact, request_max_body_size=most)(run(self.put_artifact)),
            get(artifact)(run(self.get_artifact)),
        ]

    async def context(self, request: HttpRequest, run: HeldRun) -> Answer:
        """What the run is."""
        return json_answer(await self._contexts(run, Query(request).one("key"), str(request.base_url)))

    async def status(self, request: HttpRequest, run: HeldRun) -> Answer:
        """What is true of it; renews its lease."""
        del request
        return json_answer(await self._reports.alive(run))

    async def acknowledge(self, request: HttpRequest, run: HeldRun) -> Answer:
        """The runner is stopping the tool."""
        with self._tracing.span("stack_run.acknowledge", request.headers) as trace:
            return json_answer(await self._reports.stopping(run, trace))

    async def done(self, request: HttpRequest, run: HeldRun) -> Answer:
        """The runner has finished."""
        document = await read_json(request, self._limits.body_seconds)
        done, findings = validated(Done, document)
        if done is None:
            raise Rejected(findings)
        with self._tracing.span("stack_run.done", request.headers) as trace:
            return json_answer(await self._reports.done(run, done, trace))

    async def log(self, request: HttpRequest, run: HeldRun) -> Answer:
        """A piece of the log."""
        query = Query(request)
        if query.one("offset") is None:
            message = "say with the parameter `offset` where this piece begins"
            raise Rejected([Finding(Pointer(""), message, "required")])
        offset = query.number("offset", 0, least=0, most=_FARTHEST)
        data = await self._room.read(request)
        return json_answer(LogAccepted(end=await self._intake(run, offset, data)))

    async def put_artifact(self, request: HttpRequest, run: HeldRun) -> NoContent:
        """Keep a file of the run."""
        async with self._room.place():
            data = await self._room.read(request)
            await self._artifacts.put(run, str(request.path_params["artifact"]), data)
        return NoContent()

    async def get_artifact(self, request: HttpRequest, run: HeldRun) -> BytesAnswer:
        """A file that the run takes."""
        async with self._room.place():
            return BytesAnswer(await self._artifacts.get(run, str(request.path_params["artifact"])))
