"""How far deployments are, for whoever follows them: one statement for all of them."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, func, select

from locktender.storage.kernel.database import Database
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.tables import stack, stack_deployment

_holder = stack_deployment.alias("holder")
_s, _d, _h = stack.c, stack_deployment.c, _holder.c

_MARKS = Statement(
    "stack_deployment.marks",
    select(_d.id, _d.revision, _s.revision.label("stack_revision"), _s.lane_holder, _h.revision.label("ahead"))
    .select_from(
        stack_deployment.join(stack, _s.id == _d.stack_id).outerjoin(_holder, _h.id == _s.lane_holder)
    )
    .where(_d.id == func.any(parameter("ids", ARRAY(Uuid())))),
)  # fmt: skip


class Mark(NamedTuple):
    """Changes whenever what is shown of a deployment may have: itself, its stack, or who holds the lane."""

    revision: int
    stack_revision: int
    holder: UUID | None
    holder_revision: int | None


async def marks(database: Database, deployments: Sequence[UUID]) -> dict[UUID, Mark]:
    """The marks of those that are there."""
    rows = await database.fetch(_MARKS, ids=list(deployments))
    return {row["id"]: Mark(row["revision"], row["stack_revision"], row["lane_holder"], row["ahead"]) for row in rows}
