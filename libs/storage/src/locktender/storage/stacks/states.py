"""The state of a stack: its versions, and its lock. Whether a write may happen is decided here, on the locked row."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from sqlalchemy import BigInteger, DateTime, Integer, LargeBinary, Text, Uuid, and_, insert, null, or_, select, update
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.kernel.errors import LeaseLost, LocktenderError
from locktender.contracts.stacks.flow import STACK_RUN, RunStatus
from locktender.contracts.stacks.states import StateOrigin
from locktender.contracts.stacks.vocabulary import RunMode
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks.held import RUN, required
from locktender.storage.stacks.lane import locked
from locktender.storage.stacks.tables import stack, stack_run, stack_state

_s, _r, _v = stack.c, stack_run.c, stack_state.c
_stack_id = parameter("stack_id", Uuid())

HOLDING = Statement(
    "stack_run.holding",
    select(*_r)
    .where(
        _r.id == parameter("id", Uuid()),
        _r.stack_id == _stack_id,
        _r.token_hash == parameter("token_hash", LargeBinary()),
        in_states(_r.status, STACK_RUN.leased),
        _r.lease_expires_at > db_now(),
    )
    .with_for_update(),
)
_MUTATING = Statement(
    "stack_run.mutating",
    select(_r.id)
    .where(
        _r.stack_id == _stack_id,
        in_states(_r.status, STACK_RUN.active - {RunStatus.QUEUED}),
        _r.mode.in_([constant(mode.value) for mode in RunMode if mode.mutates]),
    )
    .limit(1),
)
_COLUMNS = (
    "id", "stack_id", "serial", "lineage", "object_key", "sha256", "size", "origin", "run_id", "epoch", "created_by",
)  # fmt: skip
_ADD = Statement(
    "stack_state.add",
    insert(stack_state).values({name: parameter(name, _v[name].type) for name in _COLUMNS}).returning(*_v),
)
_POINT = Statement(
    "stack.point",
    update(stack)
    .where(_s.id == _stack_id)
    .values(
        state_version_id=parameter("version_id", Uuid()),
        state_lineage=parameter("lineage", Text()),
        state_serial=parameter("serial", BigInteger()),
    )
    .returning(_s.id),
)
_CURRENT = Statement(
    "stack_state.current",
    select(*_v).join(stack, _s.state_version_id == _v.id).where(_s.id == _stack_id, _s.deleted_at.is_(None)),
)
_VERSION = Statement(
    "stack_state.version", select(*_v).where(_v.id == parameter("id", Uuid()), _v.stack_id == _stack_id)
)
_before = parameter("before", DateTime(timezone=True))
_PAGE = Statement(
    "stack_state.page",
    select(*_v)
    .where(
        _v.stack_id == _stack_id,
        or_(
            _before.is_(None),
            _v.created_at < _before,
            and_(_v.created_at == _before, _v.id < parameter("before_id", Uuid())),
        ),
    )
    .order_by(_v.created_at.desc(), _v.id.desc())
    .limit(parameter("most", Integer())),
)
_LOCK = Statement(
    "stack.lock_state",
    update(stack)
    .where(_s.id == _stack_id, _s.state_lock.is_(None))
    .values(
        state_lock=parameter("lock", JSONB()), state_lock_run_id=parameter("run_id", Uuid()), state_locked_at=db_now()
    )
    .returning(_s.id),
)
_UNLOCK = Statement(
    "stack.unlock_state",
    update(stack)
    .where(_s.id == _stack_id)
    .values(state_lock=null(), state_lock_run_id=null(), state_locked_at=null())
    .returning(_s.id),
)
_NAMED = Statement(
    "stack.of_state",
    select(*_s).where(
        _s.workspace == parameter("workspace", Text()), _s.name == parameter("name", Text()), _s.deleted_at.is_(None)
    ),
)


class StateConflict(LocktenderError):
    """The content is not the successor of what is stored. Nothing was changed; the message says why, for people."""


class StateBusy(LocktenderError):
    """A run that may change the state has not ended, so no person may."""


class StateLocked(LocktenderError):
    """Somebody else holds the lock. `lock` is what they said of themselves, JSON as the engine wrote it."""

    def __init__(self, lock: str) -> None:
        super().__init__("the state is locked")
        self.lock = lock


@dataclass(frozen=True, slots=True)
class RunClaim:
    """A run whose token was valid when it was looked at. Every write asks again, on the locked row."""

    run_id: UUID
    stack_id: UUID
    token_hash: bytes
    epoch: int


@dataclass(frozen=True, slots=True)
class NewState:
    """A version that is in the object store, and not in the record yet."""

    id: UUID
    serial: int
    lineage: str
    object_key: str
    sha256: str
    size: int


async def held(tx: Transaction, claim: RunClaim) -> tuple[Row, Row]:
    """The stack and the run, both locked, with the run alive at the epoch of the claim.

    Raises:
        NotFound: the stack is not there any more.
        LeaseLost: the run has ended, is another epoch's, or its lease has run out.
    """
    owner = await locked(tx, claim.stack_id)
    run = await tx.fetch_one(HOLDING, id=claim.run_id, stack_id=claim.stack_id, token_hash=claim.token_hash)
    if run is None:
        raise LeaseLost(claim.run_id, claim.epoch, (await required(tx, RUN, claim.run_id))["lease_epoch"])
    return owner, run


async def write_by_run(tx: Transaction, claim: RunClaim, new: NewState, lock_id: str | None) -> bool:
    """A run writes the next version. False: exactly this content is the current version already.

    Raises:
        NotFound, LeaseLost: as `held`. A zombie's write ends here.
        StateLocked: the lock is there, and `lock_id` is not its id.
        StateConflict: another lineage, an older serial, or the same serial with other content.
    """
    owner, run = await held(tx, claim)
    if owner["state_lock"] is not None and lock_id_of(owner) != lock_id:
        raise StateLocked(owner["state_lock"])
    if await _stands(tx, owner, new):
        return False
    await _record(tx, new, owner, "run", run["lease_owner"], run_id=run["id"], epoch=run["lease_epoch"])
    return True


async def write_by_person(tx: Transaction, stack_id: UUID, new: NewState, origin: StateOrigin, by: str) -> bool:
    """A person writes the next version. False: exactly this content is the current version already.

    Raises:
        NotFound: there is no such stack.
        StateLocked: somebody holds the lock.
        StateBusy: a run that may write has not ended.
        StateConflict: as `write_by_run`.
    """
    owner = await locked(tx, stack_id)
    if owner["state_lock"] is not None:
        raise StateLocked(owner["state_lock"])
    if await tx.fetch_one(_MUTATING, stack_id=stack_id) is not None:
        raise StateBusy("a run that may change the state has not ended; wait for it, or cancel its deployment")
    if await _stands(tx, owner, new):
        return False
    await _record(tx, new, owner, origin, by)
    return True


async def lock_by_run(tx: Transaction, claim: RunClaim, lock: Mapping[str, object]) -> None:
    """Take the lock; to have it under the same id already is success.

    Raises:
        NotFound, LeaseLost: as `held`.
        StateLocked: somebody holds it under another id, this run included.
    """
    owner, run = await held(tx, claim)
    if owner["state_lock"] is None:
        await tx.fetch(_LOCK, stack_id=owner["id"], lock=json.dumps(dict(lock)), run_id=run["id"])
    elif lock_id_of(owner) != lock["ID"]:
        raise StateLocked(owner["state_lock"])


async def unlock_by_run(tx: Transaction, claim: RunClaim, lock_id: str | None) -> None:
    """Give the run's own lock back; that there is none is success. Without an id it is whichever the run holds.

    Raises:
        NotFound, LeaseLost: as `held`.
        StateLocked: it is not the lock of this run, or not of this id.
    """
    owner, run = await held(tx, claim)
    if owner["state_lock"] is None:
        return
    if owner["state_lock_run_id"] != run["id"] or lock_id not in {None, lock_id_of(owner)}:
        raise StateLocked(owner["state_lock"])
    await tx.fetch(_UNLOCK, stack_id=owner["id"])


async def break_lock(tx: Transaction, stack_id: UUID, lock_id: str) -> Row | None:
    """Take the lock of this id away from whoever holds it; the stack as it was. None: there was no lock.

    A run that is alive goes on: its token fences it, and not the lock.

    Raises:
        NotFound: there is no such stack.
        StateLocked: it is locked under another id.
    """
    owner = await locked(tx, stack_id)
    if owner["state_lock"] is None:
        return None
    if lock_id_of(owner) != lock_id:
        raise StateLocked(owner["state_lock"])
    await tx.fetch(_UNLOCK, stack_id=stack_id)
    return owner


def lock_id_of(owner: Row) -> str | None:
    """The id of the lock that is on a stack's row."""
    return None if owner["state_lock"] is None else cast("str", json.loads(owner["state_lock"])["ID"])


