"""What can only be broken with psql or by a fault of ours is found, mended and said."""

from itertools import product
from uuid import UUID

import pytest

from locktender.contracts.stacks.flow import STACK_DEPLOYMENT, STACK_RUN, DeploymentStatus, RunStatus
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.stacks.agree import AGREES
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.confirm import confirm_skip
from locktender.storage.stacks.reconcile import reconcilers
from locktender.storage.stacks.sweeping import Mended
from locktender.testkit.database import TestDatabase
from locktender.testkit.stacks import StackRig, new_stack

_TURNS = 6


def _unexpected(row: UUID, error: Exception) -> None:
    raise AssertionError(row) from error


async def _pass(db: TestDatabase) -> dict[str, list[Mended]]:
    found = {}
    for sweep in reconcilers():
        assert sweep.defect
        found[sweep.name] = await sweep.run(db.database, 100, failed=_unexpected)
    return {name: rows for name, rows in found.items() if rows}


async def _break(db: TestDatabase, sql: str, *arguments: object) -> None:
    async with db.unguarded() as superuser:
        await superuser.execute(sql, *arguments)


async def _consistent(db: TestDatabase) -> None:
    """Repairs end, and then nothing is left to repair."""
    for _ in range(_TURNS):
        if not await _pass(db):
            return
    raise AssertionError("repairs do not come to an end")


async def test_a_free_lane_with_an_heir_is_given_to_it(db: TestDatabase) -> None:
    rig = await new_stack(db)
    holder, heir = await rig.deploy(), await rig.deploy()
    await rig.transact(lambda tx: request_cancel(tx, holder, "a", {}))
    await _break(db, "update locktender.stack set lane_holder = null, lane_taken_at = null")
    await _break(db, "update locktender.stack_deployment set status = 'queued' where id = $1", heir)
    await _break(db, "update locktender.stack_run set status = 'queued' where deployment_id = $1", heir)
    found = await _pass(db)
    assert list(found) == ["lane-stuck"]
    assert found["lane-stuck"][0].facts["holder"] is None
    assert [(await rig.stack())["lane_holder"], await rig.status(heir)] == [heir, "pending"]
    assert await _pass(db) == {}


async def test_a_lane_held_by_what_is_over_is_freed(db: TestDatabase) -> None:
    rig = await new_stack(db)
    over, heir = await rig.deploy(), await rig.deploy()
    await _break(
        db, "update locktender.stack_deployment set status = 'cancelled', completed_at = now() where id = $1", over
    )
    found = await _pass(db)
    assert list(found) == ["run-orphaned"]
    assert [(await rig.stack())["lane_holder"], await rig.status(heir)] == [heir, "pending"]
    assert [run["status"] for run in await rig.runs(over)] == ["discarded"]
    await _consistent(db)


async def test_a_run_that_works_for_a_deployment_that_is_over_is_fenced_and_its_stack_doubted(
    db: TestDatabase,
) -> None:
    rig = await new_stack(db)
    key = await rig.deploy(DeploymentMode.RAW)
    taken = await rig.take(key)
    await _break(
        db, "update locktender.stack_deployment set status = 'cancelled', completed_at = now() where id = $1", key
    )
    assert "run-orphaned" in await _pass(db)
    [run] = await rig.runs(key)
    assert (run["status"], run["lease_epoch"]) == ("timed_out", taken.lease.epoch + 1)
    assert (await rig.stack())["uncertain_run_id"] == run["id"]
    await _consistent(db)


_FIELDS = (
    "latest_deployment_id = gen_random_uuid()", "latest_deployment_number = 99", "latest_deployment_mode = 'raw'",
    "latest_deployment_status = 'finished'", "latest_deployment_created_at = now() - interval '1 day'",
    "latest_deployment_completed_at = now()",
)  # fmt: skip


