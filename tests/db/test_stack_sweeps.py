"""What time does to the work of stacks: each verdict falls when it is due, once, and frees the lane."""

import json
from uuid import UUID

import asyncpg
import pytest
from pydantic import ValidationError

from locktender.contracts.kernel.subjects import run_command
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.kernel.database import Transaction
from locktender.storage.stacks.assign import AcceptedRun, assign
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.confirm import confirm_apply
from locktender.storage.stacks.groups import create_group
from locktender.storage.stacks.reconcile import reconcilers
from locktender.storage.stacks.remote import poll
from locktender.storage.stacks.sweeping import RowSweep
from locktender.storage.stacks.sweeps import forget_runners, hint_runs, row_sweeps
from locktender.testkit.database import TestDatabase
from locktender.testkit.stacks import StackRig, new_stack

DEADLINES = StackDeadlines()


def _unexpected(row: UUID, error: Exception) -> None:
    raise AssertionError(row) from error


def test_an_engine_has_at_least_half_of_its_time_before_it_is_asked_to_stop() -> None:
    assert StackDeadlines(run_ttl=100, run_grace=50).run_deadline == 50
    with pytest.raises(ValidationError, match="at most half"):
        StackDeadlines(run_ttl=100, run_grace=51)


async def _pass(db: TestDatabase) -> dict[str, int]:
    """One pass of the verdicts; and nothing they leave is a defect."""
    found = {}
    for sweep in row_sweeps(DEADLINES):
        found[sweep.name] = len(await sweep.run(db.database, 100, failed=_unexpected))
    for sweep in reconcilers():
        assert await sweep.run(db.database, 100, failed=_unexpected) == []
    return {name: count for name, count in found.items() if count}


async def _assign(rig: StackRig, key: UUID) -> None:
    run = await rig.open_run(key)
    assert run is not None
    await rig.transact(
        lambda tx: assign(tx, run["id"], runner_id=None, remote=False, assignment_seconds=DEADLINES.assignment)
    )


async def _taken_apply(rig: StackRig) -> tuple[UUID, AcceptedRun]:
    key = await rig.deploy()
    await rig.plan(key)
    await rig.transact(lambda tx: confirm_apply(tx, key, "a", plan_digest=None, variables_digest=None, trace={}))
    return key, await rig.take(key)


async def test_a_promise_that_lapsed_frees_the_run_and_the_cap_ends_it(db: TestDatabase) -> None:
    rig = await new_stack(db)
    key, behind = await rig.deploy(), await rig.deploy()
    for attempt in range(1, DEADLINES.max_assignment_attempts):
        await _assign(rig, key)
        await db.advance(DEADLINES.assignment - 1)
        assert await _pass(db) == {}
        await db.advance(1)
        assert await _pass(db) == {"assignment-lapsed": 1}
        [run] = await rig.runs(key)
        assert (run["status"], run["assignment_attempts"], run["assigned_runner_id"]) == ("pending", attempt, None)
    assert (await rig.events(key))[-1] == "run-changed"
    await _assign(rig, key)
    await db.advance(DEADLINES.assignment)
    assert await _pass(db) == {"assignment-lapsed": 1}
    assert [await rig.status(key), await rig.status(behind)] == ["failed", "pending"]
    assert (await rig.runs(key))[0]["status"] == "startup_timeout"
    assert await _pass(db) == {}


async def test_waiting_for_a_runner_never_counts_as_an_attempt_but_ends_some_day(db: TestDatabase) -> None:
    rig = await new_stack(db)
    key = await rig.deploy()
    first = (await rig.runs(key))[0]["first_pending_at"]
    await _assign(rig, key)
    await db.advance(DEADLINES.assignment)
    await _pass(db)
    [run] = await rig.runs(key)
    assert (run["first_pending_at"], run["assignment_attempts"]) == (first, 1)
    await db.advance(DEADLINES.startup - DEADLINES.assignment - 10)
    assert await _pass(db) == {}
    await db.advance(11)
    assert await _pass(db) == {"run-never-started": 1}
    assert json.loads((await rig.deployment(key))["failure"])["reason"] == "startup-timeout"


async def test_a_confirmed_apply_that_no_runner_takes_fails_and_leaves_no_doubt(db: TestDatabase) -> None:
    rig = await new_stack(db)
    key = await rig.deploy()
    await rig.plan(key)
    await rig.transact(lambda tx: confirm_apply(tx, key, "a", plan_digest=None, variables_digest=None, trace={}))
    await db.advance(DEADLINES.startup + 1)
    assert await _pass(db) == {"run-never-started": 1}
    assert [await rig.status(key), (await rig.stack())["uncertain_since"]] == ["failed", None]


async def test_a_lost_plan_fails_and_a_lost_apply_leaves_its_stack_uncertain(db: TestDatabase) -> None:
    planning, applying = await new_stack(db), await new_stack(db)
    plan = await planning.deploy()
    await planning.take(plan)
    apply, run = await _taken_apply(applying)
    behind = await applying.deploy()
    await db.advance(59)
    assert await _pass(db) == {}
    await db.advance(2)
    assert await _pass(db) == {"run-lost": 2}
    assert [await planning.status(plan), (await planning.stack())["uncertain_since"]] == ["failed", None]
    assert [await applying.status(apply), await applying.status(behind)] == ["failed", "pending"]
    assert (await applying.stack())["uncertain_run_id"] == run.lease.row_id
    assert json.loads((await applying.deployment(apply))["failure"])["reason"] == "lost"
    assert (await applying.runs(apply))[-1]["status"] == "timed_out"


