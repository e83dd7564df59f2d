"""One run over HTTP: the runner's end of the run protocol."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

import httpx
import structlog
from pydantic import BaseModel, SecretStr, ValidationError

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.contracts.stacks.flow import STACK_RUN, RunStatus
from locktender.contracts.stacks.wire import (
    ArtifactName,
    Done,
    Flag,
    LeaseGone,
    LogAccepted,
    RunContext,
    RunSecrets,
    StatusAnswer,
)
from locktender.runtime.logs import withheld
from locktender.runtime.renewals import FENCE_AT
from locktender.runtime.runs.calls import Call, Calls
from locktender.runtime.runs.errors import RunRefused
from locktender.runtime.runs.keys import RunKey
from locktender.runtime.runs.log_sender import LogSender
from locktender.runtime.runs.terms import NORMAL, PortTerms

_log = structlog.stdlib.get_logger(__name__)

_BYTES = "application/octet-stream"
_CANCELLING = frozenset({RunStatus.REQUESTED_CANCELLATION, RunStatus.CANCELLING})

M = TypeVar("M", bound=BaseModel)


class HttpRunPort:
    """A `RunPort` over HTTP. Make it with `open_port`, which also sends the log and renews the lease.

    Every request is tried again within the bounds of the terms, and none does anything twice. Where the API says that
    the token is void, `lost` is set and `LeaseGone` is raised; so it is for every request after that.
    """

    def __init__(
        self, http: httpx.AsyncClient, run_id: UUID, token: SecretStr, *, key: RunKey, clock: Clock, terms: PortTerms
    ) -> None:
        self.run_id = run_id
        self.token = token
        self._cancelled, self._lost = asyncio.Event(), asyncio.Event()
        self.cancelled: Flag = self._cancelled
        self.lost: Flag = self._lost
        self._key = key
        self._terms = terms
        self._path = f"/v1/runs/{run_id}"
        self._calls = Calls(http, token.get_secret_value(), clock=clock, retry=terms.retry)
        self._asked = False
        self.sender = LogSender(self._send_log, clock=clock, terms=terms)
        """What sends the log; it has to run."""
        self.kept_out = ExitStack()
        """Keeps the secrets of the run out of the logs of this process until it is closed."""

    # -- what whoever keeps the lease says

    def cancel(self) -> None:
        """Somebody asked for a cancel."""
        self._asked = True
        self._cancelled.set()

    def interrupt(self) -> None:
        """This runner ends, so the tool is to be stopped although nobody asked for a cancel."""
        self._cancelled.set()

    def lose(self) -> None:
        """The lease is gone, or may be."""
        self._lost.set()

    @property
    def interrupted(self) -> bool:
        """Whether the tool was to be stopped although nobody had asked for a cancel."""
        return self.cancelled.is_set() and not self._asked

    # -- the run's end

    async def context(self) -> tuple[RunContext, RunSecrets]:
        """Everything that the run needs.

        Raises:
            LeaseGone: the token is not valid any more.
            Unsealable: the secrets were not sealed for this runner.
            RunRefused: the API does not give it out, or what it gives cannot be read.
            Unavailable: the API could not be reached.
        """
        call = self._call("the context of the run", "GET", "/context", within=self._terms.context_seconds)
        call = replace(call, params={"key": self._key.public})
        context = _read(RunContext, call.what, await self._sent(call))
        if context.run_id != self.run_id:
            raise RunRefused(call.what, 200, "", "it is another run's")
        secrets = self._key.unseal(context)
        self.kept_out.enter_context(withheld.values(secrets.values()))
        return context, secrets

    async def status(self, within: float) -> RunStatus:
        """What is true of the run now. Asking renews the lease of a remote run."""
        call = self._call("the status of the run", "GET", "/status", within=within)
        return _read(StatusAnswer, call.what, await self._sent(call)).status

    async def log(self, chunk: bytes) -> None:
        """See `RunPort`. Returns once the piece is on its way, in order, with at most a bounded number of bytes."""
        if self.lost.is_set():
            raise LeaseGone
        await self.sender.write(chunk)

    async def put_artifact(self, name: ArtifactName, data: bytes) -> None:
        """See `RunPort`."""
        await self._sent(self._transfer(name, "PUT", data))

    async def get_artifact(self, name: ArtifactName) -> bytes:
        """See `RunPort`."""
        return (await self._sent(self._transfer(name, "GET", None))).content

    async def acknowledge_cancel(self) -> None:
        """See `RunPort`. Does nothing where nobody asked for a cancel."""
        if self._asked:
            await self._sent(
                self._call(
                    "the confirmation of the cancel", "POST", "/acknowledging-cancel",
                    within=self._terms.acknowledge_seconds,
                )
            )  # fmt: skip

    async def done(self, done: Done) -> None:
        """See `RunPort`. The log that waits is sent before, within its bound."""
        await self.sender.flush()
        call = self._call("the end of the run", "POST", "/done", within=self._terms.done_seconds)
        body = done.model_dump_json(by_alias=True).encode()
        await self._sent(replace(call, content=body, ends_lease=True))

    # -- how

    async def _send_log(self, offset: int, piece: bytes) -> int:
        call = Call(
            what="the log of the run", method="POST", path=f"{self._path}/log", within=self._terms.log_seconds,
            attempt=self._terms.attempt_seconds, content=piece, media_type=_BYTES, params={"offset": offset},
        )  # fmt: skip
        return _read(LogAccepted, call.what, await self._sent(call)).end

    def _call(self, what: str, method: str, path: str, *, within: float) -> Call:
        return Call(what, method, f"{self._path}{path}", within=within, attempt=self._terms.attempt_seconds)

    def _transfer(self, name: ArtifactName, method: str, content: bytes | None) -> Call:
        return Call(
            what=name, method=method, path=f"{self._path}/artifacts/{name}", within=self._terms.artifact_seconds,
            attempt=self._terms.transfer_seconds, content=content, media_type=_BYTES,
        )  # fmt: skip

    async def _sent(self, call: Call) -> httpx.Response:
        if self.lost.is_set():
            raise LeaseGone
        try:
            return await self._calls.send(call)
        except LeaseGone:
            self._lost.set()
            raise


@asynccontextmanager
async def open_port(
    http: httpx.AsyncClient,
    run_id: UUID,
    token: SecretStr,
    *,
    key: RunKey,
    clock: Clock,
    terms: PortTerms = NORMAL,
    renews: float | None = None,
    since: float | None = None,
) -> AsyncGenerator[HttpRunPort]:
    """A port whose log is sent for as long as the block lasts.

    Args:
        http: a client for the API; its base URL has no `/v1`.
        run_id: the run.
        token: its run token.
        key: to which the secrets of the run are sealed.
        clock: of this process.
        terms: how patient the port is.
        renews: the length of the lease in seconds, where asking for the status is what renews it. The port then does
            so, hears of cancels by it, and gives the lease up when there was no answer for 0.7 of its length. None:
            somebody else keeps the lease, and calls `cancel` and `lose`.
        since: the monotonic time at which the lease was asked for; now, if not given.
    """
    port = HttpRunPort(http, run_id, token, key=key, clock=clock, terms=terms)
    kept = clock.monotonic() if since is None else since
    fault: Exception | None = None
    async with asyncio.TaskGroup() as group:
        port.kept_out.enter_context(withheld.values([token.get_secret_value()]))
        tasks = [group.create_task(port.sender.run())]
        if renews is not None:
            tasks.append(group.create_task(_renew(port, renews, kept, clock, terms)))
        try:
            yield port
        except Exception as error:  # noqa: BLE001 - raised again below, outside of the group, which would wrap it
            fault = error
        finally:
            port.kept_out.close()
            for task in tasks:
                task.cancel()
    if fault is not None:
        raise fault


async def _renew(port: HttpRunPort, ttl: float, kept: float, clock: Clock, terms: PortTerms) -> None:
    """Ask for the status until the lease is lost."""
    patience = ttl * FENCE_AT
    pause = min(terms.status_seconds, ttl / 4)
    while not port.lost.is_set():
        left = kept + patience - clock.monotonic()
        if left <= 0:
            _log.error("no answer about a lease in time, its run is fenced", run=str(port.run_id))
            port.lose()
            return
        asked_at = clock.monotonic()
        try:
            _heard(port, await port.status(min(left, terms.attempt_seconds)))
            kept = asked_at
        except LeaseGone:
            return
        except Unavailable as error:
            _log.warning("the status of a run cannot be asked for, trying again", reason=str(error))
        except LocktenderError as error:
            _log.error("the API does not say how a run stands", run=str(port.run_id), reason=str(error))
        await clock.sleep(pause)


def _heard(port: HttpRunPort, status: RunStatus) -> None:
    if status in _CANCELLING:
        port.cancel()
    elif status not in STACK_RUN.leased:
        port.lose()


def _read(model: type[M], what: str, answer: httpx.Response) -> M:
    try:
        return model.model_validate_json(answer.content)
    except ValidationError:
        # Its text repeats what was read.
        raise RunRefused(what, answer.status_code, "", "its answer cannot be read; check the versions") from None
