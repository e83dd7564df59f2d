"""The state backend that engines speak to (`http` in Terraform and OpenTofu), as the run whose token they bring."""

import structlog
from litestar import delete, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from locktender.api.http.body import parse_object
from locktender.api.http.problems import ProblemError
from locktender.api.http.query import Query
from locktender.api.stacks.runs.bodies import BytesAnswer, Room, RunLimits
from locktender.api.stacks.runs.gate import HeldRun, HttpRequest, RunGate
from locktender.api.stacks.states.content import StateContent, check_md5, read_state
from locktender.api.stacks.states.keeping import StateKeeping
from locktender.contracts.kernel.errors import Finding, NotFound, Pointer, Rejected
from locktender.contracts.kernel.problems import Problem
from locktender.storage.kernel.database import Database, Transaction
from locktender.storage.stacks.states import (
    NewState,
    StateConflict,
    StateLocked,
    current_version,
    lock_by_run,
    unlock_by_run,
    write_by_run,
)

_log = structlog.stdlib.get_logger(__name__)

STATE = "/stacks/{stack_id:str}/state"
_LOCK_BYTES = 16 * 1024
_LONGEST_ID = 200
JSON = "application/json"


class StateBackend:
    """The routes of the backend. Every write is decided on the locked stack, with the run alive at its epoch."""

    def __init__(
        self, *, gate: RunGate, database: Database, keeping: StateKeeping, room: Room, limits: RunLimits
    ) -> None:
        self._gate = gate
        self._database = database
        self._keeping = keeping
        self._room = room
        self._limits = limits

    def handlers(self) -> list[HTTPRouteHandler]:
        """The routes, relative to the version prefix."""
        run = self._gate.by_basic
        return [
            get(STATE)(run(self.read)),
            post(STATE, request_max_body_size=self._limits.state_bytes)(run(self.write)),
            delete(STATE, status_code=200)(run(self.remove)),
            post(STATE + "/lock", request_max_body_size=_LOCK_BYTES)(run(self.lock)),
            post(STATE + "/unlock", request_max_body_size=_LOCK_BYTES)(run(self.unlock)),
        ]

    async def read(self, request: HttpRequest, run: HeldRun) -> ASGIApp:
        """The state as it was written. 404 where there is none yet, which engines take for an empty one."""
        del request
        async with self._room.place():
            version = await current_version(self._database, run.claim.stack_id)
            if version is None:
                raise NotFound("state", "of this stack")
            return BytesAnswer(await self._keeping.read(version), media_type=JSON)

    async def write(self, request: HttpRequest, run: HeldRun) -> ASGIApp:
        """The next version. A repeat of the one that counts is answered, and not doubled."""
        _check_may_write(run)
        lock_id = Query(request).one("ID") or None
        async with self._room.place():
            data = await self._room.read(request)
            check_md5(data, request.headers.get("content-md5"))
            await self._write(run, await read_state(data), lock_id)
        return BytesAnswer(b"{}", media_type=JSON)

    async def remove(self, request: HttpRequest, run: HeldRun) -> ASGIApp:
        """Never: what was applied is not forgotten because an engine asks for it."""
        del request, run
        detail = "a state is not deleted by a run; destroy what it holds, then delete the stack"
        raise ProblemError(Problem.FORBIDDEN, detail)

    async def lock(self, request: HttpRequest, run: HeldRun) -> ASGIApp:
        """Take the lock. The answer to a lock that somebody else has is what they said of themselves."""
        _check_may_write(run)
        lock = _lock_in(await self._room.read(request))

        async def work(tx: Transaction) -> None:
            await lock_by_run(tx, run.claim, lock)

        try:
            await self._database.transact(work)
        except StateLocked as error:
            return BytesAnswer(error.lock.encode(), media_type=JSON, status=423)
        return BytesAnswer(b"{}", media_type=JSON)

    async def unlock(self, request: HttpRequest, run: HeldRun) -> ASGIApp:
        """Give the lock back. An engine that forces it sends the id alone, or nothing."""
        _check_may_write(run)
        data = await self._room.read(request)
        lock_id = str(_lock_in(data)["ID"]) if data else None

        async def work(tx: Transaction) -> None:
            await unlock_by_run(tx, run.claim, lock_id)

        try:
            await self._database.transact(work)
        except StateLocked as error:
            return BytesAnswer(error.lock.encode(), media_type=JSON, status=423)
        return BytesAnswer(b"{}", media_type=JSON)

    async def _write(self, run: HeldRun, content: StateContent, lock_id: str | None) -> None:
        async def record(tx: Transaction, new: NewState) -> bool:
            return await write_by_run(tx, run.claim, new, lock_id)

        try:
            new = await self._keeping.write(run.claim.stack_id, content, record)
        except StateLocked:
            raise ProblemError(Problem.STATE_LOCKED, "the state is locked under another id than this write's") from None
        except StateConflict as error:
            raise ProblemError(Problem.STATE_CONFLICT, str(error)) from error
        if new is not None:
            _log.info(
                "a run wrote the state", run=str(run.id), epoch=run.claim.epoch, stack=str(run.claim.stack_id),
                version=str(new.id), serial=new.serial,
            )  # fmt: skip


def _check_may_write(run: HeldRun) -> None:
    if not run.mode.mutates:
        raise ProblemError(Problem.FORBIDDEN, f"a run that does {run.mode} only reads the state")


def _lock_in(data: bytes) -> dict[str, object]:
    lock = parse_object(data)
    identity = lock.get("ID")
    if not isinstance(identity, str) or not 0 < len(identity) <= _LONGEST_ID:
        message = f"a lock has an ID of up to {_LONGEST_ID} characters"
        raise Rejected([Finding(Pointer("/ID"), message, "not-a-lock")])
    return lock
