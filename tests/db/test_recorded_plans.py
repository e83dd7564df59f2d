"""The plan of a run is written under its lease alone, and read by its own workspace alone."""

import asyncio
import json

import pytest

from locktender.contracts.kernel.errors import LeaseLost, NotFound, WrongState
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Epoch, Lease
from locktender.storage.cleanup.writes import CleanupWrites
from locktender.storage.deployments.reads import DeploymentReads
from locktender.storage.deployments.retention import Retention
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.verify import violations
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase

FIRST, SECOND = '{"documents": [], "n": 1}', '{"documents": [], "n": 2}'


async def _read(db: TestDatabase, task: object, workspace: str = "acme") -> object:
    text = await DeploymentReads(db.database).plan(workspace, task)  # pyright: ignore[reportArgumentType]
    return None if text is None else json.loads(text)["n"]


async def test_the_latest_plan_of_a_run_is_read_by_its_own_workspace_alone(db: TestDatabase) -> None:
    lease = (await rows.claimed(db)).lease
    assert await _read(db, lease.row_id) is None
    writes = DeploymentWrites(db.database)
    await writes.record_plan(lease, FIRST)
    await writes.record_plan(lease, SECOND)
    assert await _read(db, lease.row_id) == 2
    assert await _read(db, lease.row_id, "umbrella") is None
    assert await violations(db.database) == []


async def test_a_stale_epoch_never_writes_a_plan(db: TestDatabase) -> None:
    lease = (await rows.claimed(db)).lease
    writes = DeploymentWrites(db.database)
    await writes.record_plan(lease, FIRST)
    stale = Lease(lease.row_id, lease.owner, Epoch(lease.epoch - 1))
    with pytest.raises(LeaseLost):
        await writes.record_plan(stale, SECOND)
    assert await _read(db, lease.row_id) == 1


async def test_a_plan_waits_for_whoever_is_breaking_the_lease(db: TestDatabase) -> None:
    lease = (await rows.claimed(db)).lease
    breaking = db.admin.transaction()
    await breaking.start()
    await db.admin.execute(
        "update locktender.deployment_task set lease_epoch = lease_epoch + 1 where id = $1", lease.row_id
    )
    async with asyncio.TaskGroup() as group:

        async def late() -> None:
            with pytest.raises(LeaseLost):
                await DeploymentWrites(db.database).record_plan(lease, FIRST)

        task = group.create_task(late())
        await asyncio.sleep(0.1)
        assert not task.done()
        await breaking.commit()
    assert await _read(db, lease.row_id) is None


async def test_a_task_that_is_over_or_not_there_takes_no_plan(db: TestDatabase) -> None:
    writes, lease = DeploymentWrites(db.database), await rows.applying(db)
    await writes.complete(lease, rows.told(), timeline=rows.TIMELINE)
    with pytest.raises(WrongState, match="completed"):
        await writes.record_plan(lease, FIRST)
    with pytest.raises(NotFound):
        await writes.record_plan(Lease(new_id(), rows.OWNER, Epoch(1)), FIRST)


async def test_a_plan_goes_with_its_task(db: TestDatabase) -> None:
    writes, lease = DeploymentWrites(db.database), await rows.applying(db)
    await writes.record_plan(lease, FIRST)
    await writes.complete(lease, rows.told(), timeline=rows.TIMELINE)
    await db.advance(100)
    assert await Retention(db.database).schedule(10, 60) == 1
    job = await db.admin.fetchval("select id from locktender.cleanup_job where subject_id = $1", lease.row_id)
    [claim] = await CleanupWrites(db.database).claim([job], rows.OWNER, 60)
    assert [removal.outcome for removal in await Retention(db.database).remove([claim.lease])] == ["removed"]
    assert await db.admin.fetchval("select count(*) from locktender.deployment_plan") == 0
