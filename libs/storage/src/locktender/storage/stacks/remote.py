"""Remote runners: a run is promised to one, taken over by it, kept while it asks for news, and taken from it.

A remote runner is a row for one run. It is a stub (`not-ready`) from the promise to the accept.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import BigInteger, LargeBinary, Text, Uuid, cast, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import JSONB

from locktender.contracts.kernel.errors import NotFound, WrongState
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Epoch, Lease, Owner
from locktender.contracts.stacks.flow import STACK_RUN, RunStatus
from locktender.contracts.stacks.vocabulary import RunFailureReason
from locktender.contracts.stacks.wire import RunFailure
from locktender.storage.kernel.clock import db_now, in_seconds
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks.assign import AcceptedRun, accept, assign
from locktender.storage.stacks.complete import Ended, end_unfinished
from locktender.storage.stacks.groups import AT_WORK, works
from locktender.storage.stacks.held import held_run
from locktender.storage.stacks.pool_tables import stack_runner, stack_runner_group
from locktender.storage.stacks.refusals import NotAssigned
from locktender.storage.stacks.tables import stack_run
from locktender.storage.stacks.told import Told

_g, _w, _r = stack_runner_group.c, stack_runner.c, stack_run.c
_group_id, _runner_id, _run_id = (
    parameter("group_id", Uuid()), parameter("runner_id", Uuid()), parameter("run_id", Uuid())
)  # fmt: skip

_CAPACITY = Statement(
    "stack_runner_group.capacity", select(_g.capacity, _g.labels).where(_g.id == _group_id).with_for_update()
)
_AT_WORK = Statement(
    "stack_runner.at_work",
    select(func.count().label("n")).select_from(stack_runner).where(_w.group_id == _group_id, works),
)
NEXT = Statement(
    "stack_run.next",
    select(_r.id)
    .where(
        _r.runner_group == parameter("name", Text()),
        _r.status == constant(RunStatus.PENDING.value),
        _r.workspace == parameter("workspace", Text()),
        _r.labels.op("<@", is_comparison=True)(cast(parameter("labels", JSONB()), JSONB)),
    )
    .order_by(_r.prioritized_at.asc().nulls_last(), _r.created_at, _r.id)
    .limit(1)
    .with_for_update(skip_locked=True),
)
_LEFT_OVER = Statement("stack_runner.left_over", delete(stack_runner).where(_w.run_id == _run_id))
_STUB = Statement(
    "stack_runner.stub",
    insert(stack_runner)
    .values(
        id=_runner_id, group_id=_group_id, name=parameter("name", Text()), status="not-ready", run_id=_run_id,
        assignment_hash=parameter("assignment_hash", LargeBinary()),
    )
    .returning(*stack_runner.c),
)  # fmt: skip
_PROMISED = Statement(
    "stack_runner.promised",
    select(_w.id).where(
        _w.id == _runner_id,
        _w.run_id == _run_id,
        _w.assignment_hash == parameter("assignment_hash", LargeBinary()),
    ),
)
_OF_GROUP = Statement(
    "stack_runner.of_group", select(_w.id, _w.run_id).where(_w.id == _runner_id, _w.group_id == _group_id)
)
_READY = Statement(
    "stack_runner.ready", update(stack_runner).where(_w.id == _runner_id).values(status="ready", last_seen_at=db_now())
)
_REMOVE = Statement("stack_runner.remove", delete(stack_runner).where(_w.id == _runner_id))
_DISPATCH_ERROR = Statement(
    "stack_runner_group.dispatch_error",
    update(stack_runner_group)
    .where(_g.id == _group_id)
    .values(
        last_dispatch_error=func.jsonb_build_object(
            constant("message"), cast(parameter("message", Text()), Text),
            constant("runId"), cast(_run_id, Uuid), constant("at"), db_now(),
        ),
        updated_at=db_now(),
    ),
)  # fmt: skip


def _seen() -> Statement:
    renewed = (
        update(stack_run)
        .where(
            _r.id == _run_id,
            _r.lease_epoch == parameter("epoch", BigInteger()),
            _r.remote,
            in_states(_r.status, STACK_RUN.leased),
        )
        .values(lease_expires_at=db_now() + in_seconds(_r.lease_seconds))
        .returning(_r.status, _r.assigned_runner_id)
        .cte("renewed")
    )
    noted = update(stack_runner).where(_w.id == renewed.c.assigned_runner_id).values(last_seen_at=db_now()).cte("noted")
    return Statement("stack_run.seen", select(renewed.c.status).add_cte(noted))


_SEEN = _seen()


@dataclass(frozen=True, slots=True)
class Offered:
    """A run that is promised to a new stub runner until `run["assigned_expires_at"]`."""

    run: Row
    runner: Row


async def poll(
    tx: Transaction,
    group: Row,
    *,
    name: str,
    labels: Iterable[str],
    assignment_hash: bytes,
    assignment_seconds: float,
) -> Offered | None:
    """Promise the next run of the group that a runner with these labels can do. None: nothing waits, or it is full.

    Nothing changes for the deployment. Polls of one group follow each other, so its capacity is never exceeded; a run
    that somebody works on at this moment is passed over, so the order is a strong hint and no more.

    `group` is the row that the group's token named; `name` is the runner's, for people; `labels` are the runner's,
    besides those of its group.

    Raises:
        NotFound: the group was deleted meanwhile.
    """
    limits = await tx.fetch_one(_CAPACITY, group_id=group["id"])
    if limits is None:
        raise NotFound("runner group", group["name"])
    busy = await tx.fetch_one(_AT_WORK, group_id=group["id"])
    if busy is not None and busy["n"] >= limits["capacity"]:
        return None
    able = json.dumps(sorted({*labels, *json.loads(limits["labels"])}))
    found = await tx.fetch_one(NEXT, name=group["name"], workspace=group["workspace"], labels=able)
    if found is None:
        return None
    # A stub of an earlier promise that lapsed. Its run is pending again, so it has nothing to do any more.
    await tx.fetch(_LEFT_OVER, run_id=found["id"])
    runner_id = new_id()
    runner = await tx.fetch_one(
        _STUB, runner_id=runner_id, group_id=group["id"], name=name, run_id=found["id"], assignment_hash=assignment_hash
    )
    run = await assign(tx, found["id"], runner_id=runner_id, remote=True, assignment_seconds=assignment_seconds)
    if run is None or runner is None:
        raise AssertionError("a locked pending run can be assigned")
    return Offered(run, runner)


async def accept_remote(
    tx: Transaction,
    run_id: UUID,
    runner_id: UUID,
    *,
    assignment_hash: bytes,
    token_hash: bytes,
    ttl: float,
    trace: Mapping[str, str],
) -> AcceptedRun:
    """A runner takes the run over that was promised to it; its lease lives `ttl` seconds without news.

    The same accept again, with the same token, is answered like the first: an answer that was lost costs nothing.

    Raises:
        NotFound: there is no such run.
        NotAssigned: it is not, or no longer, promised to this runner.
    """
    if await tx.fetch_one(_PROMISED, runner_id=runner_id, run_id=run_id, assignment_hash=assignment_hash) is None:
        raise NotAssigned(run_id, "The run is not promised to this runner.")
    _, run = await held_run(tx, run_id)
    owner = Owner(f"remote/{runner_id.hex}")
    if run["lease_owner"] == owner and run["token_hash"] == token_hash:
        return AcceptedRun(Lease(run_id, owner, Epoch(run["lease_epoch"])), run)
    try:
        taken = await accept(
            tx, run_id, owner=owner, ttl=ttl, token_hash=token_hash, runner_id=runner_id, trace=trace
        )  # fmt: skip
    except WrongState as error:
        raise NotAssigned(run_id, "The promise of the run to this runner has lapsed.") from error
    await tx.fetch(_READY, runner_id=runner_id)
    return taken


async def seen(database: Database, lease: Lease) -> RunStatus | None:
    """A remote runner asks for news of its run, which renews the lease. None: the run is not its own any more."""
    row = await database.fetch_one(_SEEN, run_id=lease.row_id, epoch=lease.epoch)
    return None if row is None else RunStatus(row["status"])


async def dispatch_failed(tx: Transaction, group: Row, runner_id: UUID, reason: str, trace: Mapping[str, str]) -> Ended:
    """Whatever starts the runners of a group could not start this one: its run fails and is not offered again.

    Raises:
        NotAssigned: the group has no such stub, or its run was taken over.
    """
    run_id = await _run_of(tx, group, runner_id)
    owner, run = await held_run(tx, run_id) if run_id is not None else (None, None)
    if owner is None or run is None or run["status"] != RunStatus.ASSIGNED or run["assigned_runner_id"] != runner_id:
        raise NotAssigned(runner_id, "No run is promised to this runner any more.")
    failure = RunFailure(
        reason=RunFailureReason.DISPATCH_FAILED, message=f"No runner could be started: {reason}"[:2000]
    )
    ended = await end_unfinished(tx, owner, run, Told("runner-group", trace=trace), failure)
    await tx.fetch(_REMOVE, runner_id=runner_id)
    await tx.fetch(_DISPATCH_ERROR, group_id=group["id"], run_id=run["id"], message=reason[:2000])
    return ended


async def force_delete_runner(
    tx: Transaction, group: Row, runner_id: UUID, actor: str, trace: Mapping[str, str]
) -> Ended | None:
    """Remove a runner at once. Its run ends, if it has one: after a take-over as lost, with what that means.

    Raises:
        NotFound: the group has no such runner.
    """
    run_id = await _run_of(tx, group, runner_id)
    ended: Ended | None = None
    if run_id is not None:
        owner, run = await held_run(tx, run_id)
        if RunStatus(run["status"]) in AT_WORK and run["assigned_runner_id"] == runner_id:
            failure = RunFailure(reason=RunFailureReason.RUNNER_DELETED, message="The runner was deleted.")
            ended = await end_unfinished(tx, owner, run, Told(actor, trace=trace), failure)
    await tx.fetch(_REMOVE, runner_id=runner_id)
    return ended


async def _run_of(tx: Transaction, group: Row, runner_id: UUID) -> UUID | None:
    row = await tx.fetch_one(_OF_GROUP, runner_id=runner_id, group_id=group["id"])
    if row is None:
        raise NotFound("runner", runner_id)
    return row["run_id"]
