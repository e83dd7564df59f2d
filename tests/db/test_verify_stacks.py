"""Healthy histories of stacks are clean; each planted untruth is found, under its invariant."""

import hashlib
from uuid import UUID

import pytest

from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.outbox.relay import Relay
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.confirm import confirm_apply
from locktender.storage.stacks.stacks import delete_stack, touch_stack
from locktender.storage.stacks.states import NewState, RunClaim, write_by_run
from locktender.storage.stacks.sweeps import row_sweeps
from locktender.storage.verify import violations
from locktender.testkit.database import TestDatabase
from locktender.testkit.run_api import lose_run, take_run
from locktender.testkit.stacks import APPLIED, StackRig, binding, new_stack, planned


async def _told(db: TestDatabase) -> None:
    relay = Relay(db.database)
    await relay.published(await relay.unpublished(list(range(16)), 1000))


async def _confirm(rig: StackRig, key: UUID) -> None:
    await rig.transact(lambda tx: confirm_apply(tx, key, "ada", plan_digest=None, variables_digest=None, trace={}))


async def _write_state(rig: StackRig, key: UUID) -> UUID:
    """The pending run of a deployment is taken over, and writes the first version of the state."""
    held = await take_run(rig, key)
    claim = RunClaim(held.id, rig.stack_id, hashlib.sha256(held.token.encode()).digest(), held.lease.epoch)
    new = NewState(new_id(), 1, "one", f"states/{rig.stack_id}/1", "ab" * 32, 2)
    assert await rig.transact(lambda tx: write_by_run(tx, claim, new, None))
    return held.id


async def _healthy(db: TestDatabase) -> dict[str, str]:
    """Two stacks with one of each kind of history; the ids by what they are."""
    rig, other = await new_stack(db), await new_stack(db)
    await rig.transact(lambda tx: touch_stack(tx, rig.stack_id, {}))
    lost = await rig.deploy()
    await rig.plan(lost)
    await _confirm(rig, lost)
    await lose_run(db.database, await _write_state(rig, lost))
    refresh = await rig.deploy(DeploymentMode.REFRESH)
    seen = binding(state_lineage="one", state_serial=1)
    await rig.plan(refresh, planned().model_copy(update={"binding": seen}))
    await _confirm(rig, refresh)
    await rig.plan(refresh, APPLIED)
    skipped, waiting, queued = await rig.deploy(), await rig.deploy(), await rig.deploy()
    await rig.transact(lambda tx: request_cancel(tx, skipped, "ada", {}))
    await rig.plan(waiting)
    looking = await rig.deploy(DeploymentMode.PLAN_UNLOCKED)
    planning, behind = await other.deploy(), await other.deploy()
    run = await other.take(planning)
    ids = {
        "stack": rig.stack_id, "other": other.stack_id, "lost": lost, "refresh": refresh, "skipped": skipped,
        "waiting": waiting, "queued": queued, "looking": looking, "planning": planning, "behind": behind,
        "run": run.lease.row_id, "pending run": (await rig.runs(looking))[0]["id"],
        "state": (await rig.stack())["state_version_id"],
    }  # fmt: skip
    return {name: str(key) for name, key in ids.items()}


async def test_a_healthy_history_is_clean_and_so_is_what_the_reaper_has_resolved(db: TestDatabase) -> None:
    ids = await _healthy(db)
    assert await violations(db.database) == []
    await _told(db)
    gone = await new_stack(db)
    await gone.transact(lambda tx: delete_stack(tx, gone.stack_id, {}))
    await db.advance(StackDeadlines().startup + 1)
    for sweep in row_sweeps(StackDeadlines()):
        await sweep.run(db.database, 100, failed=lambda row, error: pytest.fail(f"{row}: {error}"))
    assert await gone.status(UUID(ids["looking"])) == "failed"
    await _told(db)
    assert await violations(db.database) == []


async def test_doubt_and_trust_are_told_without_a_gap(db: TestDatabase) -> None:
    stack = (await _healthy(db))["stack"]
    told = await db.admin.fetch(
        "select type, revision from locktender.outbox where aggregate = $1 order by revision", stack
    )
    assert [(row["type"].rpartition(".")[2], row["revision"]) for row in told] == [
        ("stack-updated", 2), ("stack-uncertain", 3), ("stack-certain", 4),
    ]  # fmt: skip


