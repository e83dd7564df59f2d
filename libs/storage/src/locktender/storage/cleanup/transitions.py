"""Every transition of a cleanup job as one prepared statement."""

from typing import Any

from sqlalchemy import BigInteger, Float, Select, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from locktender.contracts.cleanup import flow
from locktender.contracts.cleanup.flow import CLEANUP_JOB as MACHINE
from locktender.contracts.cleanup.flow import JobStatus
from locktender.contracts.kernel.subjects import CLEANUP_COMMAND_PREFIX
from locktender.storage.cleanup.tables import CLEANUP, cleanup_job
from locktender.storage.kernel.clock import db_now, seconds
from locktender.storage.kernel.events import outbox_commands, outbox_rows
from locktender.storage.kernel.guarded import Command, Guarded, sweep_statement
from locktender.storage.kernel.statement import Statement, constant, parameter

_j = cleanup_job.c
_command = Command(CLEANUP_COMMAND_PREFIX, "kind")

CLAIM = Guarded(
    CLEANUP, MACHINE, flow.CLAIM,
    constants={"attempts": _j.attempts + 1}, only_if=_j.next_attempt_at <= db_now(),
    returning=("kind", "subject_id", "generation", "attempts"),
)  # fmt: skip
RENEW = Guarded(CLEANUP, MACHINE, flow.RENEW, constants={"lease_expires_at": db_now() + seconds("ttl")})
RETRY = Guarded(
    CLEANUP, MACHINE, flow.RETRY, sets=("last_error",),
    constants={
        "next_attempt_at": db_now()
        + func.make_interval(0, 0, 0, 0, 0, 0, parameter("delay", Float()))
    },
)  # fmt: skip
EXPIRE = sweep_statement(
    CLEANUP, MACHINE, flow.EXPIRE,
    due=_j.lease_expires_at <= db_now(), order=_j.lease_expires_at,
    constants={"next_attempt_at": db_now(), "hinted_at": db_now()}, command=_command,
)  # fmt: skip
HINT = sweep_statement(
    CLEANUP, MACHINE, flow.HINT,
    due=(_j.next_attempt_at <= db_now())
    & (func.coalesce(_j.hinted_at, _j.created_at) <= db_now() - seconds("patience")),
    order=_j.next_attempt_at,
    constants={"hinted_at": db_now()}, command=_command,
)  # fmt: skip

_ended = (
    select(_j.id)
    .where(_j.status == constant(JobStatus.DONE.value), _j.completed_at <= db_now() - seconds("retention"))
    .order_by(_j.completed_at)
    .limit(parameter("limit", BigInteger()))
    .with_for_update(skip_locked=True)
    .cte("ended")
)
# An array of ids, not a join: a generic plan expects a tenth of the table from the limit, and would read it whole.
_ids = func.array(select(_ended.c.id).scalar_subquery())
FORGET = Statement("cleanup_job.forget", delete(cleanup_job).where(_j.id == func.any(_ids)).returning(_j.id))


def schedule_statement(name: str, due: Select[*tuple[Any, ...]]) -> Statement:
    """Insert jobs for what `due` selects (kind, workspace, subject_id, generation), each with its command."""
    made = (
        insert(cleanup_job)
        .from_select(["kind", "workspace", "subject_id", "generation", "hinted_at"], due)
        .on_conflict_do_nothing(index_elements=["kind", "subject_id"])
        .returning(_j.id, _j.kind, _j.subject_id)
        .cte("made")
    )
    subject = constant(CLEANUP_COMMAND_PREFIX).concat(made.c.kind)
    return Statement(name, select(made).add_cte(outbox_rows(outbox_commands(made, subject, "cleanup"))))
