"""A confirmation applies exactly what was seen, or nothing; a replan loops; a skip gives the lane on."""

import json
from typing import Any
from uuid import UUID

import pytest

from locktender.contracts.kernel.errors import NotFound, Rejected
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.contracts.stacks.wire import Done, Narrowing, Outcome
from locktender.storage.kernel.database import Row
from locktender.storage.stacks.confirm import confirm_apply, confirm_replan, confirm_skip
from locktender.storage.stacks.refusals import NotConfirmable, StackUncertain, StalePlan
from locktender.testkit.database import TestDatabase
from locktender.testkit.stacks import APPLIED, StackRig, binding, new_stack, planned

DIGEST = "ab" * 32


async def _apply(rig: StackRig, key: UUID, **given: Any) -> Row:
    seen = {"plan_digest": DIGEST, "variables_digest": "cd" * 32} | given
    return await rig.transact(lambda tx: confirm_apply(tx, key, "grace", trace={}, **seen))


async def _replan(rig: StackRig, key: UUID, narrowing: Narrowing) -> Row:
    return await rig.transact(lambda tx: confirm_replan(tx, key, "grace", narrowing=narrowing, trace={}))


async def _waiting(db: TestDatabase, mode: DeploymentMode = DeploymentMode.PLAN) -> tuple[StackRig, UUID]:
    rig = await new_stack(db)
    key = await rig.deploy(mode)
    await rig.plan(key)
    assert await rig.status(key) == "waiting"
    return rig, key


@pytest.mark.parametrize("mode", ["plan", "destroy", "refresh"])
async def test_a_confirmed_deployment_is_applying_at_once_while_its_run_waits_for_a_runner(
    module_db: TestDatabase, mode: str
) -> None:
    rig, key = await _waiting(module_db, DeploymentMode(mode))
    behind = await rig.deploy()
    assert (await _apply(rig, key))["status"] == "applying"
    plan, run = await rig.runs(key)
    assert (run["mode"], run["status"], run["plan_run_id"]) == ("apply", "pending", plan["id"])
    assert await rig.stages(key) == [(f"{mode}_run", "done"), ("confirmation", "done"), ("apply_run", "running")]
    assert await rig.trail(key) == ["created", "confirmed_apply"]
    assert [(await rig.stack())["lane_holder"], await rig.status(behind)] == [key, "queued"]
    await rig.plan(key, APPLIED)
    assert [await rig.status(key), await rig.status(behind)] == ["finished", "pending"]


async def test_the_act_of_a_confirmation_names_its_stage(module_db: TestDatabase) -> None:
    rig, key = await _waiting(module_db)
    await _apply(rig, key)
    named = await module_db.admin.fetchval(
        "select g.kind from locktender.stack_activity a join locktender.stack_stage g on g.id = a.stage_id"
        " where a.deployment_id = $1 and a.actor = 'grace'",
        key,
    )
    assert named == "confirmation"


async def test_a_plan_is_confirmed_once(module_db: TestDatabase) -> None:
    rig, key = await _waiting(module_db)
    await _apply(rig, key)
    with pytest.raises(NotConfirmable, match="is applying"):
        await _apply(rig, key)
    with pytest.raises(NotFound):
        await _apply(rig, new_id())


_CHANGED = {
    "seen another plan": ({"plan_digest": "00" * 32}, "", "not the latest plan"),
    "variables": ({"variables_digest": "00" * 32}, "", "variables of the stack have changed"),
    "a first state": ({}, "state_version_id = gen_random_uuid(), state_serial = 1, state_lineage = 'l'", "replaced"),
}


@pytest.mark.parametrize("what", _CHANGED)
async def test_a_confirmation_of_what_is_no_longer_true_is_refused_with_the_reason(
    module_db: TestDatabase, what: str
) -> None:
    given, change, said = _CHANGED[what]
    rig, key = await _waiting(module_db)
    if change:
        await module_db.admin.execute(f"update locktender.stack set {change} where id = $1", rig.stack_id)  # noqa: S608 - from above
    with pytest.raises(StalePlan, match=said):
        await _apply(rig, key, **given)
    assert [await rig.status(key), await rig.trail(key)] == ["waiting", ["created"]]


