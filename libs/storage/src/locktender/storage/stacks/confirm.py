"""What a person says to a plan that waits: apply exactly this, plan again, or leave it."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import Uuid, select

from locktender.contracts.kernel.errors import Finding, Pointer, Rejected
from locktender.contracts.stacks.flow import DeploymentStatus
from locktender.contracts.stacks.vocabulary import ActivityKind, DeploymentMode, RunMode, StageKind, first_run_of
from locktender.contracts.stacks.wire import Binding, Narrowing
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks import transitions
from locktender.storage.stacks.create import add_run
from locktender.storage.stacks.held import DEPLOYMENT, OPEN_STAGE, held_deployment, required
from locktender.storage.stacks.lane import advance
from locktender.storage.stacks.refusals import NotConfirmable, StackUncertain, StalePlan
from locktender.storage.stacks.tables import stack_run
from locktender.storage.stacks.told import Told, act

_PLANNING = frozenset(mode for mode in RunMode if mode.is_plan_style)
_APPLICABLE = frozenset({DeploymentMode.PLAN, DeploymentMode.DESTROY, DeploymentMode.REFRESH})

LAST_PLAN = Statement(
    "stack_run.last_plan",
    select(*stack_run.c)
    .where(stack_run.c.deployment_id == parameter("id", Uuid()), in_states(stack_run.c.mode, _PLANNING))
    .order_by(stack_run.c.created_at.desc(), stack_run.c.id.desc())
    .limit(1),
)


async def confirm_apply(
    tx: Transaction,
    deployment_id: UUID,
    actor: str,
    *,
    plan_digest: str | None,
    variables_digest: str | None,
    trace: Mapping[str, str],
) -> Row:
    """Apply the plan that waits. The deployment is `applying` at once; its run goes to the runners.

    `plan_digest` is of the plan that the person has seen, None where they did not say. `variables_digest` is of the
    stack's variables as they are now; None leaves them unchecked.

    Raises:
        NotFound: there is no such deployment.
        NotConfirmable: it does not wait for this.
        StackUncertain: an apply of the stack was lost, and this is not a refresh.
        StalePlan: the plan, the commit, the variables or the state are not what was planned.
    """
    owner, deployment, stage = await _waiting(tx, deployment_id)
    mode = DeploymentMode(deployment["mode"])
    if mode not in _APPLICABLE:
        raise NotConfirmable(deployment_id, "A plan that only looks is never applied.")
    if owner["uncertain_since"] is not None and mode is not DeploymentMode.REFRESH:
        raise StackUncertain(
            deployment_id, "An apply of this stack was lost and what it did is unknown. Refresh the stack first."
        )
    plan = await tx.fetch_one(LAST_PLAN, id=deployment_id)
    if plan is None or plan["binding"] is None or plan["has_changes"] is False:
        raise NotConfirmable(deployment_id, "There is no plan with changes to apply. Plan again.")
    bound = Binding.model_validate_json(plan["binding"])
    if reason := _outdated(owner, deployment, bound, plan_digest, variables_digest):
        raise StalePlan(deployment_id, reason)
    await transitions.STAGE_FINISH.one(tx, stage["id"])
    told = Told(actor, payload={"planRunId": str(plan["id"]), "planDigest": bound.plan_digest}, trace=trace)
    await transitions.CONFIRM_APPLY.one(tx, deployment_id, **told.columns())
    await add_run(tx, owner, deployment, RunMode.APPLY, Narrowing(), plan_run_id=plan["id"])
    await act(tx, deployment_id, ActivityKind.CONFIRMED_APPLY, actor, stage_id=stage["id"])
    await advance(tx, owner["id"])
    return await required(tx, DEPLOYMENT, deployment_id)


async def confirm_replan(
    tx: Transaction, deployment_id: UUID, actor: str, *, narrowing: Narrowing, trace: Mapping[str, str]
) -> Row:
    """Plan again in the same deployment, restricted to some resources or replacing some.

    Raises:
        NotFound: there is no such deployment.
        NotConfirmable: it does not wait for this.
        Rejected: nothing is named, or targets and excludes together.
    """
    _check(narrowing)
    owner, deployment, stage = await _waiting(tx, deployment_id)
    addresses = {name: list(each) for name, each in narrowing.model_dump().items() if each}
    await transitions.STAGE_FINISH.one(tx, stage["id"])
    told = Told(actor, payload=addresses, trace=trace)
    await transitions.CONFIRM_REPLAN.one(tx, deployment_id, **told.columns())
    await add_run(tx, owner, deployment, first_run_of(DeploymentMode(deployment["mode"])), narrowing)
    await act(tx, deployment_id, ActivityKind.CONFIRMED_REPLAN, actor, stage_id=stage["id"], details=addresses)
    await advance(tx, owner["id"])
    return await required(tx, DEPLOYMENT, deployment_id)


async def confirm_skip(tx: Transaction, deployment_id: UUID, actor: str, trace: Mapping[str, str]) -> Row:
    """Leave the plan unapplied and give the lane on.

    Raises:
        NotFound: there is no such deployment.
        NotConfirmable: it does not wait for this.
    """
    owner, _, stage = await _waiting(tx, deployment_id)
    await transitions.STAGE_SKIP.one(tx, stage["id"])
    await transitions.CONFIRM_SKIP.one(tx, deployment_id, **Told(actor, trace=trace).columns())
    await act(tx, deployment_id, ActivityKind.CONFIRMED_SKIP, actor, stage_id=stage["id"])
    await advance(tx, owner["id"])
    return await required(tx, DEPLOYMENT, deployment_id)


async def _waiting(tx: Transaction, deployment_id: UUID) -> tuple[Row, Row, Row]:
    """Stack, deployment, confirmation stage."""
    owner, deployment = await held_deployment(tx, deployment_id)
    stage = await tx.fetch_one(OPEN_STAGE, id=deployment_id)
    if deployment["status"] != DeploymentStatus.WAITING or stage is None or stage["kind"] != StageKind.CONFIRMATION:
        raise NotConfirmable(
            deployment_id, f"The deployment is {deployment['status']}; it does not wait for a confirmation."
        )
    return owner, deployment, stage


def _outdated(
    owner: Row, deployment: Row, bound: Binding, plan_digest: str | None, variables_digest: str | None
) -> str | None:
    """What of the plan is not true any more, in words."""
    if plan_digest is not None and plan_digest != bound.plan_digest:
        return "The plan you have seen is not the latest plan of this deployment. Look at the latest one."
    if bound.commit != deployment["commit_sha"]:
        return "The plan was made of another commit than the deployment's. Plan again."
    if variables_digest is not None and variables_digest != bound.variables_digest:
        return "The variables of the stack have changed since the plan. Plan again."
    if bound.state_lineage != owner["state_lineage"]:
        return "The state was replaced by another one since the plan. Plan again."
    if bound.state_serial != owner["state_serial"]:
        return "The state has changed since the plan. Plan again."
    return None


def _check(narrowing: Narrowing) -> None:
    if narrowing.targets and narrowing.excludes:
        raise Rejected([Finding(Pointer("/excludes"), "Targets and excludes cannot be combined.", "exclusive")])
    if not (narrowing.narrowed or narrowing.replaces):
        raise Rejected([Finding(Pointer(""), "Name at least one target, exclude or replace.", "nothing-named")])