_DEPLOYMENT = "update locktender.stack_deployment set {} where id = $1::text::uuid"
_RUN = "update locktender.stack_run set {} where id = $1::text::uuid"
# Each plants one untruth about row $1; what is said may be of another one.
_PLANTED = {
    "event missing": (
        "refresh", "refresh", "I01", "missing from the record",
        "delete from locktender.stack_event where deployment_id = $1::text::uuid and revision = 3",
    ),
    "moved without an event": (
        "lost", "lost", "I01", "differ", _DEPLOYMENT.format("status = 'cancelled'"),
    ),
    "event without a move": (
        "queued", "queued", "I01", "ahead of the deployment",
        ("insert into locktender.stack_event select deployment_id, 2, 'promoted', status, actor, message, payload"
         " from locktender.stack_event where deployment_id = $1::text::uuid"),
    ),
    "event after the end": (
        "refresh", "refresh", "I04", "after the end",
        "update locktender.stack_event set status = 'finished' where deployment_id = $1::text::uuid and revision = 3",
    ),
    "event never told": (
        "refresh", "refresh", "I01", "no outbox row",
        "delete from locktender.outbox where aggregate = $1 and revision = 2",
    ),
    "told but not recorded": (
        "queued", "queued", "I01", "told that is not recorded",
        "update locktender.outbox set revision = 9 where aggregate = $1 and revision = 1",
    ),
    "change of a stack not told": (
        "stack", "stack", "I01", "change of the stack was not told",
        "delete from locktender.outbox where aggregate = $1 and revision = 3",
    ),
    "latest change of a stack not told": (
        "stack", "stack", "I01", "latest change",
        "update locktender.stack set revision = 9, updated_at = now() where id = $1::text::uuid",
    ),
    "holder that has ended": (
        "skipped", "stack", "I05", "does not work",
        ("update locktender.stack set lane_holder = $1::text::uuid"
         " where id = (select stack_id from locktender.stack_deployment where id = $1::text::uuid)"),
    ),
    "free lane with an heir": (
        "other", "other", "I05", "waits for it",
        "update locktender.stack set lane_holder = null, lane_taken_at = null where id = $1::text::uuid",
    ),
    "two at work": ("behind", "behind", "I05", "without the lane", _DEPLOYMENT.format("status = 'pending'")),
    "different stories": ("run", "planning", "I05", "different stories", _RUN.format("status = 'cancelling'")),
    "run of what has ended": (
        "planning", "run", "I05", "has ended",
        _DEPLOYMENT.format("status = 'cancelled', completed_at = now()"),
    ),
    "state of nobody": (
        "state", "state", "I03", "never had", "update locktender.stack_state set epoch = 7 where id = $1::text::uuid"
    ),
    "dead holder of a run": (
        "run", "run", "I06", "lease of the run", _RUN.format("lease_expires_at = now() - interval '5 min'")
    ),
    "promise nobody kept": (
        "pending run", "pending run", "I06", "promised",
        _RUN.format("status = 'assigned', assigned_expires_at = now() - interval '5 min'"),
    ),
    "nobody takes it": (
        "pending run", "pending run", "I06", "in time", _RUN.format("first_pending_at = now() - interval '3 days'")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _PLANTED)
async def test_a_planted_untruth_is_found(module_db: TestDatabase, name: str) -> None:
    which, told_of, invariant, words, sql = _PLANTED[name]
    ids = await _healthy(module_db)
    await _told(module_db)
    known = {(each.invariant, each.subject) for each in await violations(module_db.database)}
    async with module_db.unguarded() as superuser:
        await superuser.execute(sql, ids[which])
    found = [each for each in await violations(module_db.database) if (each.invariant, each.subject) not in known]
    assert [
        each for each in found if (each.invariant, each.subject) == (invariant, ids[told_of]) and words in each.message
    ], found
    assert {each.subject for each in found} <= set(ids.values())
