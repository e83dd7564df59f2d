"""What each service does to stacks it can do with its own role, and the runner service cannot do more."""

from uuid import UUID

import asyncpg
import pytest

from locktender.contracts.stacks.patience import StackDeadlines
from locktender.storage.roles import apply_roles
from locktender.storage.stacks.assign import claimed, renew
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.lane import advance
from locktender.storage.stacks.reconcile import reconcilers
from locktender.storage.stacks.sweeps import forget_runners, hint_runs, row_sweeps
from locktender.testkit.database import TestDatabase
from locktender.testkit.identities import PASSWORDS, acting_as
from locktender.testkit.stacks import RUNNER, StackRig, new_stack, planned


@pytest.fixture(autouse=True)
async def _roles(db: TestDatabase) -> None:
    await apply_roles(db.dsn, PASSWORDS)


def _unexpected(row: UUID, error: Exception) -> None:
    raise AssertionError(row) from error


async def test_the_reaper_ends_hints_forgets_and_mends(db: TestDatabase) -> None:
    lost, pending = await new_stack(db), await new_stack(db)
    key, waiting = await lost.deploy(), await pending.deploy()
    await lost.take(key)
    await lost.deploy()
    async with db.unguarded() as superuser:
        await superuser.execute(
            "update locktender.stack set latest_deployment_number = 9 where id = $1", pending.stack_id
        )
    await db.advance(StackDeadlines().startup + 1)
    async with acting_as(db, "reaper") as reaper:
        assert await hint_runs(reaper.database, 100, 10) == [(await pending.runs(waiting))[0]["id"]]
        swept = {
            sweep.name: len(await sweep.run(reaper.database, 100, failed=_unexpected))
            for sweep in (*row_sweeps(StackDeadlines()), *reconcilers())
        }
        assert await forget_runners(reaper.database, 100, 10) == []
    assert (swept["run-lost"], swept["run-never-started"]) == (1, 1)
    assert [await lost.status(key), await pending.status(waiting)] == ["failed", "failed"]


async def test_the_runner_service_takes_runs_over_and_keeps_them_and_ends_none(db: TestDatabase) -> None:
    rig = await new_stack(db)
    first, confirmed = await rig.deploy(), await new_stack(db, auto_approve="auto")
    applying = await confirmed.deploy()
    await confirmed.plan(applying)
    async with acting_as(db, "runner") as runner:
        held = await StackRig(runner, rig.stack_id).take(first)
        other = await StackRig(runner, confirmed.stack_id).take(applying)
        assert len(await renew(runner.database, [held.lease, other.lease])) == 2
        assert len(await claimed(runner.database, [held.lease.row_id], RUNNER)) == 1
        refused = (
            StackRig(runner, rig.stack_id).report(held, planned()),
            runner.database.transact(lambda tx: request_cancel(tx, first, "runner", {})),
            runner.database.transact(lambda tx: advance(tx, rig.stack_id)),
        )
        for each in refused:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await each
    assert (await rig.status(first), await confirmed.status(applying)) == ("planning", "applying")
