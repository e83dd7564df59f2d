"""How much of a run's log is kept. The bytes are in the object store; the row says up to where they count."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Boolean, LargeBinary, Text, Uuid, func, select, update

from locktender.contracts.stacks.flow import STACK_RUN
from locktender.storage.kernel.clock import db_now
from locktender.storage.kernel.database import Database, Row
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.tables import stack, stack_deployment, stack_run

_s, _d, _r = stack.c, stack_deployment.c, stack_run.c
_SHOWN = (_r.id, _r.workspace, _r.stack_id, _r.status, _r.log_end, _r.log_cut, _r.artifacts_removed_at)

_ADVANCE = Statement(
    "stack_run.log",
    update(stack_run)
    .where(
        _r.id == parameter("id", Uuid()),
        _r.token_hash == parameter("token_hash", LargeBinary()),
        in_states(_r.status, STACK_RUN.leased),
        _r.lease_expires_at > db_now(),
        _r.log_end == parameter("start", BigInteger()),
    )
    .values(log_end=parameter("end", BigInteger()), log_cut=parameter("cut", Boolean()))
    .returning(_r.log_end),
)
_END = Statement("stack_run.log_end", select(*_SHOWN).where(_r.id == parameter("id", Uuid())))
_OF_PEOPLE = Statement(
    "stack_run.log_of",
    select(*_SHOWN, _d.completed_at.label("ended_at"))
    .join(stack_deployment, _d.id == _r.deployment_id)
    .join(stack, _s.id == _r.stack_id)
    .where(
        _r.id == parameter("id", Uuid()),
        _d.number == parameter("number", BigInteger()),
        _s.name == parameter("stack_name", Text()),
        _s.workspace == parameter("workspace", Text()),
        _s.deleted_at.is_(None),
    ),
)
_ENDED = Statement(
    "stack_run.ended_of",
    select(_r.id).where(
        _r.deployment_id == func.any(parameter("deployments", ARRAY(Uuid()))), in_states(_r.status, STACK_RUN.terminal)
    ),
)


async def ended_runs(database: Database, deployments: Sequence[UUID]) -> list[UUID]:
    """The runs of these deployments that have ended."""
    return [row["id"] for row in await database.fetch(_ENDED, deployments=list(deployments))]


async def advance_log(
    database: Database, run_id: UUID, token_hash: bytes, *, start: int, end: int, cut: bool = False
) -> bool:
    """Say that the bytes from `start` to `end` are kept, and with `cut` that nothing will be kept behind them.

    False: the end was elsewhere, or the token is void by now.
    """
    return bool(await database.fetch(_ADVANCE, id=run_id, token_hash=token_hash, start=start, end=end, cut=cut))


async def log_end(database: Database, run_id: UUID) -> Row | None:
    """Status and end of the log of a run, whether it was cut there, and whether it is still there."""
    return await database.fetch_one(_END, id=run_id)


async def log_of(database: Database, workspace: str, stack_name: str, number: int, run_id: UUID) -> Row | None:
    """The same, where the run belongs to this deployment of this stack; and when that ended."""
    return await database.fetch_one(_OF_PEOPLE, id=run_id, number=number, stack_name=stack_name, workspace=workspace)
