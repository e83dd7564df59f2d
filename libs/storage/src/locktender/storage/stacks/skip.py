"""Deployments that end before anything irreversible has begun: skipped by a person, by policy, or by a newer one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import BigInteger, Uuid, select

from locktender.contracts.stacks.flow import SKIPPABLE, DeploymentStatus
from locktender.contracts.stacks.vocabulary import ActivityKind, DeploymentMode, SkippedReason
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, constant, parameter
from locktender.storage.stacks import transitions
from locktender.storage.stacks.held import DEPLOYMENT, OPEN_RUN, OPEN_STAGE, held_deployment, required
from locktender.storage.stacks.lane import advance, locked
from locktender.storage.stacks.refusals import NotSkippable
from locktender.storage.stacks.tables import stack_deployment
from locktender.storage.stacks.told import Told, act

AT_ONCE: Final = 200
"""Deployments that one transaction skips, at most."""

_d = stack_deployment.c
_stack_id = parameter("stack_id", Uuid())
_in_lane = _d.mode != constant(DeploymentMode.PLAN_UNLOCKED.value)

_SKIPPABLE_OF = Statement(
    "stack_deployment.skippable",
    select(*_d)
    .where(_d.stack_id == _stack_id, in_states(_d.status, SKIPPABLE), _in_lane)
    .order_by(_d.created_at.desc(), _d.id.desc())
    .limit(parameter("limit", BigInteger()))
    .with_for_update(),
)
_OUTDATED = Statement(
    "stack_deployment.outdated",
    select(*_d)
    .where(
        _d.stack_id == _stack_id,
        _d.status == constant(DeploymentStatus.QUEUED.value),
        _in_lane,
        _d.id != parameter("newer", Uuid()),
        _d.created_at <= db_now() - seconds("age"),
    )
    .order_by(_d.created_at, _d.id)
    .limit(parameter("limit", BigInteger()))
    .with_for_update(),
)


@dataclass(frozen=True, slots=True)
class Skipped:
    """What a bulk command ended. `more`: it was bounded and there may be others; ask again."""

    deployments: tuple[UUID, ...]
    more: bool = False


async def skip(tx: Transaction, deployment_id: UUID, actor: str, trace: Mapping[str, str]) -> Row:
    """Skip one that is queued, pending or waiting. A pending run is discarded with it.

    Raises:
        NotFound: there is no such deployment.
        NotSkippable: it is over, a runner works on it, or a runner is just starting it.
    """
    owner, deployment = await held_deployment(tx, deployment_id)
    if DeploymentStatus(deployment["status"]) not in SKIPPABLE:
        raise NotSkippable(deployment_id, f"The deployment is {deployment['status']} and cannot be skipped any more.")
    if not await end_skipped(tx, deployment, Told(actor, trace=trace)):
        raise NotSkippable(deployment_id, "A runner is starting the deployment. Cancel it instead.")
    await act(tx, deployment_id, ActivityKind.SKIPPED, actor)
    if DeploymentMode(deployment["mode"]).uses_lane:
        await advance(tx, owner["id"])
    return await required(tx, DEPLOYMENT, deployment_id)


async def skip_all(tx: Transaction, stack_id: UUID, actor: str, trace: Mapping[str, str]) -> Skipped:
    """Skip everything of a stack that can be skipped, the newest first. Those that only look are left alone.

    What a runner is just starting is left as well.

    Raises:
        NotFound: there is no such stack.
    """
    await locked(tx, stack_id)
    found = await tx.fetch(_SKIPPABLE_OF, stack_id=stack_id, limit=AT_ONCE)
    told = Told(actor, payload={"bulk": True}, trace=trace)
    ended = [row["id"] for row in found if await end_skipped(tx, row, told)]
    for key in ended:
        await act(tx, key, ActivityKind.SKIPPED, actor, details={"bulk": True})
    await advance(tx, stack_id)
    return Skipped(tuple(ended), more=len(found) == AT_ONCE and bool(ended))


async def supersede(tx: Transaction, owner: Row, newer: UUID) -> list[UUID]:
    """Skip what waits in the queue for longer than the stack's policy says, now that there is a newer deployment.

    Does nothing for a stack without the policy. The caller advances the lane.
    """
    if owner["supersede_after_seconds"] is None:
        return []
    age = float(owner["supersede_after_seconds"])
    found = await tx.fetch(_OUTDATED, stack_id=owner["id"], newer=newer, age=age, limit=AT_ONCE)
    told = Told("policy", "a newer deployment takes its place", {"newer": str(newer)})
    reason = SkippedReason.SUPERSEDED
    return [row["id"] for row in found if await end_skipped(tx, row, told, reason=reason)]


async def end_skipped(tx: Transaction, deployment: Row, told: Told, *, reason: SkippedReason | None = None) -> bool:
    """Move run, stage and deployment of a locked, skippable deployment; whether that was possible.

    It is not where a runner was promised the run: that is for a cancel. The caller advances the lane.
    """
    key = deployment["id"]
    run = await tx.fetch_one(OPEN_RUN, id=key)
    if run is not None and await transitions.RUN_DISCARD.maybe(tx, run["id"]) is None:
        return False
    stage = await tx.fetch_one(OPEN_STAGE, id=key)
    if stage is not None:
        await transitions.STAGE_SKIP.one(tx, stage["id"])
    said = dict(told.payload) | ({} if reason is None else {"reason": reason.value})
    words = Told(told.actor, told.message, said, told.trace).columns()
    await transitions.SKIP.one(tx, key, skipped_reason=reason, **words)
    return True
