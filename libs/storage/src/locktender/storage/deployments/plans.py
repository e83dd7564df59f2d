"""What a run was going to do: one plan a task, written under its lease, read by whoever may read the task."""

from uuid import UUID

from sqlalchemy import BigInteger, Text, Uuid, cast, select
from sqlalchemy.dialects.postgresql import JSONB, insert

from locktender.contracts.deployments import flow
from locktender.contracts.kernel.errors import LeaseLost, NotFound, WrongState
from locktender.contracts.kernel.lease import Lease
from locktender.storage.deployments.tables import DEPLOYMENTS, deployment_plan, deployment_task
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.coalescer import state_statement
from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.fencing import guard
from locktender.storage.kernel.statement import Statement, parameter

_t, _p = deployment_task.c, deployment_plan.c


def _record() -> Statement:
    # The lock makes the fence exact: whoever breaks the lease comes before this statement or after it.
    held = (
        select(_t.id, _t.status, _t.lease_epoch, _t.revision, _t.cancel_requested_at)
        .where(
            _t.id == parameter("id", Uuid()),
            guard(deployment_task, flow.RECORD, parameter("epoch", BigInteger())),
        )
        .with_for_update(read=True)
        .cte("held")
    )
    new = insert(deployment_plan).from_select(
        ["task_id", "epoch", "plan"],
        select(held.c.id, held.c.lease_epoch, cast(parameter("plan", Text()), JSONB)),
    )
    written = new.on_conflict_do_update(
        index_elements=[_p.task_id],
        set_={"epoch": new.excluded.epoch, "plan": new.excluded.plan, "recorded_at": db_now()},
    ).returning(_p.task_id)
    return Statement("deployment_plan.record", select(held).add_cte(written.cte("written")))


_RECORD = _record()
_STATE = state_statement(deployment_task)
_READ = Statement(
    "deployment_plan.read",
    select(cast(_p.plan, Text).label("plan"))
    .join(deployment_task, _t.id == _p.task_id)
    .where(_t.id == parameter("id", Uuid()), _t.workspace == parameter("workspace", Text())),
)


async def record_plan(database: Database, lease: Lease, plan: str) -> Row:
    """The task's row after `plan` was kept for it, in place of an earlier one.

    Raises:
        NotFound: there is no such task.
        LeaseLost: the task is at another epoch; nothing was written.
        WrongState: the task is over.
        OutcomeUnknown: the database went away; the plan may have been written.
    """
    row = await database.fetch_one(_RECORD, id=lease.row_id, epoch=lease.epoch, plan=plan)
    if row is not None:
        return row
    state = await database.fetch_one(_STATE, id=[lease.row_id])
    if state is None:
        raise NotFound(DEPLOYMENTS.name, lease.row_id)
    if state["lease_epoch"] != lease.epoch:
        raise LeaseLost(lease.row_id, lease.epoch, state["lease_epoch"])
    raise WrongState(lease.row_id, flow.RECORD.name, state["status"])


async def read_plan(database: Database, workspace: str, task_id: UUID) -> str | None:
    """The plan of a task as JSON text; None when the workspace has no such task, or the task has no plan yet."""
    row = await database.fetch_one(_READ, id=task_id, workspace=workspace)
    return None if row is None else row["plan"]
