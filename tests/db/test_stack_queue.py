"""Who waits, who goes first, who is sent away, and what is made again."""

import asyncio
import json
from datetime import datetime
from uuid import UUID

import asyncpg
import pytest

from locktender.contracts.kernel.lease import Owner
from locktender.contracts.stacks.vocabulary import DeploymentMode, Origin
from locktender.contracts.stacks.wire import Done, Narrowing, Outcome
from locktender.storage.kernel.database import Row
from locktender.storage.stacks.assign import assign, take
from locktender.storage.stacks.clear import cancel_pending
from locktender.storage.stacks.prioritize import deprioritize, prioritize
from locktender.storage.stacks.refusals import NotPrioritizable, NotRetryable, NotSkippable
from locktender.storage.stacks.retry import retry
from locktender.storage.stacks.skip import Skipped, skip, skip_all
from locktender.testkit.database import TestDatabase
from locktender.testkit.stacks import COMMIT, StackRig, new_stack, planned

FAILED = Done(outcome=Outcome.FAILURE)


async def _skip(rig: StackRig, key: UUID) -> Row:
    return await rig.transact(lambda tx: skip(tx, key, "grace", {}))


async def _prioritize(rig: StackRig, key: UUID) -> Row:
    return await rig.transact(lambda tx: prioritize(tx, key, "grace", {}))


async def _retry(rig: StackRig, key: UUID) -> Row:
    return await rig.transact(lambda tx: retry(tx, key, "grace", request_digest=b"digest", trace={}))


async def _statuses(rig: StackRig, *keys: UUID) -> list[str]:
    return [await rig.status(key) for key in keys]


