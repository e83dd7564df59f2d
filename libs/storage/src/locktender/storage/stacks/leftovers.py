"""What of the object store a row still stands for. All else there is left over, where its stack is in the record."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import ARRAY, Text, Uuid, func, not_, or_, select

from locktender.contracts.stacks.flow import STACK_DEPLOYMENT
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.database import Database
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.guarded import unnested
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks.tables import stack, stack_deployment, stack_run, stack_state

_s, _d, _r, _v = stack.c, stack_deployment.c, stack_run.c, stack_state.c
_ids = func.any(parameter("ids", ARRAY(Uuid())))
_long_ago = db_now() - seconds("age")

STACKS: Final = Statement("stack.known", select(_s.id).where(_s.id == _ids))
RUNS: Final = Statement(
    "stack_run.leaves",
    select(
        _r.id,
        _r.stack_id,
        _r.plan_removed_at.is_(None).label("plan"),
        _r.artifacts_removed_at.is_(None).label("record"),
    ).where(_r.id == _ids),
)
VERSIONS: Final = Statement("stack_state.known", select(_v.id, _v.stack_id).where(_v.id == _ids))
_asked = unnested("asked", {"stack_id": Uuid(), "sha256": Text()})
# Not all columns are asked for, as not all of them may be read.
_current = (
    select(_s.id)
    .where(
        _s.id == _asked.c.stack_id,
        or_(_s.deleted_at.is_(None), _s.deleted_at > _long_ago),
        _s.source.op("->>")(constant("sha256")) == _asked.c.sha256,
    )
    .exists()
)
_of_deployment = (
    select(_d.id)
    .where(
        _d.stack_id == _asked.c.stack_id,
        _d.commit_sha == _asked.c.sha256,
        or_(not_(in_states(_d.status, STACK_DEPLOYMENT.terminal)), _d.completed_at > _long_ago),
    )
    .exists()
)
SOURCES: Final = Statement(
    "stack_deployment.sources", select(_asked.c.stack_id, _asked.c.sha256).where(or_(_current, _of_deployment))
)


@dataclass(frozen=True, slots=True)
class Leaves:
    """What a run still leaves, as far as its row says."""

    stack_id: UUID
    plan: bool
    record: bool


async def stacks_known(database: Database, ids: Collection[UUID]) -> set[UUID]:
    """Those that are in the record, deleted ones included."""
    return {row["id"] for row in await database.fetch(STACKS, ids=list(ids))}


async def runs_known(database: Database, ids: Collection[UUID]) -> dict[UUID, Leaves]:
    """What each of these runs leaves. One that was never made is not in the answer."""
    rows = await database.fetch(RUNS, ids=list(ids))
    return {row["id"]: Leaves(row["stack_id"], row["plan"], row["record"]) for row in rows}


async def states_known(database: Database, ids: Collection[UUID]) -> set[tuple[UUID, UUID]]:
    """The stack and the id of each version that is one."""
    return {(row["stack_id"], row["id"]) for row in await database.fetch(VERSIONS, ids=list(ids))}


async def sources_needed(
    database: Database, sources: Collection[tuple[UUID, str]], *, age: float
) -> set[tuple[UUID, str]]:
    """Those archives, by stack and SHA-256, that somebody may need.

    These are the present source of the stack, unless that was deleted more than `age` seconds ago, and what a
    deployment was made of that is not over, or has been for less than `age` seconds and may be retried.
    """
    asked = list(sources)
    rows = await database.fetch(
        SOURCES, stack_id=[each for each, _ in asked], sha256=[each for _, each in asked], age=age
    )
    return {(row["stack_id"], row["sha256"]) for row in rows}
