"""The second guard: what not even psql can do to a row."""

from itertools import product

import asyncpg
import pytest

from locktender.contracts.cleanup.flow import CLEANUP_JOB, JobStatus
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskStatus
from locktender.contracts.kernel.machine import Fence
from locktender.storage.kernel.triggers import FINAL_ROW, ILLEGAL_EDGE, STALE_EPOCH
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase

_TAKING = {(s, t.target) for t in DEPLOYMENT_TASK.transitions if t.fence is Fence.ACQUIRE for s in t.sources}


async def _refusal(db: TestDatabase, sql: str, *arguments: object) -> str | None:
    """The SQLSTATE with which the statement is refused; None when it passes. Nothing is kept."""
    transaction = db.admin.transaction()
    await transaction.start()
    try:
        await db.admin.execute(sql, *arguments)
    except asyncpg.PostgresError as error:
        return error.sqlstate
    finally:
        await transaction.rollback()
    return None


def _move(table: str, target: str, *, leased: bool, terminal: bool, epochs: int) -> str:
    """A plain update that satisfies every check, so that the trigger alone decides."""
    owner, until = ("'me'", "now()") if leased else ("null", "null")
    done = "now()" if terminal else "null"
    failure = ", failure = '{}', asked = '{}'" if table == "deployment_task" else ""
    return (
        # Every part of it is from the machines.
        f"update locktender.{table} set status = '{target}', lease_owner = {owner}, lease_expires_at = {until},"  # noqa: S608 - as said
        f" completed_at = {done}, lease_epoch = lease_epoch + {int(epochs)}{failure} where id = $1"
    )


@pytest.mark.parametrize(("source", "target"), list(product(TaskStatus, TaskStatus)))
async def test_a_task_takes_only_declared_edges(
    module_db: TestDatabase, source: TaskStatus, target: TaskStatus
) -> None:
    task = (await rows.task(module_db, status=source, epoch=3)).row_id
    edge = (source, target)
    sql = _move(
        "deployment_task", target,
        leased=target in DEPLOYMENT_TASK.leased, terminal=target in DEPLOYMENT_TASK.terminal, epochs=edge in _TAKING,
    )  # fmt: skip
    refusal = await _refusal(module_db, sql, task)
    if source in DEPLOYMENT_TASK.terminal:
        assert refusal == FINAL_ROW
    elif source is target or edge in DEPLOYMENT_TASK.edges():
        assert refusal is None
    else:
        assert refusal == ILLEGAL_EDGE


@pytest.mark.parametrize(("source", "target"), list(product(JobStatus, JobStatus)))
async def test_a_job_takes_only_declared_edges(module_db: TestDatabase, source: JobStatus, target: JobStatus) -> None:
    job = (await rows.job(module_db, status=source, epoch=3)).row_id
    taking = (source, target) == (JobStatus.PENDING, JobStatus.RUNNING)
    sql = _move(
        "cleanup_job", target,
        leased=target in CLEANUP_JOB.leased, terminal=target in CLEANUP_JOB.terminal, epochs=taking,
    )  # fmt: skip
    refusal = await _refusal(module_db, sql, job)
    if source in CLEANUP_JOB.terminal:
        assert refusal == FINAL_ROW
    else:
        legal = source is target or (source, target) in CLEANUP_JOB.edges()
        assert refusal == (None if legal else ILLEGAL_EDGE)


@pytest.mark.parametrize("epochs", [-1, 0, 2])
@pytest.mark.parametrize(("source", "target"), sorted(_TAKING))
async def test_taking_a_row_raises_its_epoch_by_exactly_one(
    module_db: TestDatabase, source: TaskStatus, target: TaskStatus, epochs: int
) -> None:
    task = (await rows.task(module_db, status=source, epoch=3)).row_id
    sql = _move("deployment_task", target, leased=True, terminal=False, epochs=epochs)
    assert await _refusal(module_db, sql, task) == STALE_EPOCH


@pytest.mark.parametrize("status", sorted(DEPLOYMENT_TASK.active))
async def test_an_epoch_never_falls(module_db: TestDatabase, status: TaskStatus) -> None:
    task = (await rows.task(module_db, status=status, epoch=3)).row_id
    sql = "update locktender.deployment_task set lease_epoch = 2 where id = $1"
    assert await _refusal(module_db, sql, task) == STALE_EPOCH


@pytest.mark.parametrize("status", sorted(DEPLOYMENT_TASK.terminal))
@pytest.mark.parametrize("change", ["display_name = 'x'", "timeline = '{}'", "lease_epoch = 9", "failure = '{}'"])
async def test_nothing_of_an_ended_task_changes(module_db: TestDatabase, status: TaskStatus, change: str) -> None:
    task = (await rows.task(module_db, status=status, epoch=3)).row_id
    sql = f"update locktender.deployment_task set {change} where id = $1"  # noqa: S608 - from the list above
    assert await _refusal(module_db, sql, task) == FINAL_ROW


async def test_a_row_is_born_in_the_initial_state(module_db: TestDatabase) -> None:
    known = (await rows.task(module_db)).row_id
    sql = (
        "insert into locktender.deployment_task (id, workspace, project, display_name, created_by, created_from,"
        " runner, source, status, phase, timeline, request_digest, completed_at, failure)"
        " select gen_random_uuid(), workspace, project, display_name, created_by, created_from,"
        " runner, source, $2::text, phase, timeline, request_digest,"
        " case when $2::text = 'failed' then now() end, '{}'"
        " from locktender.deployment_task where id = $1"
    )
    assert await _refusal(module_db, sql, known, "failed") == ILLEGAL_EDGE
    assert await _refusal(module_db, sql, known, "queued") is None
    assert (
        await _refusal(
            module_db,
            "insert into locktender.cleanup_job (kind, workspace, subject_id, generation, status, completed_at)"
            " values ('retention', 'acme', $1, 1, 'done', now())",
            known,
        )
        == ILLEGAL_EDGE
    )


_CHECKS = {
    "status_known": "status = 'paused'",
    "phase_known": "phase = 'somewhere'",
    "owned_iff_leased": "lease_owner = 'me', lease_expires_at = now()",
    "owner_has_deadline": "lease_expires_at = now()",
    "completed_iff_terminal": "completed_at = now()",
    "epoch_counts_up": "lease_epoch = -1",
    "failed_has_reason": "status = 'failed', completed_at = now(), failure = null",
    "revision_counts_up": "revision = 0",
}


@pytest.mark.parametrize("rule", _CHECKS)
async def test_a_half_truth_is_refused_even_without_the_trigger(module_db: TestDatabase, rule: str) -> None:
    task = (await rows.task(module_db)).row_id
    with pytest.raises(asyncpg.CheckViolationError) as caught:
        async with module_db.unguarded() as superuser:
            await superuser.execute(
                f"update locktender.deployment_task set {_CHECKS[rule]} where id = $1",  # noqa: S608 - from above
                task,
            )
    assert caught.value.constraint_name == f"ck_deployment_task_{rule}"
