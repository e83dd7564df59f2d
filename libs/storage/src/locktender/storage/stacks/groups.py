"""Groups of remote runners: who may take the runs of which stacks."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Integer,
    LargeBinary,
    Text,
    Uuid,
    case,
    cast,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.dml import ReturningUpdate

from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks.flow import STACK_RUN, RunStatus
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.pool_tables import stack_runner, stack_runner_group
from locktender.storage.stacks.refusals import GroupInUse, TokenKept
from locktender.storage.stacks.tables import stack, stack_run

AT_WORK = STACK_RUN.leased | {RunStatus.ASSIGNED}
"""States of a run in which it has a runner."""

_g, _w, _r, _s = stack_runner_group.c, stack_runner.c, stack_run.c, stack.c
_workspace, _name = parameter("workspace", Text()), parameter("name", Text())
_token_hash, _labels = parameter("token_hash", LargeBinary()), parameter("labels", _g.labels.type)
_capacity = parameter("capacity", _g.capacity.type)
_old_lives = _g.old_token_until > db_now()
_shown = [
    *(column for column in _g if column.name not in {"token_hash", "old_token_hash", "old_token_until"}),
    case((_old_lives, _g.old_token_until)).label("old_token_until"),
]
"""All but the tokens. The end of the old one only while it is valid."""

works = exists().where(_r.id == _w.run_id, _r.assigned_runner_id == _w.id, in_states(_r.status, AT_WORK))
"""Whether a runner has a run, or was promised one."""

_ADD = Statement(
    "stack_runner_group.add",
    insert(stack_runner_group)
    .values(
        id=parameter("id", Uuid()), workspace=_workspace, name=_name, labels=_labels, token_hash=_token_hash,
        capacity=_capacity, created_by=parameter("created_by", Text()),
    )
    .returning(*_shown),
)  # fmt: skip
_LIST = Statement(
    "stack_runner_group.list", select(*_shown).where(_g.workspace == _workspace).order_by(_g.name).limit(1000)
)
_ONE = Statement("stack_runner_group.one", select(*_shown).where(_g.workspace == _workspace, _g.name == _name))
BY_TOKEN = Statement(
    "stack_runner_group.by_token",
    select(*_shown).where((_g.token_hash == _token_hash) | ((_g.old_token_hash == _token_hash) & _old_lives)),
)
_LOCKED = Statement(
    "stack_runner_group.lock", select(*_shown).where(_g.workspace == _workspace, _g.name == _name).with_for_update()
)
_CHANGE = Statement(
    "stack_runner_group.change",
    update(stack_runner_group)
    .where(_g.workspace == _workspace, _g.name == _name)
    .values(
        labels=func.coalesce(cast(_labels, JSONB), _g.labels),
        capacity=func.coalesce(cast(_capacity, Integer), _g.capacity),
        updated_at=db_now(),
    )
    .returning(*_shown),
)


def _rotate(kept: ColumnElement[bytes]) -> ReturningUpdate[Any]:
    until = db_now() + seconds("keep_seconds")
    return (
        update(stack_runner_group)
        .where(_g.id == parameter("id", Uuid()))
        .values(token_hash=_token_hash, old_token_hash=kept, old_token_until=until, updated_at=db_now())
        .returning(*_shown)
    )


_ROTATE = Statement("stack_runner_group.rotate", _rotate(_g.token_hash))
_ROTATE_AGAIN = Statement("stack_runner_group.rotate_again", _rotate(_g.old_token_hash))
_USED_BY = Statement(
    "stack_runner_group.used_by",
    select(_s.name)
    .where(_s.workspace == _workspace, _s.runner_group == _name, _s.deleted_at.is_(None))
    .order_by(_s.name)
    .limit(1),
)
_WORKING = Statement(
    "stack_runner.working", select(_w.id).where(_w.group_id == parameter("group_id", Uuid()), works).limit(1)
)
_REMOVE = Statement("stack_runner_group.remove", delete(stack_runner_group).where(_g.id == parameter("id", Uuid())))
_RUNNERS = Statement(
    "stack_runner.list",
    select(_w.id, _w.name, _w.status, _w.run_id, _w.last_seen_at, _w.created_at, _r.status.label("run_status"))
    .outerjoin(stack_run, (_r.id == _w.run_id) & (_r.assigned_runner_id == _w.id))
    .where(_w.group_id == parameter("group_id", Uuid()))
    .order_by(_w.created_at, _w.id)
    .limit(1000),
)


async def create_group(
    tx: Transaction,
    workspace: str,
    name: str,
    *,
    labels: Iterable[str],
    capacity: int,
    token_hash: bytes,
    actor: str,
) -> Row:
    """Add a group. Of its token only the hash is kept. No row that is returned from here has the hash.

    `labels` are what every runner of the group can do; a run that asks for more waits for a runner that says it can.
    `capacity` is how many runs the group has at work at one time, at most.

    Raises:
        asyncpg.UniqueViolationError: the name is taken in this workspace.
    """
    row = await tx.fetch_one(
        _ADD, id=new_id(), workspace=workspace, name=name, labels=json.dumps(sorted(set(labels))), capacity=capacity,
        token_hash=token_hash, created_by=actor,
    )  # fmt: skip
    if row is None:
        raise AssertionError("an insert returns its row")
    return row


async def groups(database: Database, workspace: str) -> list[Row]:
    """All groups of a workspace, by name; a thousand at most."""
    return await database.fetch(_LIST, workspace=workspace)


async def group(database: Database, workspace: str, name: str) -> Row:
    """One group.

    Raises:
        NotFound: there is none of this name.
    """
    row = await database.fetch_one(_ONE, workspace=workspace, name=name)
    if row is None:
        raise NotFound("runner group", name)
    return row


async def group_of_token(database: Database, token_hash: bytes) -> Row | None:
    """The group that a token belongs to: its present one, or the old one while that is kept. None for any other."""
    return await database.fetch_one(BY_TOKEN, token_hash=token_hash)


async def update_group(
    tx: Transaction, workspace: str, name: str, *, labels: Iterable[str] | None, capacity: int | None
) -> Row:
    """Give a group other labels or room; None leaves what it has. Runs under way, and promises, stay.

    Raises:
        NotFound: there is none of this name.
    """
    stored = None if labels is None else json.dumps(sorted(set(labels)))
    row = await tx.fetch_one(_CHANGE, workspace=workspace, name=name, labels=stored, capacity=capacity)
    if row is None:
        raise NotFound("runner group", name)
    return row


async def rotate_token(
    tx: Transaction, workspace: str, name: str, *, token_hash: bytes, keep_seconds: int, again: bool
) -> Row:
    """Give a group another token. The present one stays valid for `keep_seconds` beside it; 0 ends all old ones.

    One old token is kept, and none that somebody was promised is ended early by chance: who wants to keep a second one
    is refused. `again` is for a token that nobody has, because the answer with it was lost: it ends at once, and the
    one before it is kept in its place. If none before it is valid, the lost rotation may never have taken place, and
    the present one is kept as without `again`.

    Rotations of a group follow each other. Of two at once without an old token to keep, the second one's counts.

    Raises:
        NotFound: there is none of this name.
        TokenKept: an old token is still valid, and the present one was to be kept as well.
    """
    row = await tx.fetch_one(_LOCKED, workspace=workspace, name=name)
    if row is None:
        raise NotFound("runner group", name)
    kept = row["old_token_until"]
    if kept is not None and keep_seconds and not again:
        raise TokenKept(row["id"], f"The token before the present one is valid until {kept:%Y-%m-%d %H:%M:%S} UTC.")
    statement = _ROTATE_AGAIN if kept is not None and again else _ROTATE
    rotated = await tx.fetch_one(statement, id=row["id"], token_hash=token_hash, keep_seconds=float(keep_seconds))
    if rotated is None:
        raise AssertionError("a locked row is there")
    return rotated


async def runners(database: Database, group_id: UUID) -> list[Row]:
    """The remote runners of a group with the status of what they work on, oldest first; a thousand at most."""
    return await database.fetch(_RUNNERS, group_id=group_id)


async def delete_group(tx: Transaction, workspace: str, name: str) -> Row:
    """Remove a group that nothing needs any more, and return it; its tokens are void at once.

    Raises:
        NotFound: there is none of this name.
        GroupInUse: a stack names it, or one of its runners is at work.
    """
    row = await tx.fetch_one(_LOCKED, workspace=workspace, name=name)
    if row is None:
        raise NotFound("runner group", name)
    used = await tx.fetch_one(_USED_BY, workspace=workspace, name=name)
    if used is not None:
        raise GroupInUse(row["id"], f"The stack {used['name']} sends its runs to this group. Move it first.")
    if await tx.fetch_one(_WORKING, group_id=row["id"]) is not None:
        raise GroupInUse(row["id"], "A runner of this group is at work. Wait for it, or delete the runner.")
    await tx.fetch(_REMOVE, id=row["id"])
    return row
