"""Retention of deployment tasks: which are due, and the one statement that removes them with proof."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Text, Uuid, case, cast, delete, exists, func, select, update
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.cleanup import flow as cleanup_flow
from locktender.contracts.cleanup.flow import CLEANUP_JOB, JobKind
from locktender.contracts.deployments.events import REMOVED
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK
from locktender.contracts.kernel.lease import Lease
from locktender.storage.cleanup.tables import cleanup_job
from locktender.storage.cleanup.transitions import schedule_statement
from locktender.storage.deployments.tables import DEPLOYMENTS, deployment_task
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.database import Database
from locktender.storage.kernel.events import outbox_events, outbox_rows
from locktender.storage.kernel.fencing import effect, guard, in_states
from locktender.storage.kernel.guarded import unnested
from locktender.storage.kernel.statement import Statement, constant, parameter

_t, _j = deployment_task.c, cleanup_job.c


@dataclass(frozen=True, slots=True)
class Removal:
    """How a retention job ended: `removed`, `already-gone`, or `not-proven` (the task was not what the job saw)."""

    job_id: UUID
    outcome: str


def _schedule() -> Statement:
    planned = exists().where(_j.kind == constant(JobKind.RETENTION.value), _j.subject_id == _t.id)
    due = (
        select(constant(JobKind.RETENTION.value), _t.workspace, _t.id, _t.revision, db_now())
        .where(
            in_states(_t.status, DEPLOYMENT_TASK.terminal),
            _t.completed_at <= db_now() - seconds("retention"),
            ~planned,
        )
        .order_by(_t.completed_at)
        .limit(parameter("limit", BigInteger()))
    )
    return schedule_statement("deployment_task.schedule_retention", due)


def _remove() -> Statement:
    lease = unnested("lease", {"id": Uuid(), "epoch": BigInteger()})
    mine = guard(cleanup_job, cleanup_flow.FINISH, lease.c.epoch) & (_j.id == lease.c.id)
    held = (
        select(_j.id, _j.subject_id, _j.generation)
        .where(_j.id == func.any(parameter("id", ARRAY(Uuid()))))
        .where(exists().where(mine).correlate(cleanup_job).select_from(lease))
        .order_by(_j.id)
        .with_for_update()
        .cte("held")
    )
    gone = (
        delete(deployment_task)
        .where(
            _t.id == held.c.subject_id,
            _t.revision == held.c.generation,
            in_states(_t.status, DEPLOYMENT_TASK.terminal),
        )
        .returning(
            _t.id, _t.workspace, _t.project, _t.phase, _t.status, _t.lease_epoch,
            (_t.revision + 1).label("revision"),
        )
        .cte("gone")
    )  # fmt: skip
    moved = select(
        gone,
        cast(constant("{}"), JSONB).label("payload"),
        cast(constant("{}"), JSONB).label("trace"),
    ).cte("moved")
    seen = exists().where(deployment_task.c.id == _j.subject_id)
    outcome = case(
        (exists().where(gone.c.id == _j.subject_id), constant("removed")),
        (seen, constant("not-proven")),
        else_=constant("already-gone"),
    )
    finished = (
        update(cleanup_job)
        .where(_j.id == held.c.id)
        .values(
            effect(cleanup_job, CLEANUP_JOB, cleanup_flow.FINISH)
            | {"outcome": func.jsonb_build_object(constant("outcome"), outcome)}
        )
        .returning(_j.id, cast(_j.outcome.op("->>")(constant("outcome")), Text).label("outcome"))
        .cte("finished")
    )
    told = outbox_rows(outbox_events(DEPLOYMENTS, moved, REMOVED, tombstone=True))
    return Statement("deployment_task.remove", select(finished).add_cte(told))


_SCHEDULE = _schedule()
_REMOVE = _remove()


class Retention:
    """The end of deployment tasks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def schedule(self, limit: int, retention: float) -> int:
        """Make jobs for at most `limit` tasks that ended more than `retention` seconds ago."""
        return len(await self._database.fetch(_SCHEDULE, limit=limit, retention=retention))

    async def remove(self, leases: Sequence[Lease]) -> list[Removal]:
        """Remove the subjects of these jobs and finish the jobs, in one statement.

        A task goes with its events and leaves a tombstone in the outbox. It goes only if it is over and stands at
        the very revision that the job was made for. A job whose lease is lost is not in the answer.
        """
        rows = await self._database.fetch(
            _REMOVE, id=[lease.row_id for lease in leases], epoch=[lease.epoch for lease in leases]
        )
        return [Removal(row["id"], row["outcome"]) for row in rows]
