"""Under a generic plan and with many rows, every list of stacks reads the index that was made for it.

There are more stacks than histories: so many that reading all of them costs several times what ten lookups cost. With
fewer, the planner may well read the whole table, and rightly.
"""

from collections.abc import AsyncGenerator

import pytest

from locktender.storage.kernel.statement import Statement
from locktender.storage.stacks import activity, queue, reads, stacks
from locktender.testkit.database import TestDatabase

_FILL = """
insert into locktender.stack (id, workspace, project, name, source, engine, runner_group, auto_approve, created_by,
  latest_deployment_status, latest_deployment_created_at, created_at)
select gen_random_uuid(), 'w' || n % 20, 'p', 'stack-' || n, '{}', 'auto', 'default', 'manual', 'ada',
  case when n % 5 > 0 then 'finished' end, case when n % 5 > 0 then now() - n * interval '1 s' end,
  now() - n * interval '1 s'
from generate_series(1, 10000) n;
insert into locktender.stack_deployment (id, workspace, stack_id, number, mode, status, origin, source, commit_sha,
  commit, created_by, request_digest, completed_at, created_at)
select gen_random_uuid(), workspace, id, n, 'plan', status, 'manual', '{}', 'c', '{}', 'ada', '\\x00',
  case when status = 'finished' then now() end, created_at + n * interval '1 ms'
from locktender.stack, generate_series(1, 4) n,
  lateral (select case when n = 4 and name like '%7' then 'pending' else 'finished' end status) made
where created_at > now() - interval '2000 s';
insert into locktender.stack_run (id, workspace, stack_id, deployment_id, mode, status, runner_group, state_locked,
  completed_at, created_at)
select gen_random_uuid(), workspace, stack_id, id, 'plan', case status when 'pending' then 'pending' else 'success' end,
  'default', true, completed_at, created_at
from locktender.stack_deployment;
insert into locktender.stack_activity (deployment_id, kind, actor) select id, 'created', 'ada'
from locktender.stack_deployment;
"""


@pytest.fixture(scope="module")
async def full(module_db: TestDatabase) -> AsyncGenerator[TestDatabase]:
    async with module_db.unguarded() as superuser:
        await superuser.execute(_FILL)
    await module_db.admin.execute("analyze")
    await module_db.admin.execute("set plan_cache_mode = force_generic_plan")
    yield module_db
    await module_db.admin.execute("reset plan_cache_mode")


_O, _B = reads._Order, reads._By
_BY_INDEX = {
    "a stack": (reads._STACK, ("uq_stack_name",)),
    "a stack by its id": (reads._STACK_BY_ID, ("pk_stack",)),
    "by age": (reads._STACKS[_O.CREATED, _B.NOTHING, False], ("ix_stack_listed",)),
    "by age, next page": (reads._STACKS[_O.CREATED, _B.NOTHING, True], ("ix_stack_listed",)),
    "in a status": (reads._STACKS[_O.CREATED, _B.STATUS, True], ("ix_stack_by_status",)),
    "by name, next page": (reads._STACKS[_O.NAME, _B.NOTHING, True], ("uq_stack_name",)),
    "by activity": (reads._STACKS[_O.ACTIVE, _B.NOTHING, False], ("ix_stack_by_activity",)),
    "by activity, next page": (reads._STACKS[_O.ACTIVE, _B.NOTHING, True], ("ix_stack_by_activity",)),
    "never active": (reads._STACKS[_O.NEVER_ACTIVE, _B.NOTHING, True], ("ix_stack_by_activity",)),
    "a deployment": (reads._DEPLOYMENT, ("uq_stack_deployment_number", "ix_stack_run_of_deployment")),
    "deployments": (reads._DEPLOYMENTS[False], ("ix_stack_deployment_listed", "ix_stack_run_of_deployment")),
    "deployments, next page": (reads._DEPLOYMENTS[True], ("ix_stack_deployment_listed",)),
    "the queue": (queue.QUEUE, ("ix_stack_deployment_queue", "ix_stack_run_of_deployment")),
    "the load of groups": (queue.LOAD, ("ix_stack_run_expiring",)),
    "the trail": (activity._TRAIL, ("Index Cond: (deployment_id = ",)),
    "whether a stack is at work": (stacks._OPEN, ("ix_stack_deployment_active",)),
}


@pytest.mark.parametrize("name", _BY_INDEX)
async def test_a_question_about_stacks_reads_its_index(full: TestDatabase, name: str) -> None:
    statement, indexes = _BY_INDEX[name]
    plan = await _plan(full, statement)
    for index in indexes:
        assert index in plan, plan
    for table in ("stack", "stack_deployment", "stack_run", "stack_activity"):
        assert f"Seq Scan on {table} " not in plan, plan


async def _plan(db: TestDatabase, statement: Statement) -> str:
    nulls = ", ".join("null" for _ in statement.parameters)
    await db.admin.execute(f"prepare seen as {statement.sql}")
    try:
        lines = await db.admin.fetch(f"explain execute seen({nulls})")
    finally:
        await db.admin.execute("deallocate seen")
    return "\n".join(line[0] for line in lines)
