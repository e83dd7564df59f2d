"""The rows of one command, locked in the order in which everybody locks them: stack, deployment, run."""

from uuid import UUID

from sqlalchemy import Uuid, select

from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.stacks.flow import STACK_RUN, STACK_STAGE
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.lane import locked
from locktender.storage.stacks.tables import stack_deployment, stack_run, stack_stage

_id = parameter("id", Uuid())

STACK_OF_RUN = Statement("stack_run.stack", select(stack_run.c.stack_id).where(stack_run.c.id == _id))
STACK_OF_DEPLOYMENT = Statement(
    "stack_deployment.stack", select(stack_deployment.c.stack_id).where(stack_deployment.c.id == _id)
)
RUN = Statement("stack_run.read", select(*stack_run.c).where(stack_run.c.id == _id).with_for_update())
DEPLOYMENT = Statement(
    "stack_deployment.read", select(*stack_deployment.c).where(stack_deployment.c.id == _id).with_for_update()
)
OPEN_STAGE = Statement(
    "stack_stage.open",
    select(*stack_stage.c).where(
        stack_stage.c.deployment_id == _id, in_states(stack_stage.c.status, STACK_STAGE.active)
    ),
)
OPEN_RUN = Statement(
    "stack_run.open",
    select(*stack_run.c)
    .where(stack_run.c.deployment_id == _id, in_states(stack_run.c.status, STACK_RUN.active))
    .with_for_update(),
)


async def held_run(tx: Transaction, run_id: UUID) -> tuple[Row, Row]:
    """The stack of a run, then the run: locked in this order, as everywhere.

    Raises:
        NotFound: there is no such run, or its stack was deleted.
    """
    of = await tx.fetch_one(STACK_OF_RUN, id=run_id)
    if of is None:
        raise NotFound("run", run_id)
    owner = await locked(tx, of["stack_id"])
    return owner, await required(tx, RUN, run_id)


async def held_deployment(tx: Transaction, deployment_id: UUID) -> tuple[Row, Row]:
    """The stack of a deployment, then the deployment, both locked.

    Raises:
        NotFound: there is no such deployment, or its stack was deleted.
    """
    of = await tx.fetch_one(STACK_OF_DEPLOYMENT, id=deployment_id)
    if of is None:
        raise NotFound("deployment", deployment_id)
    owner = await locked(tx, of["stack_id"])
    return owner, await required(tx, DEPLOYMENT, deployment_id)


async def required(tx: Transaction, statement: Statement, key: UUID) -> Row:
    """The row that `statement` reads by id.

    Raises:
        NotFound: it is not there.
    """
    row = await tx.fetch_one(statement, id=key)
    if row is None:
        raise NotFound(statement.name.partition(".")[0].replace("_", " "), key)
    return row