async def test_a_newer_serial_of_the_same_state_makes_a_plan_stale(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    await module_db.admin.execute(
        "update locktender.stack set state_version_id = gen_random_uuid(), state_serial = 4, state_lineage = 'l'"
        " where id = $1",
        rig.stack_id,
    )
    key = await rig.deploy()
    bound = binding(state_lineage="l", state_serial=4)
    await rig.plan(key, planned().model_copy(update={"binding": bound}))
    await module_db.admin.execute("update locktender.stack set state_serial = 5 where id = $1", rig.stack_id)
    with pytest.raises(StalePlan, match="state has changed"):
        await _apply(rig, key)
    await module_db.admin.execute("update locktender.stack set state_serial = 4 where id = $1", rig.stack_id)
    assert (await _apply(rig, key))["status"] == "applying"


async def test_what_was_not_seen_is_not_compared(module_db: TestDatabase) -> None:
    rig, key = await _waiting(module_db)
    assert (await _apply(rig, key, plan_digest=None, variables_digest=None))["status"] == "applying"


async def test_a_plan_without_a_stored_file_is_not_confirmable(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db)
    key = await rig.deploy()
    await rig.plan(key, Done(outcome=Outcome.SUCCESS, has_changes=True))
    with pytest.raises(NotConfirmable, match="Plan again"):
        await _apply(rig, key)


async def test_an_uncertain_stack_applies_a_refresh_alone_and_is_certain_after_it(module_db: TestDatabase) -> None:
    rig, key = await _waiting(module_db)
    await module_db.admin.execute(
        "update locktender.stack set uncertain_since = now(), uncertain_run_id = gen_random_uuid() where id = $1",
        rig.stack_id,
    )
    with pytest.raises(StackUncertain):
        await _apply(rig, key)
    refresh = await rig.deploy(DeploymentMode.REFRESH)
    await rig.transact(lambda tx: confirm_skip(tx, key, "grace", {}))
    await rig.plan(refresh)
    await _apply(rig, refresh)
    await rig.plan(refresh, APPLIED)
    assert (await rig.stack())["uncertain_since"] is None


@pytest.mark.parametrize("mode", ["plan", "destroy", "refresh"])
async def test_a_replan_runs_the_same_kind_again_narrowed(module_db: TestDatabase, mode: str) -> None:
    rig, key = await _waiting(module_db, DeploymentMode(mode))
    replanned = await _replan(rig, key, Narrowing(targets=("a.b",), replaces=("c.d",)))
    assert replanned["status"] == "pending"
    run = (await rig.runs(key))[-1]
    assert (run["mode"], run["status"], json.loads(run["targets"])) == (mode, "pending", ["a.b"])
    details = await module_db.admin.fetchval(
        "select details from locktender.stack_activity where deployment_id = $1 and kind = 'confirmed_replan'", key
    )
    assert json.loads(details) == {"targets": ["a.b"], "replaces": ["c.d"]}
    await rig.plan(key)
    assert await rig.stages(key) == [
        (f"{mode}_run", "done"), ("confirmation", "done"), (f"{mode}_run", "done"), ("confirmation", "running"),
    ]  # fmt: skip
    await _apply(rig, key)
    assert (await rig.runs(key))[-1]["plan_run_id"] == run["id"]


@pytest.mark.parametrize("narrowing", [Narrowing(), Narrowing(targets=("a.b",), excludes=("c.d",))])
async def test_a_replan_of_nothing_or_of_both_is_refused(module_db: TestDatabase, narrowing: Narrowing) -> None:
    rig, key = await _waiting(module_db)
    with pytest.raises(Rejected):
        await _replan(rig, key, narrowing)
    assert await rig.status(key) == "waiting"


async def test_a_skipped_plan_gives_the_lane_on(module_db: TestDatabase) -> None:
    rig, key = await _waiting(module_db)
    behind = await rig.deploy()
    assert (await rig.transact(lambda tx: confirm_skip(tx, key, "grace", {})))["skipped_reason"] is None
    assert [await rig.status(key), await rig.status(behind)] == ["skipped", "pending"]
    assert await rig.stages(key) == [("plan_run", "done"), ("confirmation", "skipped")]
    assert await rig.trail(key) == ["created", "confirmed_skip"]
    with pytest.raises(NotConfirmable):
        await rig.transact(lambda tx: confirm_skip(tx, key, "grace", {}))


_UNMEASURED = [{"reason": "analysis_failed"}]
_APPROVALS = {
    "auto, measured": ("auto", {"create": 1}, False, "applying", {"mode": "auto", "destroy": 0, "replace": 0}),
    "auto, destructive": ("auto", {"delete": 2}, False, "applying", {"mode": "auto", "destroy": 2, "replace": 0}),
    "auto, unmeasured": ("auto", {}, True, "applying", {"mode": "auto", "blind": True}),
    "careful, measured": (
        "non_destructive", {"update": 1}, False, "applying", {"mode": "non_destructive", "destroy": 0, "replace": 0},
    ),
    "careful, destructive": (
        "non_destructive", {"replace": 1}, False, "waiting", {"mode": "non_destructive", "reason": "destructive"},
    ),
    "careful, unmeasured": (
        "non_destructive", {}, True, "waiting", {"mode": "non_destructive", "reason": "incomplete"},
    ),
    "manual": ("manual", {"create": 1}, False, "waiting", None),
}  # fmt: skip


@pytest.mark.parametrize("case", _APPROVALS)
async def test_automatic_approval_does_what_the_table_says_and_records_it(module_db: TestDatabase, case: str) -> None:
    mode, counts, unmeasured, status, details = _APPROVALS[case]
    rig = await new_stack(module_db, auto_approve=mode)
    key = await rig.deploy()
    done = planned(**counts)
    if unmeasured:
        assert done.summary is not None
        told = done.summary.model_dump() | {"gaps": _UNMEASURED}
        done = done.model_copy(update={"summary": type(done.summary).model_validate(told)})
    await rig.plan(key, done)
    assert await rig.status(key) == status
    row = await module_db.admin.fetchrow(
        "select actor, stage_id, details from locktender.stack_activity where deployment_id = $1 and kind like 'auto%'",
        key,
    )
    assert (None if row is None else (row["actor"], row["stage_id"], json.loads(row["details"]))) == (
        None if details is None else (None, None, details)
    )


async def test_an_uncertain_stack_never_approves_by_itself(module_db: TestDatabase) -> None:
    rig = await new_stack(module_db, auto_approve="auto")
    await module_db.admin.execute(
        "update locktender.stack set uncertain_since = now(), uncertain_run_id = gen_random_uuid() where id = $1",
        rig.stack_id,
    )
    key = await rig.deploy()
    await rig.plan(key)
    assert [await rig.status(key), await rig.trail(key)] == ["waiting", ["created", "auto_approve_suppressed"]]
