"""Clearing the queue of the runners: what waits for a runner at this moment, in many stacks, is skipped."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Text, Uuid, func, select

from locktender.contracts.stacks.flow import DeploymentStatus, RunStatus
from locktender.contracts.stacks.vocabulary import ActivityKind, DeploymentMode
from locktender.storage.kernel.database import Database, Transaction
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks.held import DEPLOYMENT, required
from locktender.storage.stacks.lane import advance, locked
from locktender.storage.stacks.skip import AT_ONCE, Skipped, end_skipped
from locktender.storage.stacks.tables import stack, stack_deployment, stack_run
from locktender.storage.stacks.told import Told, act

STACKS_AT_ONCE: Final = 500
"""Stacks that one press clears, at most."""

_d, _r, _s = stack_deployment.c, stack_run.c, stack.c
_waits = (
    (_r.status == constant(RunStatus.PENDING.value))
    & (_d.status == constant(DeploymentStatus.PENDING.value))
    & (_d.id == _r.deployment_id)
)
_workspace = parameter("workspace", Text())
_some_pending = _s.id.in_(select(_r.stack_id).join(stack_deployment, _waits))
"""Only to spare the others a lock: whether a run still waits is asked again under it."""
_here = (_s.workspace == _workspace) & _s.deleted_at.is_(None) & _some_pending

_PROJECTS = Statement("stack.projects_with_pending", select(_s.project).distinct().where(_here))
_STACKS = Statement(
    "stack.with_pending",
    select(_s.id)
    .where(_here, _s.project == func.any(parameter("projects", ARRAY(Text()))))
    .order_by(_s.id)
    .limit(parameter("limit", BigInteger())),
)
_PENDING_OF = Statement(
    "stack_run.pending_of",
    select(_r.id, _r.deployment_id)
    .join(stack_deployment, _waits)
    .where(_r.stack_id == parameter("stack_id", Uuid()))
    .order_by(_r.created_at, _r.id)
    .limit(parameter("limit", BigInteger())),
)
BULK: Final[Mapping[str, object]] = {"bulk": True, "source": "queue_cancel"}


async def cancel_pending(
    database: Database, workspace: str, patterns: Sequence[str], actor: str, trace: Mapping[str, str]
) -> Skipped:
    """Skip every deployment whose run waits for a runner, those that only look included.

    Exactly what is pending, run and deployment alike: a run that a runner was promised meanwhile goes on. Each stack
    is a transaction of its own, so a press that fails halfway has cleared the first stacks. Afterwards each stack may
    have promoted its next deployment; pressing again clears those.

    `patterns` are of the projects that the caller may confirm in, as grants spell them. None at all clears nothing.
    """
    waiting = await database.fetch(_PROJECTS, workspace=workspace)
    projects = [row["project"] for row in waiting if any(fnmatchcase(row["project"], each) for each in patterns)]
    found = await database.fetch(_STACKS, workspace=workspace, projects=projects, limit=STACKS_AT_ONCE)
    ended: list[UUID] = []
    for row in found:
        ended += await database.transact(_Clearing(row["id"], actor, trace))
    return Skipped(tuple(ended), more=len(found) == STACKS_AT_ONCE)


class _Clearing:
    """One stack's share, as a transaction that may be run again."""

    def __init__(self, stack_id: UUID, actor: str, trace: Mapping[str, str]) -> None:
        self._stack_id = stack_id
        self._told = Told(actor, payload=BULK, trace=trace)

    async def __call__(self, tx: Transaction) -> list[UUID]:
        await locked(tx, self._stack_id)
        ended: list[UUID] = []
        holds_lane = False
        for run in await tx.fetch(_PENDING_OF, stack_id=self._stack_id, limit=AT_ONCE):
            deployment = await required(tx, DEPLOYMENT, run["deployment_id"])
            # The run goes first, and only while it still waits: a runner that was faster keeps it.
            if not await end_skipped(tx, deployment, self._told):
                continue
            await act(tx, deployment["id"], ActivityKind.SKIPPED, self._told.actor, details=BULK)
            ended.append(deployment["id"])
            holds_lane = holds_lane or DeploymentMode(deployment["mode"]).uses_lane
        if holds_lane:
            await advance(tx, self._stack_id)
        return ended
