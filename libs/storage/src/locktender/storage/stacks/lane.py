"""The lane of a stack: at most one deployment works on it, and every write that may free it ends here.

A command on a stack is one transaction: `locked` first, which makes commands on one stack follow each other, then
its own writes, then `advance`. Deployments that only look never come near the lane.
"""

from typing import Final
from uuid import UUID

from sqlalchemy import Uuid, exists, null, or_, select, update

from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, DeploymentStatus, RunStatus
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks import transitions
from locktender.storage.stacks.tables import stack, stack_deployment, stack_run

_s, _d, _r = stack.c, stack_deployment.c, stack_run.c
_stack_id: Final = parameter("stack_id", Uuid())
_uses_lane = _d.mode != constant(DeploymentMode.PLAN_UNLOCKED.value)

_LOCK = Statement("stack.lock", select(*stack.c).where(_s.id == _stack_id).with_for_update())
_RELEASE = Statement(
    "stack.release",
    update(stack)
    .where(
        _s.id == _stack_id,
        _s.lane_holder.is_not(None),
        ~exists().where(_d.id == _s.lane_holder, in_states(_d.status, STACK_DEPLOYMENT.active)),
    )
    .values(lane_holder=null(), lane_taken_at=null())
    .returning(_s.id),
)
_next = (
    select(_d.id)
    .where(_d.stack_id == _stack_id, _d.status == constant(DeploymentStatus.QUEUED.value), _uses_lane)
    .order_by(_d.prioritized_at.asc().nulls_last(), _d.created_at, _d.id)
    .limit(1)
    .scalar_subquery()
)
_TAKE = Statement(
    "stack.take",
    update(stack)
    .where(_s.id == _stack_id, _s.lane_holder.is_(None), exists().where(_d.id == _next))
    .values(lane_holder=_next, lane_taken_at=db_now())
    .returning(_s.lane_holder),
)
_STARTING = Statement(
    "stack.starting",
    select(_r.id, _r.deployment_id, _d.status.label("deployment_status"))
    .join(stack_deployment, _d.id == _r.deployment_id)
    .join(stack, _s.id == _r.stack_id)
    .where(
        _r.deployment_id == _s.lane_holder,
        _s.id == _stack_id,
        _r.status == constant(RunStatus.QUEUED.value),
    )
    .limit(1),
)
_latest = (
    select(_d.id, _d.number, _d.mode, _d.status, _d.created_at, _d.completed_at)
    .where(_d.stack_id == _stack_id, _uses_lane)
    .order_by(_d.created_at.desc(), _d.id.desc())
    .limit(1)
    .subquery("latest")
)
LATEST_FIELDS: Final = {
    "latest_deployment_id": _latest.c.id,
    "latest_deployment_number": _latest.c.number,
    "latest_deployment_mode": _latest.c.mode,
    "latest_deployment_status": _latest.c.status,
    "latest_deployment_created_at": _latest.c.created_at,
    "latest_deployment_completed_at": _latest.c.completed_at,
}
"""The six fields of the summary, and what each is derived from."""

_differs = or_(*[stack.c[name].is_distinct_from(column) for name, column in LATEST_FIELDS.items()])
_SUMMARIZE = Statement(
    "stack.summarize",
    update(stack).where(_s.id == _stack_id, _differs).values(**LATEST_FIELDS).returning(_s.id),
)
_TOLD: Final = {"message": "", "payload": "{}", "trace": "{}", "actor": "lane"}


async def locked(tx: Transaction, stack_id: UUID) -> Row:
    """The stack's row, locked until the transaction ends.

    Raises:
        NotFound: there is no such stack, deleted ones included.
    """
    row = await tx.fetch_one(_LOCK, stack_id=stack_id)
    if row is None or row["deleted_at"] is not None:
        raise NotFound("stack", stack_id)
    return row


async def advance(tx: Transaction, stack_id: UUID) -> UUID | None:
    """Free the lane of a holder that has ended, give it to the next in order, start what the holder has queued.

    The order is: prioritized first, in the order in which that was done; then by age. Also brings the summary of the
    stack up to date. Returns the run that waits for a runner now, if one does since this call.
    """
    await tx.fetch(_RELEASE, stack_id=stack_id)
    await tx.fetch(_TAKE, stack_id=stack_id)
    starting = await tx.fetch_one(_STARTING, stack_id=stack_id)
    if starting is not None:
        await transitions.RUN_PROMOTE.one(tx, starting["id"])
        if starting["deployment_status"] == DeploymentStatus.QUEUED:
            await transitions.PROMOTE.one(tx, starting["deployment_id"], **_TOLD)
    await summarize(tx, stack_id)
    return None if starting is None else starting["id"]


async def summarize(tx: Transaction, stack_id: UUID) -> bool:
    """Derive the summary again; whether that changed it. Looking deployments are not part of it."""
    return bool(await tx.fetch(_SUMMARIZE, stack_id=stack_id))