async def test_each_of_the_six_fields_of_a_summary_is_compared(db: TestDatabase) -> None:
    await (await new_stack(db)).deploy()
    rigs = [await new_stack(db) for _ in _FIELDS]
    before: list[dict[str, object]] = []
    for rig, field in zip(rigs, _FIELDS, strict=True):
        await rig.deploy()
        before.append(dict(await rig.stack()))
        await _break(db, f"update locktender.stack set {field} where id = $1", rig.stack_id)  # noqa: S608 - from above
    found = await _pass(db)
    assert list(found) == ["summary-outdated"]
    assert {mended.stack_id for mended in found["summary-outdated"]} == {rig.stack_id for rig in rigs}
    assert [dict(await rig.stack()) for rig in rigs] == before
    assert await _pass(db) == {}


async def test_a_looking_plan_that_was_never_started_is_started(db: TestDatabase) -> None:
    rig = await new_stack(db)
    key = await rig.deploy(DeploymentMode.PLAN_UNLOCKED)
    await _break(db, "update locktender.stack_deployment set status = 'queued' where id = $1", key)
    await _break(db, "update locktender.stack_run set status = 'queued' where deployment_id = $1", key)
    assert set(await _pass(db)) == {"looking-not-started"}
    assert [await rig.status(key), (await rig.runs(key))[0]["status"]] == ["pending", "pending"]


async def test_a_wait_that_nobody_could_end_gets_its_confirmation_back(db: TestDatabase) -> None:
    rig = await new_stack(db)
    key = await rig.deploy()
    await rig.plan(key)
    await _break(db, "update locktender.stack_stage set status = 'done', completed_at = now()")
    assert set(await _pass(db)) == {"deployment-disagrees"}
    await rig.transact(lambda tx: confirm_skip(tx, key, "a", {}))
    assert await rig.status(key) == "skipped"


_PAIRS = [
    (deployment, run)
    for deployment, run in product(STACK_DEPLOYMENT.active, [*STACK_RUN.active, None])
    if run not in AGREES.get(deployment, frozenset({None}))
]


@pytest.mark.parametrize("mode", [DeploymentMode.PLAN, DeploymentMode.RAW])
async def test_a_deployment_and_a_run_that_disagree_come_to_one_story(db: TestDatabase, mode: DeploymentMode) -> None:
    rigs: dict[UUID, tuple[StackRig, DeploymentStatus, RunStatus | None]] = {}
    for deployment, run in _PAIRS:
        rig = await new_stack(db)
        key = await rig.deploy(mode)
        await _plant(db, key, deployment, run)
        rigs[key] = (rig, deployment, run)
    first = await _pass(db)
    assert first
    await _consistent(db)
    for key, (rig, deployment, _) in rigs.items():
        status = await rig.status(key)
        if deployment in {DeploymentStatus.REQUESTED_CANCELLATION, DeploymentStatus.CANCELLING}:
            assert status in {"cancelled", "failed", "requested_cancellation", "cancelling"}
        opened = await rig.open_run(key)
        assert (status in STACK_DEPLOYMENT.terminal) <= (opened is None)
        holder = (await rig.stack())["lane_holder"]
        assert (holder == key) is (status not in STACK_DEPLOYMENT.terminal)


async def _plant(db: TestDatabase, key: UUID, deployment: DeploymentStatus, run: RunStatus | None) -> None:
    waiting = "now()" if deployment is DeploymentStatus.WAITING else "null"
    await _break(
        db,
        f"update locktender.stack_deployment set status = $2, waiting_since = {waiting} where id = $1",  # noqa: S608 - ours
        key, deployment.value,
    )  # fmt: skip
    leased, ended = run in STACK_RUN.leased, run is None
    await _break(
        db,
        "update locktender.stack_run set status = $2, lease_owner = $3, lease_seconds = $4,"
        " lease_expires_at = case when $3::text is null then null else now() + interval '1 hour' end,"
        " assigned_expires_at = now() + interval '1 hour', completed_at = case when $5 then now() end,"
        " failure = case when $5 then '{}'::jsonb end"
        " where deployment_id = $1 and status not in ('success')",
        key, "failure" if run is None else run.value, "r/1" if leased else None, 60 if leased else None, ended,
    )  # fmt: skip
