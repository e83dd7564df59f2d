"""Who did what to a deployment, in order."""

from typing import Final
from uuid import UUID

from sqlalchemy import Uuid, select

from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.tables import stack_activity, stack_stage

MOST_ACTS: Final = 1000
"""Shown of one deployment: the latest."""

_a = stack_activity.c
_TRAIL = Statement(
    "stack_activity.trail",
    select(_a.id, _a.kind, _a.actor, _a.details, _a.created_at, stack_stage.c.ordinal)
    .select_from(stack_activity.outerjoin(stack_stage, stack_stage.c.id == _a.stage_id))
    .where(_a.deployment_id == parameter("id", Uuid()))
    .order_by(_a.created_at.desc(), _a.id.desc())
    .limit(MOST_ACTS),
)


async def trail(database: Database, deployment_id: UUID) -> list[Row]:
    """The latest acts, oldest first; `details` is JSON text."""
    return (await database.fetch(_TRAIL, id=deployment_id))[::-1]
