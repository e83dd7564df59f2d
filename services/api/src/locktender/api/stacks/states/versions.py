"""The use cases of people: look at versions of a state, bring one from elsewhere, go back to one, break a lock."""

import json
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import structlog

from locktender.api.http.paging import Cursors
from locktender.api.http.problems import ProblemError
from locktender.api.stacks.states.content import StateContent, read_state, with_serial
from locktender.api.stacks.states.keeping import StateKeeping
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.problems import Problem
from locktender.contracts.stacks.states import HeldStateLock, StateOrigin, StateVersion, StateVersionPage
from locktender.storage.deployments.reads import Position
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.stacks.states import (
    NewState,
    StateBusy,
    StateConflict,
    StateLocked,
    break_lock,
    current_version,
    stack_of_state,
    version,
    versions,
    write_by_person,
)

_log = structlog.stdlib.get_logger(__name__)
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class StackName:
    """A stack, as people name it."""

    workspace: str
    stack: str


class StateVersions:
    """Reads and writes of people. A write of theirs is a version like any other: nothing is ever rewritten."""

    def __init__(self, *, database: Database, keeping: StateKeeping, cursors: Cursors) -> None:
        self._database = database
        self._keeping = keeping
        self._cursors = cursors

    async def page(self, of: StackName, *, limit: int, cursor: str | None) -> StateVersionPage:
        """Versions, newest first, and the lock.

        Raises:
            NotFound: there is no such stack.
            ProblemError: the cursor is not one of this list.
        """
        owner = await self._stack(of)
        listing = (of.workspace, str(owner["id"]), "state-versions")
        after = None if cursor is None else self._cursors.read(cursor, listing)
        place = None if after is None else (after.created_at, after.id)
        rows = await versions(self._database, owner["id"], after=place, most=limit + 1)
        more = None
        if len(rows) > limit:
            rows = rows[:limit]
            more = self._cursors.make(Position(rows[-1]["created_at"], rows[-1]["id"]), listing)
        shown = tuple(_shown(row, owner["state_version_id"]) for row in rows)
        return StateVersionPage(versions=shown, next_cursor=more, lock=_lock(owner))

    async def content(self, of: StackName, version_id: UUID | None) -> tuple[StateVersion, bytes]:
        """A version, or the one that counts, and its bytes.

        Raises:
            NotFound: there is no such stack or version, or no state yet.
        """
        owner = await self._stack(of)
        row = await self._version(owner, version_id)
        return _shown(row, owner["state_version_id"]), await self._keeping.read(row)

    async def bring(self, of: StackName, data: bytes, by: str) -> StateVersion:
        """Make a local state the one that counts. The same content again is answered, and not doubled.

        Raises:
            NotFound: there is no such stack.
            Rejected: it is no state file.
            ProblemError: it is not the successor of what counts, the state is locked, or a run may write.
        """
        owner = await self._stack(of)
        return await self._write(owner, await read_state(data), "import", by)

    async def roll_back(self, of: StackName, version_id: UUID, by: str) -> StateVersion:
        """Make the content of a version count again, as a new version with the next serial.

        Raises:
            NotFound: there is no such stack or version.
            ProblemError: as `bring`; also where the state moved meanwhile, or the engine has encrypted it.
        """
        owner = await self._stack(of)
        row = await self._version(owner, version_id)
        content = await with_serial(await self._keeping.read(row), owner["state_serial"] + 1)
        return await self._write(owner, content, "rollback", by)

    async def unlock(self, of: StackName, lock_id: str, by: str) -> StateVersionPage:
        """Break the lock of this id; that there is none is success.

        Raises:
            NotFound: there is no such stack.
            ProblemError: it is locked under another id.
        """
        owner = await self._stack(of)

        async def work(tx: Transaction) -> Row | None:
            return await break_lock(tx, owner["id"], lock_id)

        try:
            broken = await self._database.transact(work)
        except StateLocked as error:
            raise _locked(error) from error
        if broken is not None:
            _log.warning(
                "a person broke the lock of a state", stack=str(owner["id"]), by=by, lock=lock_id,
                run=str(broken["state_lock_run_id"]),
            )  # fmt: skip
        return await self.page(of, limit=1, cursor=None)

    async def _write(self, owner: Row, content: StateContent, origin: StateOrigin, by: str) -> StateVersion:
        async def record(tx: Transaction, new: NewState) -> bool:
            return await write_by_person(tx, owner["id"], new, origin, by)

        try:
            new = await self._keeping.write(owner["id"], content, record)
        except StateLocked as error:
            raise _locked(error) from error
        except StateBusy as error:
            raise ProblemError(Problem.STACK_BUSY, str(error)) from error
        except StateConflict as error:
            raise ProblemError(Problem.STATE_CONFLICT, str(error)) from error
        row = await current_version(self._database, owner["id"])
        if new is not None:
            _log.info(
                "a person wrote the state", stack=str(owner["id"]), by=by, origin=origin, version=str(new.id),
                serial=new.serial,
            )  # fmt: skip
            row = await version(self._database, owner["id"], new.id)
        if row is None:
            raise NotFound("state", "of this stack")
        return _shown(row, row["id"])

    async def _stack(self, of: StackName) -> Row:
        row = await stack_of_state(self._database, of.workspace, of.stack)
        if row is None:
            raise NotFound("stack", of.stack)
        return row

    async def _version(self, owner: Row, version_id: UUID | None) -> Row:
        wanted = owner["state_version_id"] if version_id is None else version_id
        row = None if wanted is None else await version(self._database, owner["id"], wanted)
        if row is None:
            raise NotFound("state version", "of this stack")
        return row


def _shown(row: Row, current: UUID | None) -> StateVersion:
    return StateVersion(
        id=row["id"], serial=row["serial"], lineage=row["lineage"], sha256=row["sha256"], size=row["size"],
        origin=row["origin"], run_id=row["run_id"], created_by=row["created_by"], created_at=row["created_at"],
        current=row["id"] == current,
    )  # fmt: skip


def _lock(owner: Row) -> HeldStateLock | None:
    if owner["state_lock"] is None:
        return None
    said = cast("dict[str, Any]", json.loads(owner["state_lock"]))
    return HeldStateLock(
        id=said["ID"],
        operation=str(said.get("Operation", ""))[:_LONGEST],
        who=str(said.get("Who", ""))[:_LONGEST],
        run_id=owner["state_lock_run_id"],
        locked_at=owner["state_locked_at"],
    )


def _locked(error: StateLocked) -> ProblemError:
    said = cast("dict[str, Any]", json.loads(error.lock))
    detail = f"the state is locked under the id {said['ID']}; wait for its holder, or break exactly this lock"
    return ProblemError(Problem.STATE_LOCKED, detail)
