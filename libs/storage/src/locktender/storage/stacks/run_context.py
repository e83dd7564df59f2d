"""What a run is made of besides its own row, and the mark that its analysis is kept."""

from uuid import UUID

from sqlalchemy import LargeBinary, Uuid, select, true, update

from locktender.contracts.stacks.flow import STACK_RUN
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.tables import stack, stack_deployment, stack_run, stack_variable

_s, _d, _r, _v = stack.c, stack_deployment.c, stack_run.c, stack_variable.c
_id = parameter("id", Uuid())
_plan = stack_run.alias("plan_run")

_CONTEXT = Statement(
    "stack_run.context",
    select(
        _s.name.label("stack_name"), _s.project, _s.engine, _s.git_token, _d.number, _d.source, _d.commit_sha,
        _d.raw_script, _plan.c.binding.label("planned"),
    )
    .select_from(stack_run)
    .join(stack, _s.id == _r.stack_id)
    .join(stack_deployment, _d.id == _r.deployment_id)
    .outerjoin(_plan, _plan.c.id == _r.plan_run_id)
    .where(_r.id == _id),
)  # fmt: skip
_VARIABLES = Statement("stack_variable.of_stack", select(*_v).where(_v.stack_id == _id).order_by(_v.kind, _v.name))
_ANALYSED = Statement(
    "stack_run.analysed",
    update(stack_run)
    .where(
        _r.id == _id,
        _r.token_hash == parameter("token_hash", LargeBinary()),
        in_states(_r.status, STACK_RUN.leased),
        _r.lease_expires_at > db_now(),
    )
    .values(analysed=true())
    .returning(_r.id),
)


async def context_of(database: Database, run_id: UUID) -> Row | None:
    """Stack, deployment and plan of a run: `planned` is the binding that an apply has to find."""
    return await database.fetch_one(_CONTEXT, id=run_id)


async def variables_of(database: Database, stack_id: UUID) -> list[Row]:
    """The variables of a stack, in a fixed order; sensitive ones as they are stored."""
    return await database.fetch(_VARIABLES, id=stack_id)


async def mark_analysed(database: Database, run_id: UUID, token_hash: bytes) -> bool:
    """Say that the analysis of a run is kept. False: the token is void by now."""
    return bool(await database.fetch(_ANALYSED, id=run_id, token_hash=token_hash))