async def test_a_runner_that_falls_silent_after_a_cancel_never_keeps_the_lane(db: TestDatabase) -> None:
    rig = await new_stack(db)
    key, behind = await rig.deploy(), await rig.deploy()
    await rig.take(key)
    await rig.transact(lambda tx: request_cancel(tx, key, "grace", {}))
    await db.advance(61)
    assert await _pass(db) == {"run-lost": 1}
    assert [await rig.status(key), await rig.status(behind)] == ["failed", "pending"]


async def test_a_plan_that_nobody_confirms_is_skipped_where_the_stack_says_so(db: TestDatabase) -> None:
    patient, strict = await new_stack(db), await new_stack(db, confirmation_timeout_seconds=100)
    kept, key, behind = await patient.deploy(), await strict.deploy(), await strict.deploy()
    await patient.plan(kept)
    await db.advance(50)
    await strict.plan(key)
    await db.advance(99)
    assert await _pass(db) == {}
    await db.advance(1)
    assert await _pass(db) == {"confirmation-timeout": 1}
    assert [await strict.status(key), await strict.status(behind), await patient.status(kept)] == [
        "skipped", "pending", "waiting",
    ]  # fmt: skip
    assert [(await strict.deployment(key))["skipped_reason"], await strict.trail(key)] == [
        "confirmation_timeout", ["created"],
    ]  # fmt: skip


async def test_what_waits_in_the_queue_for_too_long_is_skipped_and_nothing_else(db: TestDatabase) -> None:
    rig = await new_stack(db, queued_timeout_seconds=100)
    pending, queued = await rig.deploy(), await rig.deploy()
    looking = await rig.deploy(DeploymentMode.PLAN_UNLOCKED)
    await db.advance(101)
    assert await _pass(db) == {"queued-timeout": 1}
    assert [await rig.status(key) for key in (pending, queued, looking)] == ["pending", "skipped", "pending"]
    assert (await rig.deployment(queued))["skipped_reason"] == "queued_timeout"


async def test_a_hint_goes_out_again_for_exactly_the_runs_that_wait(db: TestDatabase) -> None:
    rig, busy = await new_stack(db), await new_stack(db)
    await rig.deploy()
    await rig.deploy()
    await busy.take(await busy.deploy())
    [run] = await db.admin.fetch("select id from locktender.stack_run where status = 'pending'")
    await (await new_stack(db, runner_group="remote")).deploy()
    known = await db.admin.fetchval("select max(seq) from locktender.outbox")
    assert await hint_runs(db.database, 100, DEADLINES.hint) == []
    await db.advance(DEADLINES.hint + 1)
    assert await hint_runs(db.database, 100, DEADLINES.hint) == [run["id"]]
    told = await db.admin.fetch("select subject, data->>'id' as id from locktender.outbox where seq > $1", known)
    assert [tuple(row) for row in told] == [(run_command("default"), str(run["id"]))]
    assert await hint_runs(db.database, 100, DEADLINES.hint) == []


async def test_runners_without_work_are_forgotten_and_others_kept(db: TestDatabase) -> None:
    of = await db.database.transact(
        lambda tx: create_group(tx, "acme", "pool", labels=[], capacity=5, token_hash=b"t", actor="ada")
    )
    rig = await new_stack(db, runner_group="pool")
    key = await rig.deploy()

    async def offer(tx: Transaction) -> object:
        return await poll(tx, of, name="box", labels=[], assignment_hash=b"p", assignment_seconds=1000.0)

    await db.database.transact(offer)
    await db.advance(DEADLINES.assignment + 1)
    assert await forget_runners(db.database, 100, DEADLINES.assignment) == []
    await rig.transact(lambda tx: request_cancel(tx, key, "grace", {}))
    assert len(await forget_runners(db.database, 100, DEADLINES.assignment)) == 1


async def test_a_row_that_cannot_be_mended_or_is_worked_on_keeps_no_other_from_its_turn(db: TestDatabase) -> None:
    rigs = [await new_stack(db) for _ in range(4)]
    keys = [await rig.deploy() for rig in rigs]
    for rig, key in zip(rigs, keys, strict=True):
        await rig.take(key)
    # The oldest is broken in a way that nobody thought of: its deployment is over, so nothing can follow from it.
    async with db.unguarded() as superuser:
        await superuser.execute(
            "update locktender.stack_deployment set status = 'finished', completed_at = now() where id = $1", keys[0]
        )
    await db.advance(61)
    lost = next(sweep for sweep in row_sweeps(DEADLINES) if sweep.name == "run-lost")
    failed: list[UUID] = []
    other = await asyncpg.connect(db.dsn)
    try:
        async with other.transaction():
            await other.execute("select from locktender.stack where id = $1 for update", rigs[1].stack_id)
            mended = await _quietly(lost, db, failed)
    finally:
        await other.close()
    assert mended == {rigs[2].stack_id, rigs[3].stack_id}
    assert set(failed) == {(await rigs[0].runs(keys[0]))[0]["id"]}
    assert await _quietly(lost, db, failed) == {rigs[1].stack_id}


async def _quietly(sweep: RowSweep, db: TestDatabase, failed: list[UUID]) -> set[UUID]:
    """A run with the smallest of batches: the stacks whose rows it mended."""
    found: set[UUID] = set()
    while swept := await sweep.run(db.database, 1, failed=lambda row, _: failed.append(row)):
        found |= {each.stack_id for each in swept}
    return found
