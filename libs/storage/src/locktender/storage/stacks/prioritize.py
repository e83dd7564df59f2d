"""A place further ahead, in the queue of the stack and in the queue of the runners. Nothing is preempted."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import Uuid, select, update

from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, UNTAKEN, DeploymentStatus, RunStatus
from locktender.contracts.stacks.vocabulary import ActivityKind
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks import transitions
from locktender.storage.stacks.held import DEPLOYMENT, held_deployment, required
from locktender.storage.stacks.refusals import NotPrioritizable
from locktender.storage.stacks.tables import stack_deployment, stack_run
from locktender.storage.stacks.told import Told, act

_id = parameter("id", Uuid())
_PASS_ON = Statement(
    "stack_run.prioritize",
    update(stack_run)
    .where(stack_run.c.deployment_id == _id, in_states(stack_run.c.status, UNTAKEN | {RunStatus.QUEUED}))
    .values(
        prioritized_at=select(stack_deployment.c.prioritized_at).where(stack_deployment.c.id == _id).scalar_subquery()
    )
    .returning(stack_run.c.id),
)


async def prioritize(tx: Transaction, deployment_id: UUID, actor: str, trace: Mapping[str, str]) -> Row:
    """Put it before everything that is not prioritized. Doing it again keeps the place that it has.

    Raises:
        NotFound: there is no such deployment.
        NotPrioritizable: it is over.
    """
    return await _place(tx, deployment_id, actor, trace, ahead=True)


async def deprioritize(tx: Transaction, deployment_id: UUID, actor: str, trace: Mapping[str, str]) -> Row:
    """Take that back: its age counts again.

    Raises:
        NotFound: there is no such deployment.
        NotPrioritizable: it is over.
    """
    return await _place(tx, deployment_id, actor, trace, ahead=False)


async def _place(tx: Transaction, deployment_id: UUID, actor: str, trace: Mapping[str, str], *, ahead: bool) -> Row:
    _, deployment = await held_deployment(tx, deployment_id)
    if DeploymentStatus(deployment["status"]) in STACK_DEPLOYMENT.terminal:
        raise NotPrioritizable(deployment_id, f"The deployment is {deployment['status']}; it waits for nothing.")
    words = Told(actor, trace=trace).columns()
    if ahead:
        moved = await transitions.PRIORITIZE.maybe(tx, deployment_id, prioritized_by=actor, **words)
    else:
        moved = await transitions.DEPRIORITIZE.maybe(tx, deployment_id, **words)
    if moved is None:
        return deployment
    await tx.fetch(_PASS_ON, id=deployment_id)
    await act(tx, deployment_id, ActivityKind.PRIORITIZED if ahead else ActivityKind.DEPRIORITIZED, actor)
    return await required(tx, DEPLOYMENT, deployment_id)
