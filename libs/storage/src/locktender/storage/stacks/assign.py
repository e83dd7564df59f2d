"""From a pending run to an owner: a tentative assignment, then the acceptance that takes the epoch."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, LargeBinary, Text, Uuid, func, select, update

from locktender.contracts.kernel.errors import WrongState
from locktender.contracts.kernel.lease import Epoch, Lease, Owner
from locktender.contracts.stacks.flow import STACK_RUN, DeploymentStatus, RunStatus
from locktender.contracts.stacks.vocabulary import RunMode
from locktender.storage.kernel.clock import db_now, in_seconds
from locktender.storage.kernel.database import Database, Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.guarded import unnested
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks import transitions
from locktender.storage.stacks.held import DEPLOYMENT, held_run, required
from locktender.storage.stacks.lane import summarize
from locktender.storage.stacks.tables import stack_run, stack_stage
from locktender.storage.stacks.told import Told

_r = stack_run.c

_LIVE = Statement(
    "stack_run.live",
    select(*stack_run.c).where(
        _r.id == parameter("id", Uuid()),
        _r.token_hash == parameter("token_hash", LargeBinary()),
        in_states(_r.status, STACK_RUN.leased),
        # Spelt so that no index can answer it: every live lease would be read for it, instead of the one row.
        (_r.lease_expires_at - db_now()) > in_seconds(constant(0)),
    ),
)
_renewing = unnested("held", {"id": Uuid(), "epoch": BigInteger()})
_RENEW = Statement(
    "stack_run.renew_all",
    update(stack_run)
    .where(
        _r.id == _renewing.c.id,
        _r.lease_epoch == _renewing.c.epoch,
        in_states(_r.status, STACK_RUN.leased),
    )
    .values(lease_expires_at=db_now() + in_seconds(_r.lease_seconds))
    .returning(_r.id, _r.lease_epoch, _r.status),
)
_CLAIMED = Statement(
    "stack_run.claimed",
    select(*stack_run.c).where(
        _r.id == func.any(parameter("id", ARRAY(Uuid()))),
        _r.lease_owner == parameter("owner", Text()),
        _r.status == constant(RunStatus.RUNNING.value),
    ),
)

_STAGE_OF = Statement(
    "stack_stage.of_run", select(*stack_stage.c).where(stack_stage.c.run_id == parameter("id", Uuid()))
)


@dataclass(frozen=True, slots=True)
class AcceptedRun:
    """A run whose lease the caller holds now."""

    lease: Lease
    row: Row

    @property
    def mode(self) -> RunMode:
        """What the run does."""
        return RunMode(self.row["mode"])


async def assign(
    tx: Transaction, run_id: UUID, *, runner_id: UUID | None, remote: bool, assignment_seconds: float
) -> Row | None:
    """Promise a pending run to a runner; nothing else changes. None: somebody else was faster."""
    return await transitions.RUN_ASSIGN.maybe(
        tx, run_id, assigned_runner_id=runner_id, remote=remote, assignment=assignment_seconds
    )


async def accept(
    tx: Transaction,
    run_id: UUID,
    *,
    owner: Owner,
    ttl: float,
    token_hash: bytes,
    runner_id: UUID | None,
    trace: Mapping[str, str],
) -> AcceptedRun:
    """Take an assigned run over: the epoch rises, and the deployment says what is being done from now on.

    Raises:
        NotFound: there is no such run.
        WrongState: it is not assigned (any more), or to another runner.
    """
    stack_row, run = await held_run(tx, run_id)
    if run["assigned_runner_id"] != runner_id:
        raise WrongState(run_id, "accept", f"{run['status']} and promised to another runner")
    taken = await transitions.RUN_ACCEPT.one(tx, run_id, owner=owner, ttl=ttl, token_hash=token_hash)
    deployment = await required(tx, DEPLOYMENT, taken["deployment_id"])
    words = Told("runner", payload={"runId": str(run_id), "run": taken["status"]}, trace=trace).columns()
    if deployment["status"] != DeploymentStatus.PENDING:
        await transitions.NOTE_RUN.one(tx, deployment["id"], **words)
    elif RunMode(taken["mode"]).is_plan_style:
        await transitions.BEGIN_PLANNING.one(tx, deployment["id"], **words)
    else:
        await transitions.BEGIN_APPLYING.one(tx, deployment["id"], **words)
    await summarize(tx, stack_row["id"])
    return AcceptedRun(Lease(run_id, owner, Epoch(taken["lease_epoch"])), taken)


async def take(database: Database, run_id: UUID, *, owner: Owner, ttl: float, token_hash: bytes) -> AcceptedRun | None:
    """Assign and accept in one transaction, for a runner that is up already. None: the run is not pending any more."""

    async def work(tx: Transaction) -> AcceptedRun | None:
        _, run = await held_run(tx, run_id)
        if run["status"] != RunStatus.PENDING:
            return None
        await assign(tx, run_id, runner_id=None, remote=False, assignment_seconds=ttl)
        return await accept(tx, run_id, owner=owner, ttl=ttl, token_hash=token_hash, runner_id=None, trace={})

    return await database.transact(work)


async def live_run(database: Database, run_id: UUID, token_hash: bytes) -> Row | None:
    """The run whose present epoch this token belongs to. None: the token is not, or no longer, valid."""
    return await database.fetch_one(_LIVE, id=run_id, token_hash=token_hash)


async def renew(database: Database, leases: list[Lease]) -> dict[tuple[UUID, int], RunStatus]:
    """Move the deadlines of all leases by their length; the status of each that is still held, by id and epoch."""
    rows = await database.fetch(_RENEW, id=[lease.row_id for lease in leases], epoch=[lease.epoch for lease in leases])
    return {(row["id"], row["lease_epoch"]): RunStatus(row["status"]) for row in rows}


async def claimed(database: Database, run_ids: list[UUID], owner: Owner) -> list[AcceptedRun]:
    """What `owner` holds of these: the answer to a claim whose own answer was lost."""
    rows = await database.fetch(_CLAIMED, id=run_ids, owner=owner)
    return [AcceptedRun(Lease(row["id"], owner, Epoch(row["lease_epoch"])), row) for row in rows]


async def acknowledge(tx: Transaction, run_id: UUID, epoch: Epoch, trace: Mapping[str, str]) -> Row:
    """The runner is stopping the tool: from here on the run ends as cancelled, whatever is reported.

    Raises:
        NotFound: there is no such run.
        WrongState: nobody asked for a cancel. A second confirmation is answered with the row as it is.
        LeaseLost: another epoch.
    """
    stack_row, run = await held_run(tx, run_id)
    if run["status"] == RunStatus.CANCELLING and run["lease_epoch"] == epoch:
        return run
    moved = await transitions.RUN_ACKNOWLEDGE.one(tx, run_id, epoch=epoch)
    words = Told("runner", payload={"runId": str(run_id), "run": moved["status"]}, trace=trace).columns()
    await transitions.ACKNOWLEDGE.one(tx, run["deployment_id"], **words)
    stage = await tx.fetch_one(_STAGE_OF, id=run_id)
    if stage is not None:
        await transitions.STAGE_ACKNOWLEDGE.one(tx, stage["id"])
    await summarize(tx, stack_row["id"])
    return moved
