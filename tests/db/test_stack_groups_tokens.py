"""Every question of a remote runner begins with its token, so that is found by index, the present one as the old."""

from locktender.storage.stacks import groups
from locktender.testkit.database import TestDatabase

_FILL = """
insert into locktender.stack_runner_group (id, workspace, name, token_hash, old_token_hash, old_token_until, capacity,
  created_by)
select gen_random_uuid(), 'w', 'g' || n, sha256(n::text::bytea), case when n % 3 = 0 then sha256(('o' || n)::bytea) end,
  case when n % 3 = 0 then now() end, 5, 'ada'
from generate_series(1, 3000) n
"""


async def test_a_token_is_found_by_index(module_db: TestDatabase) -> None:
    await module_db.admin.execute(_FILL)
    await module_db.admin.execute("analyze locktender.stack_runner_group")
    await module_db.admin.execute("set plan_cache_mode = force_generic_plan")
    await module_db.admin.execute(f"prepare seen as {groups.BY_TOKEN.sql}")
    plan = "\n".join(line[0] for line in await module_db.admin.fetch("explain execute seen('\\x00')"))
    assert "uq_stack_runner_group_token" in plan, plan
    assert "uq_stack_runner_group_old_token" in plan, plan
