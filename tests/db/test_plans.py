"""Under a generic plan and with many rows, every hot statement reads the index that was made for it."""

from collections.abc import AsyncGenerator

import pytest

from locktender.storage.cleanup import transitions as cleanup
from locktender.storage.deployments import projections, reads, retention, transitions
from locktender.storage.kernel.statement import Statement
from locktender.storage.outbox import relay
from locktender.testkit.database import TestDatabase

_FILL = """
insert into locktender.deployment_task (id, workspace, project, display_name, created_by, created_from, runner, source,
  status, phase, timeline, request_digest, idempotency_key, lease_owner, lease_epoch, lease_claimed_at,
  lease_expires_at, cancel_requested_at, completed_at, failure, created_at, hinted_at)
select gen_random_uuid(), 'w' || n % 20, 'p' || n % 200, 'shop', 'ada', 'cli', 'noop', '{}',
  status, 'apply', '{}', '\\x00', 'k' || n, case when live then 'me' end, 1, case when live then at end,
  case when live then at end, case when n % 1000 = 1 then at end,
  case when not live and status <> 'queued' then at end, '{}', at, at
from (
  select n, now() - n * interval '1 s' as at, status, status = 'running' as live
  from generate_series(1, 30000) n,
    lateral (select case n % 100 when 1 then 'running' when 2 then 'queued' else 'completed' end status) s
) made;
insert into locktender.deployment_event (task_id, revision, kind, status, epoch, actor, message, payload)
select id, n, 'progressed', status, 1, 'runner', '', '{}' from locktender.deployment_task, generate_series(1, 3) n;
insert into locktender.cleanup_job (kind, workspace, subject_id, generation, status, lease_owner, lease_expires_at,
  completed_at)
select 'retention', 'w', gen_random_uuid(), 1, status, case status when 'running' then 'me' end,
  case status when 'running' then now() end, case status when 'done' then now() end
from (
  select case n % 100 when 1 then 'running' when 2 then 'pending' else 'done' end status
  from generate_series(1, 20000) n
) made;
insert into locktender.outbox (aggregate, shard, revision, subject, type, data, published_at, next_attempt_at)
select 'a' || n, n % 16, 1, 'lt.evt.w.deployments.x.created', 'created', '{}',
  case when n % 200 <> 0 then now() end, case when n % 2000 = 0 then now() end
from generate_series(1, 30000) n;
"""
_BIGGEST_PARTITION = "select max(tableoid::regclass::text) from locktender.outbox"


@pytest.fixture(scope="module")
async def full(module_db: TestDatabase) -> AsyncGenerator[TestDatabase]:
    async with module_db.unguarded() as superuser:
        await superuser.execute(_FILL)
    await module_db.admin.execute("analyze")
    await module_db.admin.execute("set plan_cache_mode = force_generic_plan")
    yield module_db
    await module_db.admin.execute("reset plan_cache_mode")


async def _plan(db: TestDatabase, statement: Statement) -> str:
    nulls = ", ".join("null" for _ in statement.arguments(_Anything()))
    await db.admin.execute(f"prepare seen as {statement.sql}")
    try:
        lines = await db.admin.fetch(f"explain execute seen{f'({nulls})' if nulls else ''}")
    finally:
        await db.admin.execute("deallocate seen")
    return "\n".join(line[0] for line in lines)


class _Anything(dict[str, object]):
    """Every argument, by whatever name."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> object:
        return None


_TASK, _JOB, _EVENT = "deployment_task", "cleanup_job", "deployment_event"
_BY_INDEX = {
    "claim": (transitions.CLAIM.statement, _TASK, "pk_deployment_task"),
    "renew": (transitions.RENEW.statement, _TASK, "pk_deployment_task"),
    "record": (transitions.RECORD.statement, _TASK, "pk_deployment_task"),
    "cancel-ack-deadline": (transitions.SWEEPS["cancel-ack-deadline"], _TASK, "ix_deployment_task_cancelling"),
    "interrupted-with-cancel": (transitions.SWEEPS["interrupted-with-cancel"], _TASK, "ix_deployment_task_"),
    "timeout": (transitions.SWEEPS["timeout"], _TASK, "ix_deployment_task_overrunning"),
    "interrupted": (transitions.SWEEPS["interrupted"], _TASK, "ix_deployment_task_expiring"),
    "never-started": (transitions.SWEEPS["never-started"], _TASK, "ix_deployment_task_queued"),
    "hint": (transitions.HINT, _TASK, "ix_deployment_task_hinted"),
    "snapshot": (reads._SNAPSHOT, _TASK, "pk_deployment_task"),
    "snapshot's events": (reads._SNAPSHOT, _EVENT, "pk_deployment_event"),
    "list": (reads._LISTS[False, False], _TASK, "ix_deployment_task_listed"),
    "list, next page": (reads._LISTS[False, True], _TASK, "ix_deployment_task_listed"),
    "list of a project": (reads._LISTS[True, False], _TASK, "ix_deployment_task_in_project"),
    "list of a project, next page": (reads._LISTS[True, True], _TASK, "ix_deployment_task_in_project"),
    "projections": (projections._NEWEST, _TASK, "ix_deployment_task_in_project"),
    "projection": (projections._ONE, _TASK, "pk_deployment_task"),
    "revisions": (projections._REVISIONS, _TASK, "pk_deployment_task"),
    "marks of projects": (projections._MARKS, _TASK, "ix_deployment_task_in_project"),
    "by idempotency key": (reads._BY_KEY, _TASK, "uq_deployment_task_idempotency"),
    "custody": (reads._CUSTODY, _TASK, "pk_deployment_task"),
    "events": (reads._EVENTS, _EVENT, "pk_deployment_event"),
    "retention": (retention._SCHEDULE, _TASK, "ix_deployment_task_ended"),
    "removal": (retention._REMOVE, _TASK, "pk_deployment_task"),
    "job claim": (cleanup.CLAIM.statement, _JOB, "pk_cleanup_job"),
    "job expiry": (cleanup.EXPIRE, _JOB, "ix_cleanup_job_expiring"),
    "job hint": (cleanup.HINT, _JOB, "ix_cleanup_job_due"),
    "job forgetting": (cleanup.FORGET, _JOB, "ix_cleanup_job_ended"),
    "relay's read": (relay._UNPUBLISHED, "outbox", "_seq_idx"),
    "relay's held back": (relay._UNPUBLISHED, "outbox", "_aggregate_idx"),
    "backlog": (relay._BACKLOG, "outbox", "_seq_idx"),
    "relay's mark": (relay._PUBLISHED, "outbox", "Index Scan using outbox_"),
}


@pytest.mark.parametrize("name", _BY_INDEX)
async def test_a_hot_statement_reads_its_index(full: TestDatabase, name: str) -> None:
    statement, table, index = _BY_INDEX[name]
    plan = await _plan(full, statement)
    assert index in plan, plan
    # Of the outbox, the one partition that holds rows counts; the empty ones are read whole for nothing.
    big = table if table != "outbox" else await full.admin.fetchval(_BIGGEST_PARTITION)
    assert f"Seq Scan on {big} " not in plan, plan


_SORTED = [
    "timeout", "interrupted", "never-started", "cancel-ack-deadline", "list", "list, next page", "projections", "hint",
]  # fmt: skip


@pytest.mark.parametrize("name", _SORTED)
async def test_an_ordered_read_needs_no_sort(full: TestDatabase, name: str) -> None:
    statement, _, _ = _BY_INDEX[name]
    assert "Sort" not in await _plan(full, statement)
