"""Groups of remote runners: who may take the runs of which stacks."""

import json
from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import LargeBinary, Text, Uuid, delete, exists, insert, select

from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks.flow import STACK_RUN, RunStatus
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.refusals import GroupInUse
from locktender.storage.stacks.tables import stack, stack_run, stack_runner, stack_runner_group

AT_WORK = STACK_RUN.leased | {RunStatus.ASSIGNED}
"""States of a run in which it has a runner."""

_g, _w, _r, _s = stack_runner_group.c, stack_runner.c, stack_run.c, stack.c
_workspace, _name = parameter("workspace", Text()), parameter("name", Text())
_shown = [column for column in _g if column.name != "token_hash"]

works = exists().where(_r.id == _w.run_id, _r.assigned_runner_id == _w.id, in_states(_r.status, AT_WORK))
"""Whether a runner has a run, or was promised one."""

_ADD = Statement(
    "stack_runner_group.add",
    insert(stack_runner_group)
    .values(
        id=parameter("id", Uuid()), workspace=_workspace, name=_name, labels=parameter("labels", _g.labels.type),
        token_hash=parameter("token_hash", LargeBinary()), capacity=parameter("capacity", _g.capacity.type),
        created_by=parameter("created_by", Text()),
    )
    .returning(*_shown),
)  # fmt: skip
_LIST = Statement(
    "stack_runner_group.list", select(*_shown).where(_g.workspace == _workspace).order_by(_g.name).limit(1000)
)
_ONE = Statement("stack_runner_group.one", select(*_shown).where(_g.workspace == _workspace, _g.name == _name))
_BY_TOKEN = Statement(
    "stack_runner_group.by_token", select(*_shown).where(_g.token_hash == parameter("token_hash", LargeBinary()))
)
_LOCKED = Statement(
    "stack_runner_group.lock", select(*_shown).where(_g.workspace == _workspace, _g.name == _name).with_for_update()
)
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
    """The group that a token belongs to; None for a token of no group."""
    return await database.fetch_one(_BY_TOKEN, token_hash=token_hash)


async def runners(database: Database, group_id: UUID) -> list[Row]:
    """The remote runners of a group with the status of what they work on, oldest first; a thousand at most."""
    return await database.fetch(_RUNNERS, group_id=group_id)


async def delete_group(tx: Transaction, workspace: str, name: str) -> None:
    """Remove a group that nothing needs any more; its token is void at once.

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
