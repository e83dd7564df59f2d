"""Remote runners: a run is promised to one, taken over once, and given back or ended when its runner does not come."""

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest

from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.kernel.database import Row
from locktender.storage.stacks.assign import AcceptedRun
from locktender.storage.stacks.confirm import confirm_apply
from locktender.storage.stacks.groups import create_group, delete_group, group, group_of_token, groups, runners
from locktender.storage.stacks.prioritize import prioritize
from locktender.storage.stacks.refusals import GroupInUse, NotAssigned
from locktender.storage.stacks.remote import Offered, accept_remote, dispatch_failed, force_delete_runner, poll, seen
from locktender.storage.stacks.retry import retry
from locktender.testkit.database import TestDatabase
from locktender.testkit.stacks import APPLIED, StackRig, new_stack

PROMISE, TOKEN = b"promise" * 4, b"token" * 6


async def _group(db: TestDatabase, **stated: Any) -> Row:
    key = new_id().hex
    plausible: dict[str, Any] = {"labels": [], "capacity": 5, "token_hash": key.encode(), "actor": "ada"}
    return await db.database.transact(lambda tx: create_group(tx, "acme", f"pool-{key}", **(plausible | stated)))


async def _stack(db: TestDatabase, of: Row, **stated: Any) -> StackRig:
    return await new_stack(db, runner_group=of["name"], **stated)


async def _poll(db: TestDatabase, of: Row, *labels: str, promise: bytes = PROMISE) -> Offered | None:
    return await db.database.transact(
        lambda tx: poll(tx, of, name="box", labels=labels, assignment_hash=promise, assignment_seconds=300.0)
    )


async def _offered(db: TestDatabase, of: Row, *labels: str) -> Offered:
    offered = await _poll(db, of, *labels)
    assert offered is not None
    return offered


async def _accept(
    db: TestDatabase, offered: Offered, *, promise: bytes = PROMISE, token: bytes = TOKEN, runner: UUID | None = None
) -> AcceptedRun:
    return await db.database.transact(
        lambda tx: accept_remote(
            tx, offered.run["id"], runner or offered.runner["id"],
            assignment_hash=promise, token_hash=token, ttl=3600.0, trace={},
        )
    )  # fmt: skip


async def test_a_promise_changes_the_run_alone_and_an_accept_starts_the_deployment(module_db: TestDatabase) -> None:
    db, of = module_db, await _group(module_db)
    rig = await _stack(db, of)
    key = await rig.deploy()
    offered = await _offered(db, of)
    assert (offered.run["status"], offered.run["remote"], offered.runner["status"]) == ("assigned", True, "not-ready")
    assert await rig.status(key) == "pending"
    assert await _poll(db, of) is None
    taken = await _accept(db, offered)
    assert [await rig.status(key), taken.lease.epoch] == ["planning", 1]
    [runner] = await runners(db.database, of["id"])
    assert (runner["status"], runner["run_status"]) == ("ready", "running")
    await rig.report(taken, APPLIED.model_copy(update={"has_changes": False}))
    assert await rig.status(key) == "finished"
    assert await seen(db.database, taken.lease) is None


async def test_a_run_is_accepted_once_and_a_lost_answer_costs_nothing(module_db: TestDatabase) -> None:
    db, of = module_db, await _group(module_db)
    await (await _stack(db, of)).deploy()
    offered = await _offered(db, of)
    first, again = await _accept(db, offered), await _accept(db, offered)
    assert (first.lease, again.row["status"]) == (again.lease, "running")
    with pytest.raises(NotAssigned, match="lapsed"):
        await _accept(db, offered, token=b"another")
    with pytest.raises(NotAssigned, match="not promised"):
        await _accept(db, offered, promise=b"guessed")
    with pytest.raises(NotAssigned):
        await _accept(db, offered, runner=new_id())


async def test_a_run_goes_to_a_runner_that_can_do_it_in_the_order_of_the_queue(module_db: TestDatabase) -> None:
    db, of = module_db, await _group(module_db, labels=["linux"])
    special = await (await _stack(db, of, labels='["gpu", "linux"]')).deploy()
    plain, urgent = await _stack(db, of, labels='["linux"]'), await _stack(db, of)
    second, first = await plain.deploy(), await urgent.deploy()
    await urgent.transact(lambda tx: prioritize(tx, first, "ada", {}))
    offers = [(await _offered(db, of)).run["deployment_id"] for _ in range(2)]
    assert offers == [first, second]
    assert await _poll(db, of) is None
    assert (await _offered(db, of, "gpu")).run["deployment_id"] == special


async def test_another_groups_and_another_workspaces_runs_are_never_offered(module_db: TestDatabase) -> None:
    db, of = module_db, await _group(module_db)
    await (await _stack(db, await _group(db))).deploy()
    await (await _stack(db, of, workspace="umbrella")).deploy()
    assert await _poll(db, of) is None


async def test_a_group_never_has_more_at_work_than_its_capacity(module_db: TestDatabase) -> None:
    db, of = module_db, await _group(module_db, capacity=2)
    for _ in range(4):
        await (await _stack(db, of)).deploy()
    async with asyncio.TaskGroup() as several:
        polls = [several.create_task(_poll(db, of, promise=bytes([n]))) for n in range(6)]
    offers = [offer for offer in (each.result() for each in polls) if offer is not None]
    assert len({offer.run["id"] for offer in offers}) == 2
    await _accept(db, offers[0], promise=await _promise(db, offers[0]))
    assert await _poll(db, of) is None


