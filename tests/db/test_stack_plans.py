"""Under a generic plan and with many rows, every hot statement of the stacks reads the index that was made for it."""

from collections.abc import AsyncGenerator

import pytest

from locktender.storage.kernel.statement import Statement
from locktender.storage.stacks import (
    assign,
    clear,
    confirm,
    held,
    lane,
    leftovers,
    remote,
    retention,
    retry,
    skip,
    sweeps,
)
from locktender.testkit.database import TestDatabase

_FILL = """
insert into locktender.stack (id, workspace, project, name, source, engine, runner_group, auto_approve, created_by,
  confirmation_timeout_seconds, queued_timeout_seconds)
select gen_random_uuid(), 'w' || n % 20, 'p' || n % 50, 's' || n, '{}', 'auto', 'g' || n % 10, 'manual', 'ada', 60, 60
from generate_series(1, 2000) n;
create temporary table made as
select gen_random_uuid() as id, gen_random_uuid() as run, s.id as stack_id, s.workspace,
  case when n % 2 = 0 then 'default' else 'g' || (n / 7) % 100 end as runner_group, n,
  now() - n * interval '1 s' as at,
  case n % 100 when 1 then 'waiting' when 2 then 'queued' when 3 then 'pending' when 4 then 'pending'
    when 5 then 'planning' else case when n % 100 between 10 and 29 then 'pending' else 'finished' end end as status,
  case n % 100 when 2 then 'queued' when 3 then 'pending' when 4 then 'assigned' when 5 then 'running'
    else case when n % 100 between 10 and 29 then 'pending' else 'success' end end as run_status
from generate_series(1, 12) m, lateral (select *, row_number() over () + m * 2000 as n from locktender.stack) s;
insert into locktender.stack_deployment (id, workspace, stack_id, number, mode, status, origin, source, commit_sha,
  commit, request_digest, waiting_since, completed_at, created_at)
select id, workspace, stack_id, n, 'plan', status, 'manual', '{}', 'c' || n, '{}', '\\x00',
  case status when 'waiting' then at end, case status when 'finished' then at end, at from made;
insert into locktender.stack_run (id, workspace, stack_id, deployment_id, mode, status, runner_group, state_locked,
  first_pending_at, hinted_at, assigned_expires_at, lease_owner, lease_expires_at, lease_seconds, token_hash,
  completed_at, created_at)
select run, workspace, stack_id, id, 'plan', run_status, runner_group, false, at, at,
  case run_status when 'assigned' then at end, case run_status when 'running' then 'r/1' end,
  case run_status when 'running' then at + interval '8 hours' end, case run_status when 'running' then 60 end,
  case run_status when 'running' then sha256(run::text::bytea) end,
  case run_status when 'success' then at end, at from made;
insert into locktender.stack_stage (id, deployment_id, ordinal, kind, status, run_id, completed_at)
select gen_random_uuid(), id, 1, 'plan_run', case run_status when 'success' then 'done' else 'running' end, run,
  case run_status when 'success' then at end from made;
insert into locktender.stack_state (id, stack_id, serial, lineage, object_key, sha256, size, origin, created_by,
  created_at)
select gen_random_uuid(), id, n, 'one', 'key', 'sum', 1, 'push', 'ada', now() - n * interval '1 s'
from locktender.stack, generate_series(1, 10) n;
insert into locktender.stack_runner (id, group_id, name, status, run_id, last_seen_at)
select gen_random_uuid(), gen_random_uuid(), 'box', 'ready', run, at from made where n % 2 = 0;
"""


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


_BY_INDEX = {
    "next holder": (lane._TAKE, "ix_stack_deployment_"),
    "release": (lane._RELEASE, "pk_stack"),
    "what the holder starts": (lane._STARTING, "stack_run"),
    "summary": (lane._SUMMARIZE, "ix_stack_deployment_listed"),
    "open run": (held.OPEN_RUN, "uq_stack_run_open"),
    "open stage": (held.OPEN_STAGE, "uq_stack_stage_open"),
    "latest plan": (confirm.LAST_PLAN, "ix_stack_run_of_deployment"),
    "of a token": (assign._LIVE, "pk_stack_run"),
    "poll": (remote.NEXT, "ix_stack_run_pending"),
    "news": (remote._SEEN, "pk_stack_run"),
    "capacity": (remote._AT_WORK, "ix_stack_runner_of_group"),
    "just made": (retry._JUST_MADE, "ix_stack_deployment_"),
    "skip all": (skip._SKIPPABLE_OF, "ix_stack_deployment_"),
    "supersede": (skip._OUTDATED, "ix_stack_deployment_"),
    "clear": (clear._PENDING_OF, "stack_run_"),
    "lapsed": (sweeps.LAPSED.many, "ix_stack_run_assigned"),
    "never started": (sweeps.NEVER_STARTED.many, "ix_stack_run_starting"),
    "silent": (sweeps.SILENT.many, "ix_stack_run_expiring"),
    "unconfirmed": (sweeps.UNCONFIRMED.many, "ix_stack_deployment_waiting"),
    "aged": (sweeps.AGED.many, "ix_stack_deployment_ageing"),
    "hint": (sweeps.HINT, "ix_stack_run_hinted"),
    "forget": (sweeps.FORGET, "ix_stack_runner_seen"),
    "plan files": (retention.PAGES[retention.Leaving.PLAN], "ix_stack_run_planned"),
    "logs and analyses": (retention.PAGES[retention.Leaving.RECORD], "ix_stack_run_recorded"),
    "noted": (retention._MARKS[retention.Leaving.PLAN], "pk_stack_run"),
    "old versions": (retention.REMOVE_STATES, "ix_stack_state_versions"),
    "what runs leave": (leftovers.RUNS, "pk_stack_run"),
    "sources": (leftovers.SOURCES, "ix_stack_deployment_commit"),
}
_BIG = ("stack_deployment", "stack_run", "stack_stage", "stack_state")


@pytest.mark.parametrize("name", _BY_INDEX)
async def test_a_hot_statement_reads_its_index(full: TestDatabase, name: str) -> None:
    statement, index = _BY_INDEX[name]
    plan = await _plan(full, statement)
    assert index in plan, plan
    for table in _BIG:
        assert f"Seq Scan on {table} " not in plan, plan


@pytest.mark.parametrize("name", ["lapsed", "never started", "silent", "unconfirmed", "aged", "hint"])
async def test_an_ordered_read_needs_no_sort(full: TestDatabase, name: str) -> None:
    statement, _ = _BY_INDEX[name]
    assert "Sort" not in await _plan(full, statement)