async def current_version(database: Database, stack_id: UUID) -> Row | None:
    """The version that counts. None: the stack has no state yet."""
    return await database.fetch_one(_CURRENT, stack_id=stack_id)


async def version(database: Database, stack_id: UUID, version_id: UUID) -> Row | None:
    """One version of this stack."""
    return await database.fetch_one(_VERSION, stack_id=stack_id, id=version_id)


async def versions(database: Database, stack_id: UUID, *, after: tuple[datetime, UUID] | None, most: int) -> list[Row]:
    """Up to `most` versions, newest first, behind the one made at `after`."""
    before, before_id = (None, None) if after is None else after
    return await database.fetch(_PAGE, stack_id=stack_id, before=before, before_id=before_id, most=most)


async def stack_of_state(database: Database, workspace: str, name: str) -> Row | None:
    """The stack of this name, with its lock and the version that counts."""
    return await database.fetch_one(_NAMED, workspace=workspace, name=name)


async def _stands(tx: Transaction, owner: Row, new: NewState) -> bool:
    if owner["state_version_id"] is None:
        return False
    if owner["state_lineage"] != new.lineage:
        raise StateConflict("the lineage is another one: this state belongs to another history")
    if new.serial > owner["state_serial"]:
        return False
    if new.serial < owner["state_serial"]:
        raise StateConflict(f"serial {owner['state_serial']} is stored, and {new.serial} is older")
    current = await tx.fetch_one(_CURRENT, stack_id=owner["id"])
    if current is None or current["sha256"] != new.sha256:
        raise StateConflict(f"serial {new.serial} is stored with other content")
    return True


async def _record(
    tx: Transaction,
    new: NewState,
    owner: Row,
    origin: StateOrigin,
    by: str,
    *,
    run_id: UUID | None = None,
    epoch: int | None = None,
) -> None:
    await tx.fetch(
        _ADD, id=new.id, stack_id=owner["id"], serial=new.serial, lineage=new.lineage, object_key=new.object_key,
        sha256=new.sha256, size=new.size, origin=origin, run_id=run_id, epoch=epoch, created_by=by,
    )  # fmt: skip
    await tx.fetch(_POINT, stack_id=owner["id"], version_id=new.id, lineage=new.lineage, serial=new.serial)