async def _promise(db: TestDatabase, offered: Offered) -> bytes:
    return await db.admin.fetchval(
        "select assignment_hash from locktender.stack_runner where id = $1", offered.runner["id"]
    )


async def test_asking_for_news_renews_the_lease(db: TestDatabase) -> None:
    of = await _group(db)
    rig = await _stack(db, of)
    key = await rig.deploy()
    taken = await _accept(db, await _offered(db, of))
    await db.advance(3000)
    assert await seen(db.database, taken.lease) == "running"
    left = (await rig.runs(key))[0]["lease_expires_at"] - await db.now()
    [runner] = await runners(db.database, of["id"])
    assert (left.total_seconds() > 3590, (await db.now() - runner["last_seen_at"]).total_seconds() < 10) == (True, True)


async def test_a_dispatch_that_failed_ends_its_run_and_nothing_else(module_db: TestDatabase) -> None:
    db, of = module_db, await _group(module_db)
    rig, other = await _stack(db, of), await _stack(db, of)
    key, behind, theirs = await rig.deploy(), await rig.deploy(), await other.deploy()
    offered = await _offered(db, of)
    await db.database.transact(lambda tx: dispatch_failed(tx, of, offered.runner["id"], "no quota", {}))
    statuses = [await rig.status(key), await rig.status(behind), await other.status(theirs)]
    assert statuses == ["failed", "pending", "pending"]
    failure = json.loads((await rig.deployment(key))["failure"])
    assert (failure["reason"], "no quota" in failure["message"]) == ("dispatch-failed", True)
    told = json.loads((await group(db.database, "acme", of["name"]))["last_dispatch_error"])
    assert (told["message"], told["runId"]) == ("no quota", str(offered.run["id"]))
    assert await runners(db.database, of["id"]) == []
    with pytest.raises(NotFound):
        await db.database.transact(lambda tx: dispatch_failed(tx, of, offered.runner["id"], "again", {}))


async def test_a_run_that_was_taken_over_cannot_fail_to_be_dispatched(module_db: TestDatabase) -> None:
    db, of = module_db, await _group(module_db)
    await (await _stack(db, of)).deploy()
    offered = await _offered(db, of)
    await _accept(db, offered)
    with pytest.raises(NotAssigned):
        await db.database.transact(lambda tx: dispatch_failed(tx, of, offered.runner["id"], "late", {}))


@pytest.mark.parametrize("taken", [False, True])
async def test_deleting_a_runner_ends_its_run_and_frees_the_lane(module_db: TestDatabase, *, taken: bool) -> None:
    db, of = module_db, await _group(module_db)
    rig = await _stack(db, of)
    key, behind = await rig.deploy(), await rig.deploy()
    offered = await _offered(db, of)
    lease = (await _accept(db, offered)).lease if taken else None
    await db.database.transact(lambda tx: force_delete_runner(tx, of, offered.runner["id"], "ada", {}))
    assert [await rig.status(key), await rig.status(behind)] == ["failed", "pending"]
    assert json.loads((await rig.deployment(key))["failure"])["reason"] == "runner-deleted"
    assert (await rig.runs(key))[0]["status"] == ("timed_out" if taken else "failure")
    assert lease is None or await seen(db.database, lease) is None
    with pytest.raises(NotFound):
        await db.database.transact(lambda tx: force_delete_runner(tx, of, offered.runner["id"], "ada", {}))


async def test_deleting_the_runner_of_an_apply_leaves_the_stack_uncertain(module_db: TestDatabase) -> None:
    db, of = module_db, await _group(module_db)
    rig = await _stack(db, of)
    key = await rig.deploy()
    await rig.plan(key)
    await rig.transact(lambda tx: confirm_apply(tx, key, "a", plan_digest=None, variables_digest=None, trace={}))
    offered = await _offered(db, of)
    await _accept(db, offered)
    await db.database.transact(lambda tx: force_delete_runner(tx, of, offered.runner["id"], "ada", {}))
    assert (await rig.stack())["uncertain_run_id"] == offered.run["id"]


async def test_a_group_is_known_by_its_token_and_deleted_when_nothing_needs_it(module_db: TestDatabase) -> None:
    db = module_db
    of = await _group(db, token_hash=b"known")
    found = await group_of_token(db.database, b"known")
    assert found is not None
    assert (found["id"], "token_hash" in found) == (of["id"], False)
    assert of["name"] in [row["name"] for row in await groups(db.database, "acme")]
    rig = await _stack(db, of)
    key = await rig.deploy(DeploymentMode.PLAN_UNLOCKED)
    with pytest.raises(GroupInUse, match=rig_name(await rig.stack())):
        await db.database.transact(lambda tx: delete_group(tx, "acme", of["name"]))
    offered = await _offered(db, of)
    await _accept(db, offered)
    await db.admin.execute("update locktender.stack set runner_group = 'default' where id = $1", rig.stack_id)
    with pytest.raises(GroupInUse, match="at work"):
        await db.database.transact(lambda tx: delete_group(tx, "acme", of["name"]))
    await db.database.transact(lambda tx: force_delete_runner(tx, of, offered.runner["id"], "ada", {}))
    await db.database.transact(lambda tx: delete_group(tx, "acme", of["name"]))
    assert await group_of_token(db.database, b"known") is None
    # What is made again goes where the stack sends its runs now.
    await db.database.transact(lambda tx: retry(tx, key, "ada", request_digest=b"d", trace={}))
    with pytest.raises(NotFound):
        await db.database.transact(lambda tx: delete_group(tx, "acme", of["name"]))


def rig_name(row: Row) -> str:
    return row["name"]