async def test_what_has_not_begun_is_skipped_with_its_run_and_the_lane_goes_on(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    pending, queued, last = await rig.deploy(), await rig.deploy(), await rig.deploy()
    await _skip(rig, queued)
    assert await _statuses(rig, pending, queued, last) == ["pending", "skipped", "queued"]
    await _skip(rig, pending)
    assert await _statuses(rig, pending, queued, last) == ["skipped", "skipped", "pending"]
    for key in (pending, queued):
        assert [run["status"] for run in await rig.runs(key)] == ["discarded"]
        assert await rig.stages(key) == [("plan_run", "skipped")]
        assert await rig.trail(key) == ["created", "skipped"]
    with pytest.raises(NotSkippable, match="is skipped"):
        await _skip(rig, queued)


async def test_what_a_runner_is_starting_is_not_skipped(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    key = await rig.deploy()
    run = await rig.open_run(key)
    assert run is not None
    await rig.transact(lambda tx: assign(tx, run["id"], runner_id=None, remote=False, assignment_seconds=60.0))
    with pytest.raises(NotSkippable, match="Cancel it instead"):
        await _skip(rig, key)
    assert [await rig.status(key), (await rig.runs(key))[0]["status"]] == ["pending", "assigned"]


async def test_skipping_all_of_a_stack_leaves_what_only_looks_and_what_runs(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    running, first, second = [await rig.deploy() for _ in range(3)]
    looking = await rig.deploy(DeploymentMode.PLAN_UNLOCKED)
    await rig.take(running)
    skipped = await rig.transact(lambda tx: skip_all(tx, rig.stack_id, "grace", {}))
    assert (set(skipped.deployments), skipped.more) == ({first, second}, False)
    assert await _statuses(rig, running, first, second, looking) == ["planning", "skipped", "skipped", "pending"]
    details = await module_db.admin.fetch(
        "select details from locktender.stack_activity where deployment_id = any($1) and kind = 'skipped'",
        [first, second],
    )
    assert [json.loads(row["details"]) for row in details] == [{"bulk": True}] * 2


async def _clear(db: TestDatabase, patterns: list[str]) -> Skipped:
    return await cancel_pending(db.database, "acme", patterns, "grace", {})


async def test_clearing_the_queue_skips_exactly_what_waits_for_a_runner(db: TestDatabase) -> None:
    rig, other = await new_stack(db), await new_stack(db, project="else")
    first, second = await rig.deploy(), await rig.deploy()
    looking, theirs = await rig.deploy(DeploymentMode.PLAN_UNLOCKED), await other.deploy()
    assert (await _clear(db, [])).deployments == ()
    assert set((await _clear(db, ["sh*"])).deployments) == {first, looking}
    assert await _statuses(rig, first, second, looking, theirs) == ["skipped", "pending", "skipped", "pending"]
    row = await rig.deployment(first)
    details = await db.admin.fetchval(
        "select details from locktender.stack_activity where deployment_id = $1 and kind = 'skipped'", first
    )
    assert (row["skipped_reason"], json.loads(details)) == (None, {"bulk": True, "source": "queue_cancel"})
    assert set((await _clear(db, ["*"])).deployments) == {second, theirs}
    assert (await _clear(db, ["*"])).deployments == ()


async def test_clearing_the_queue_never_takes_a_run_from_the_runner_that_was_faster(db: TestDatabase) -> None:
    rigs = [await new_stack(db) for _ in range(30)]
    keys = [await rig.deploy() for rig in rigs]

    async def claim(rig: StackRig, key: UUID) -> None:
        run = await rig.open_run(key)
        if run is not None:
            await take(db.database, run["id"], owner=Owner("r/1"), ttl=60, token_hash=key.bytes)

    async with asyncio.TaskGroup() as group:
        for rig, key in zip(rigs, keys, strict=True):
            group.create_task(claim(rig, key))
        cleared = group.create_task(_clear(db, ["*"]))
    gone = set(cleared.result().deployments)
    for rig, key in zip(rigs, keys, strict=True):
        ended = ["skipped", "discarded"] if key in gone else ["planning", "running"]
        assert [await rig.status(key), (await rig.runs(key))[0]["status"]] == ended


async def test_what_is_prioritized_goes_first_in_the_order_in_which_that_was_done(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    holder, a, b, c = [await rig.deploy() for _ in range(4)]
    await _prioritize(rig, c)
    at: datetime = (await _prioritize(rig, b))["prioritized_at"]
    assert (await _prioritize(rig, b))["prioritized_at"] == at
    assert await rig.trail(b) == ["created", "prioritized"]
    order: list[UUID] = []
    for key in (holder, c, b, a):
        assert (await rig.stack())["lane_holder"] == key
        await rig.plan(key, planned(changes=False))
        order.append(key)
    assert order == [holder, c, b, a]


async def test_a_priority_is_passed_to_the_run_and_to_what_follows_and_is_taken_back(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db, auto_approve="auto")
    key = await rig.deploy()
    at = (await _prioritize(rig, key))["prioritized_at"]
    assert [run["prioritized_at"] for run in await rig.runs(key)] == [at]
    await rig.plan(key)
    assert [run["prioritized_at"] for run in await rig.runs(key)] == [at, at]
    for _ in range(2):
        row = await rig.transact(lambda tx: deprioritize(tx, key, "grace", {}))
        assert (row["prioritized_at"], row["prioritized_by"]) == (None, None)
    assert [run["prioritized_at"] for run in await rig.runs(key)] == [at, None]
    assert (await rig.trail(key)).count("deprioritized") == 1
    await rig.plan(key, FAILED)
    with pytest.raises(NotPrioritizable):
        await _prioritize(rig, key)


async def test_a_retry_is_the_same_work_in_a_new_deployment(db: TestDatabase) -> None:
    rig = await new_stack(db)
    narrowing = Narrowing(targets=("a.b",))
    key = await rig.deploy(DeploymentMode.DESTROY, narrowing=narrowing)
    await _prioritize(rig, key)
    with pytest.raises(NotRetryable, match="only one that is over"):
        await _retry(rig, key)
    await rig.plan(key, FAILED)
    made = await _retry(rig, key)
    assert (made["mode"], made["origin"], made["commit_sha"], made["created_by"], made["prioritized_at"]) == (
        "destroy", "retry", COMMIT, "grace", None,
    )  # fmt: skip
    [run] = await rig.runs(made["id"])
    assert (json.loads(run["targets"]), run["status"], run["prioritized_at"]) == (["a.b"], "pending", None)
    with pytest.raises(NotRetryable, match="just now"):
        await _retry(rig, key)
    await db.advance(6)
    again = await _retry(rig, key)
    await _skip(rig, again["id"])
    await db.advance(6)
    assert (await _retry(rig, again["id"]))["origin"] == "retry"


async def test_a_retry_keeps_an_origin_that_means_something_and_the_script(db: TestDatabase) -> None:
    rig = await new_stack(db)
    key = await rig.deploy(DeploymentMode.RAW, origin=Origin.SCM)
    await rig.plan(key, FAILED)
    made = await _retry(rig, key)
    assert (made["origin"], made["raw_script"]) == ("scm", b"sealed")
    await _skip(rig, made["id"])
    await db.advance(6)

    def reseal(old: UUID, new: UUID, script: bytes) -> bytes:
        return script + b" again" if old != new else script

    again = await rig.transact(
        lambda tx: retry(tx, made["id"], "grace", request_digest=b"digest", trace={}, reseal=reseal)
    )
    assert again["raw_script"] == b"sealed again"


async def test_a_plan_of_a_working_tree_is_never_retried(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    key = await rig.deploy(DeploymentMode.PLAN_UNLOCKED, origin=Origin.LOCAL)
    await rig.plan(key)
    with pytest.raises(NotRetryable, match="working tree"):
        await _retry(rig, key)


async def test_a_newer_deployment_takes_the_place_of_those_that_wait_too_long(db: TestDatabase) -> None:
    rig = await new_stack(db, supersede_after_seconds=60)
    holder, old = await rig.deploy(), await rig.deploy()
    await db.advance(61)
    looking = await rig.deploy(DeploymentMode.PLAN_UNLOCKED)
    assert await _statuses(rig, old, looking) == ["queued", "pending"]
    young = await rig.deploy()
    assert await _statuses(rig, holder, old, young) == ["pending", "skipped", "queued"]
    await rig.deploy()
    assert await rig.status(young) == "queued"
    assert (await rig.deployment(old))["skipped_reason"] == "superseded"
    assert await rig.trail(old) == ["created"]


async def test_two_acts_in_one_transaction_are_refused(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    key = await rig.deploy()

    async def both(tx: object) -> None:
        await prioritize(tx, key, "grace", {})  # pyright: ignore[reportArgumentType]
        await deprioritize(tx, key, "grace", {})  # pyright: ignore[reportArgumentType]

    with pytest.raises(asyncpg.UniqueViolationError):
        await rig.transact(both)
    assert (await rig.deployment(key))["prioritized_at"] is None
