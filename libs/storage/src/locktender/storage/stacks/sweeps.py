"""What time does to the work of stacks: promises lapse, leases run out, patience ends."""

from functools import partial
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, delete, select, update

from locktender.contracts.kernel.errors import WrongState
from locktender.contracts.kernel.subjects import DEFAULT_GROUP, RUN_COMMAND_PREFIX
from locktender.contracts.stacks import flow
from locktender.contracts.stacks.flow import STACK_RUN, UNTAKEN, DeploymentStatus, RunStatus
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.vocabulary import DeploymentMode, RunFailureReason, SkippedReason
from locktender.contracts.stacks.wire import RunFailure
from locktender.storage.kernel.clock import db_now, in_seconds, seconds
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.kernel.fencing import guard, in_states
from locktender.storage.kernel.guarded import Command, moved_statement
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks import transitions
from locktender.storage.stacks.complete import end_unfinished
from locktender.storage.stacks.groups import works
from locktender.storage.stacks.lane import advance
from locktender.storage.stacks.pool_tables import stack_runner
from locktender.storage.stacks.skip import end_skipped
from locktender.storage.stacks.sweeping import Due, Facts, RowSweep
from locktender.storage.stacks.tables import RUNS, stack, stack_deployment, stack_run
from locktender.storage.stacks.told import Told

ACTOR = "reaper"

_r, _d, _s, _w = stack_run.c, stack_deployment.c, stack.c, stack_runner.c
_in_lane = _d.mode != constant(DeploymentMode.PLAN_UNLOCKED.value)


def _policy(name: str) -> ColumnElement[int]:
    """What the stack of a deployment says; no row is due where it says nothing."""
    return select(_s[name]).where(_s.id == _d.stack_id).scalar_subquery()


LAPSED = Due(
    "lapsed",
    stack_run,
    (_r.status == constant(RunStatus.ASSIGNED.value)) & (_r.assigned_expires_at <= db_now()),
    _r.assigned_expires_at,
)
NEVER_STARTED = Due(
    "never_started",
    stack_run,
    in_states(_r.status, UNTAKEN) & (_r.first_pending_at <= db_now() - seconds("patience")),
    _r.first_pending_at,
)
SILENT = Due(
    "silent", stack_run, in_states(_r.status, STACK_RUN.leased) & (_r.lease_expires_at <= db_now()), _r.lease_expires_at
)
UNCONFIRMED = Due(
    "unconfirmed",
    stack_deployment,
    (_d.status == constant(DeploymentStatus.WAITING.value))
    & _in_lane
    & (_d.waiting_since <= db_now() - in_seconds(_policy("confirmation_timeout_seconds"))),
    _d.waiting_since,
)
AGED = Due(
    "aged",
    stack_deployment,
    (_d.status == constant(DeploymentStatus.QUEUED.value))
    & _in_lane
    & (_d.created_at <= db_now() - in_seconds(_policy("queued_timeout_seconds"))),
    _d.created_at,
)
# Nobody listens for the others: remote runners poll, and their hints would only fill the stream.
_unheard = (
    guard(stack_run, flow.RUN_HINT, None)
    & (_r.hinted_at <= db_now() - seconds("patience"))
    & (_r.runner_group == constant(DEFAULT_GROUP))
)
_hinted = (
    select(_r.id)
    .where(_unheard)
    .order_by(_r.hinted_at)
    .limit(parameter("limit", BigInteger()))
    .with_for_update(skip_locked=True)
    .cte("due")
)
HINT = moved_statement(
    flow.RUN_HINT,
    RUNS,
    update(stack_run).where(_r.id == _hinted.c.id, _unheard).values(hinted_at=db_now()).returning(*_r),
    command=Command(RUN_COMMAND_PREFIX, "runner_group"),
)
FORGET = Statement(
    "stack_runner.forget",
    delete(stack_runner)
    .where(
        _w.id.in_(
            select(_w.id)
            .where(_w.last_seen_at <= db_now() - seconds("patience"), ~works)
            .order_by(_w.last_seen_at)
            .limit(parameter("limit", BigInteger()))
            .with_for_update(skip_locked=True)
        )
    )
    .returning(_w.id),
)


def row_sweeps(deadlines: StackDeadlines) -> tuple[RowSweep, ...]:
    """The verdicts of time, in the order in which they fall."""
    return (
        RowSweep("run-lost", SILENT, _lose),
        RowSweep("run-never-started", NEVER_STARTED, _give_up, {"patience": deadlines.startup}),
        RowSweep("assignment-lapsed", LAPSED, partial(_lapse, deadlines.max_assignment_attempts)),
        RowSweep("confirmation-timeout", UNCONFIRMED, partial(_skip, SkippedReason.CONFIRMATION_TIMEOUT)),
        RowSweep("queued-timeout", AGED, partial(_skip, SkippedReason.QUEUED_TIMEOUT)),
    )


async def hint_runs(database: Database, limit: int, patience: float) -> list[UUID]:
    """Send the commands of runs again that wait for our runner service since `patience` seconds without one."""
    return [row["id"] for row in await database.fetch(HINT, limit=limit, patience=patience)]


async def forget_runners(database: Database, limit: int, patience: float) -> list[UUID]:
    """Remove remote runners that have nothing to do and were not seen for `patience` seconds."""
    return [row["id"] for row in await database.fetch(FORGET, limit=limit, patience=patience)]


async def _lose(tx: Transaction, owner: Row, run: Row) -> Facts:
    message = "The runner fell silent. It may have been stopped at any point."
    failure = RunFailure(reason=RunFailureReason.LOST, message=message)
    ended = await end_unfinished(tx, owner, run, Told(ACTOR, message), failure)
    return {"deployment": str(run["deployment_id"]), "next": ended.what.value}


async def _give_up(tx: Transaction, owner: Row, run: Row) -> Facts:
    return await _never_started(tx, owner, run, "No runner took the run over in time.")


async def _lapse(cap: int, tx: Transaction, owner: Row, run: Row) -> Facts:
    """A promise that nobody kept counts as an attempt; waiting for one never does."""
    attempts = run["assignment_attempts"] + 1
    if attempts >= cap:
        message = f"The run was promised to {attempts} runners one after the other, and none took it over."
        return await _never_started(tx, owner, run, message)
    await transitions.RUN_UNASSIGN.one(tx, run["id"])
    payload = {"runId": str(run["id"]), "run": RunStatus.PENDING.value, "attempts": attempts}
    told = Told(ACTOR, "the runner did not take the run over; it waits for another", payload)
    await transitions.NOTE_RUN.one(tx, run["deployment_id"], **told.columns())
    return {"deployment": str(run["deployment_id"]), "attempts": attempts}


async def _never_started(tx: Transaction, owner: Row, run: Row, message: str) -> Facts:
    failure = RunFailure(reason=RunFailureReason.STARTUP_TIMEOUT, message=message)
    await end_unfinished(tx, owner, run, Told(ACTOR, message), failure)
    return {"deployment": str(run["deployment_id"])}


async def _skip(reason: SkippedReason, tx: Transaction, owner: Row, deployment: Row) -> Facts:
    if not await end_skipped(tx, deployment, Told(ACTOR), reason=reason):
        raise WrongState(deployment["id"], "skip", f"{deployment['status']} with a run that a runner has")
    await advance(tx, owner["id"])
    return {"deployment": str(deployment["id"])}
