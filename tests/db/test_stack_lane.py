"""The lane of a stack: one deployment at a time, in order, handed on by every write that frees it."""

import asyncpg
import pytest

from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.testkit.database import TestDatabase
from locktender.testkit.stacks import APPLIED, new_stack, planned


async def test_the_first_deployment_takes_the_lane_and_the_next_waits(db: TestDatabase) -> None:
    rig = await new_stack(db)
    first, second = await rig.deploy(), await rig.deploy()
    assert [await rig.status(first), await rig.status(second)] == ["pending", "queued"]
    assert (await rig.stack())["lane_holder"] == first


async def test_a_plan_without_changes_finishes_and_hands_the_lane_on(db: TestDatabase) -> None:
    rig = await new_stack(db)
    first, second = await rig.deploy(), await rig.deploy()
    await rig.plan(first, planned(changes=False))
    assert [await rig.status(first), await rig.status(second)] == ["finished", "pending"]


async def test_a_plan_with_changes_waits_and_keeps_the_lane(db: TestDatabase) -> None:
    rig = await new_stack(db)
    first, second = await rig.deploy(), await rig.deploy()
    await rig.plan(first)
    assert [await rig.status(first), await rig.status(second)] == ["waiting", "queued"]


async def test_a_stack_that_approves_by_itself_applies_at_once(db: TestDatabase) -> None:
    rig = await new_stack(db, auto_approve="auto")
    key = await rig.deploy()
    await rig.plan(key)
    assert await rig.status(key) == "applying"
    await rig.plan(key, APPLIED)
    assert await rig.status(key) == "finished"
    trail = await db.admin.fetch("select kind, actor from locktender.stack_activity order by created_at, id")
    assert [tuple(row) for row in trail] == [("created", "ada"), ("auto_applied", None)]


async def test_a_looking_plan_neither_waits_for_the_lane_nor_holds_it(db: TestDatabase) -> None:
    rig = await new_stack(db)
    holder = await rig.deploy()
    looking = await rig.deploy(DeploymentMode.PLAN_UNLOCKED)
    assert await rig.status(looking) == "pending"
    assert (await rig.stack())["lane_holder"] == holder
    await rig.plan(looking)
    assert await rig.status(looking) == "finished"
    assert (await rig.stack())["latest_deployment_id"] == holder


async def test_not_even_psql_frees_a_lane_without_an_heir(db: TestDatabase) -> None:
    rig = await new_stack(db)
    await rig.deploy()
    await rig.deploy()
    frees = "update locktender.stack set lane_holder = null, lane_taken_at = null"
    touches = "update locktender.stack_deployment set status = status"
    with pytest.raises(asyncpg.PostgresError) as refused:
        await db.admin.execute(f"begin; {frees}; {touches}; commit")
    await db.admin.execute("rollback")
    assert refused.value.sqlstate == "LT005"
