"""The reaper's passes over stacks: verdicts are said, repairs are errors in the log, one bad row stops nothing."""

from structlog.testing import capture_logs

from locktender.contracts.kernel.faults import NO_FAULTS
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.reaper.clock_guard import ClockGuard
from locktender.reaper.reaper import Pass, Reaper
from locktender.reaper.stack_sweeps import stack_sweeps
from locktender.testkit.clock import FakeClock
from locktender.testkit.database import TestDatabase
from locktender.testkit.stacks import StackRig, new_stack

_RECONCILE = 60.0


def _reaper(db: TestDatabase, clock: FakeClock) -> Reaper:
    sweeps = stack_sweeps(db.database, StackDeadlines(), clock, limit=50, hints=50, reconcile=_RECONCILE)
    guard = ClockGuard(tolerance=1e9, hold=1.0)
    return Reaper(sweeps, guard, db.now, clock, NO_FAULTS, moved=lambda: None, healthy_seconds=30)


async def _outdate(db: TestDatabase, rig: StackRig) -> None:
    async with db.unguarded() as superuser:
        await superuser.execute("update locktender.stack set latest_deployment_number = 9 where id = $1", rig.stack_id)


async def test_a_repair_is_an_error_in_the_log_with_what_was_wrong(db: TestDatabase) -> None:
    rig, clock = await new_stack(db), FakeClock()
    reaper = _reaper(db, clock)
    await rig.deploy()
    await _outdate(db, rig)
    with capture_logs() as logs:
        assert await reaper.sweep() == Pass(moved={"summary-outdated": 1})
    [said] = [entry for entry in logs if entry["log_level"] == "error"]
    assert (said["event"], said["defect"], said["stack"]) == (
        "a defect was repaired", "summary-outdated", str(rig.stack_id),
    )  # fmt: skip
    assert said["latest_deployment_number"] == "9"


async def test_everything_is_compared_now_and_then_and_not_in_every_pass(db: TestDatabase) -> None:
    rig, clock = await new_stack(db), FakeClock()
    reaper = _reaper(db, clock)
    await rig.deploy()
    await reaper.sweep()
    await _outdate(db, rig)
    clock.advance(_RECONCILE - 1)
    assert (await reaper.sweep()).moved == {}
    clock.advance(1)
    assert (await reaper.sweep()).moved == {"summary-outdated": 1}


async def test_a_verdict_names_its_run_its_stack_and_its_deployment(db: TestDatabase) -> None:
    rig = await new_stack(db)
    key = await rig.deploy()
    taken = await rig.take(key)
    await db.advance(61)
    with capture_logs() as logs:
        assert (await _reaper(db, FakeClock()).sweep()).moved == {"run-lost": 1}
    [said] = [entry for entry in logs if entry["event"] == "verdict"]
    assert (said["reason"], said["row"], said["stack"], said["deployment"]) == (
        "run-lost", str(taken.lease.row_id), str(rig.stack_id), str(key),
    )  # fmt: skip


async def test_a_row_that_cannot_be_swept_is_said_and_the_pass_is_complete(db: TestDatabase) -> None:
    broken, well = await new_stack(db), await new_stack(db)
    over, key = await broken.deploy(), await well.deploy()
    await broken.take(over)
    await well.take(key)
    async with db.unguarded() as superuser:
        await superuser.execute(
            "update locktender.stack_deployment set status = 'finished', completed_at = now() where id = $1", over
        )
    await db.advance(61)
    with capture_logs() as logs:
        done = await _reaper(db, FakeClock()).sweep()
    assert (done.moved["run-lost"], done.failed, await well.status(key)) == (1, {}, "failed")
    assert "a row could not be swept" in [entry["event"] for entry in logs]
    # What is over is no run's any more, which is another sweep's to find.
    assert done.moved["run-orphaned"] == 1
