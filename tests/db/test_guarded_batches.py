"""What a batch promises: rows, events and outbox together or not at all, every call answered, no deadlock."""

import asyncio
from uuid import UUID

import asyncpg
import pytest

from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.kernel.errors import Conflict, LocktenderError, WrongState
from locktender.contracts.kernel.lease import Lease
from locktender.storage.deployments import transitions
from locktender.storage.deployments.create import NewTask
from locktender.storage.deployments.writes import DeploymentWrites, Moved
from locktender.storage.kernel.database import open_database
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase


async def _counts(connection: "asyncpg.Connection[asyncpg.Record]", task: UUID) -> tuple[int, int, int]:
    """(revision of the row, its events, its outbox rows with a revision), as this connection sees them."""
    row = await connection.fetchrow(
        "select (select revision from locktender.deployment_task where id = $1) revision,"
        " (select count(*) from locktender.deployment_event where task_id = $1) events,"
        " (select count(*) from locktender.outbox where aggregate = $1::uuid::text) told",
        task,
    )
    assert row is not None
    return row["revision"], row["events"], row["told"]


def _record_arguments(leases: list[Lease]) -> list[object]:
    columns: dict[str, object] = rows.told().columns() | {"phase": "apply", "timeline": rows.TIMELINE}
    arrays: dict[str, object] = {name: [value] * len(leases) for name, value in columns.items()}
    arrays |= {"id": [lease.row_id for lease in leases], "epoch": [lease.epoch for lease in leases]}
    return transitions.RECORD.statement.arguments(arrays)


@pytest.mark.parametrize("commits", [True, False], ids=["commit", "rollback"])
async def test_row_event_and_outbox_appear_together_or_not_at_all(db: TestDatabase, *, commits: bool) -> None:
    lease = (await rows.claimed(db)).lease
    other = await asyncpg.connect(db.dsn)
    try:
        transaction = other.transaction()
        await transaction.start()
        await other.fetch(transitions.RECORD.statement.sql, *_record_arguments([lease]))
        assert await _counts(other, lease.row_id) == (3, 3, 3)
        assert await _counts(db.admin, lease.row_id) == (2, 2, 2)
        await (transaction.commit() if commits else transaction.rollback())
    finally:
        await other.close()
    assert await _counts(db.admin, lease.row_id) == ((3, 3, 3) if commits else (2, 2, 2))


async def test_an_event_that_cannot_be_recorded_undoes_the_move(db: TestDatabase) -> None:
    lease = (await rows.claimed(db)).lease
    await db.admin.execute(
        "insert into locktender.deployment_event (task_id, revision, kind, status, epoch, actor, message, payload)"
        " values ($1, 3, 'progressed', 'running', 1, 'runner', '', '{}')",
        lease.row_id,
    )
    with pytest.raises(LocktenderError):
        await DeploymentWrites(db.database).begin_applying(lease, rows.told(), timeline=rows.TIMELINE)
    status = await db.admin.fetchval("select status from locktender.deployment_task where id = $1", lease.row_id)
    assert status == TaskStatus.RUNNING
    assert await db.admin.fetchval("select count(*) from locktender.outbox where revision = 3") == 0


async def test_hundreds_of_calls_are_each_answered(db: TestDatabase) -> None:
    writes = DeploymentWrites(db.database)
    async with asyncio.TaskGroup() as group:
        made = [group.create_task(writes.create(rows.new_task())) for _ in range(450)]
    assert all(task.result() for task in made)
    assert await db.admin.fetchval("select count(*) from locktender.deployment_event") == 450
    assert await db.admin.fetchval("select count(*) from locktender.outbox") == 900


async def test_a_row_that_breaks_a_rule_fails_alone(db: TestDatabase) -> None:
    writes = DeploymentWrites(db.database)
    leases = [(await rows.claimed(db)).lease for _ in range(10)]
    answers: dict[int, Moved | Exception] = {}

    async def fail(place: int, failure: str | None) -> None:
        try:
            answers[place] = await writes.fail(
                leases[place],
                rows.told(),
                timeline=rows.TIMELINE,
                failure=failure,  # type: ignore[arg-type]  # the fault
            )
        except asyncpg.PostgresError as error:
            answers[place] = error

    async with asyncio.TaskGroup() as group:
        for place in range(10):
            group.create_task(fail(place, None if place == 4 else rows.FAILURE))
    refused = {place for place, answer in answers.items() if isinstance(answer, Exception)}
    assert refused == {4}
    assert isinstance(answers[4], asyncpg.CheckViolationError)
    statuses = await db.admin.fetch("select status, count(*) from locktender.deployment_task group by 1 order by 1")
    assert [tuple(row) for row in statuses] == [("failed", 9), ("running", 1)]


async def test_two_notes_on_one_row_are_both_written_one_after_the_other(db: TestDatabase) -> None:
    writes = DeploymentWrites(db.database)
    lease = (await rows.claimed(db)).lease
    async with asyncio.TaskGroup() as group:
        notes = [
            group.create_task(writes.record(lease, rows.told(), phase="prepare", timeline=rows.TIMELINE))
            for _ in range(8)
        ]
    assert sorted(note.result().revision for note in notes) == list(range(3, 11))


async def test_of_two_outcomes_for_one_row_the_second_is_told_that_it_is_too_late(db: TestDatabase) -> None:
    writes = DeploymentWrites(db.database)
    lease = await rows.applying(db)
    answers: list[str] = []

    async def complete() -> None:
        try:
            answers.append((await writes.complete(lease, rows.told(), timeline=rows.TIMELINE)).status)
        except WrongState as error:
            answers.append(f"already {error.actual}")

    async with asyncio.TaskGroup() as group:
        group.create_task(complete())
        group.create_task(complete())
    assert answers == ["completed", "already completed"]


async def test_batches_in_opposite_orders_do_not_deadlock(db: TestDatabase) -> None:
    leases = [(await rows.task(db, status=TaskStatus.RUNNING, epoch=1)) for _ in range(100)]
    renew = transitions.RENEW.statement

    async def repeat(order: list[Lease], *, notes: bool) -> None:
        connection = await asyncpg.connect(db.dsn, server_settings={"deadlock_timeout": "50ms"})
        try:
            ids, epochs = [lease.row_id for lease in order], [lease.epoch for lease in order]
            for _ in range(10):
                if notes:
                    await connection.fetch(transitions.RECORD.statement.sql, *_record_arguments(order))
                await connection.fetch(renew.sql, *renew.arguments({"id": ids, "epoch": epochs, "ttl": 60.0}))
        finally:
            await connection.close()

    async with asyncio.TaskGroup() as group:  # a deadlock would raise here
        group.create_task(repeat(leases, notes=True))
        group.create_task(repeat(leases[::-1], notes=True))
        group.create_task(repeat(leases[::-1], notes=False))
    assert await db.admin.fetchval("select min(revision) from locktender.deployment_task") == 21


async def _created(writes: DeploymentWrites, task: NewTask, made: list[UUID]) -> None:
    if await writes.create(task):
        made.append(task.id)


async def test_one_idempotency_key_makes_one_task_whoever_asks_and_however_often(db: TestDatabase) -> None:
    made: list[UUID] = []
    async with open_database(db.dsn, name="another-api", size=4) as second, asyncio.TaskGroup() as group:
        for database in (db.database, second):
            writes = DeploymentWrites(database)
            for _ in range(25):
                group.create_task(_created(writes, rows.new_task(idempotency_key="k1"), made))
    assert len(made) == 1
    assert await db.admin.fetchval("select array_agg(id) from locktender.deployment_task") == made
    assert await _counts(db.admin, made[0]) == (1, 1, 1)
    assert await db.admin.fetchval("select count(*) from locktender.outbox") == 2


async def test_an_idempotency_key_belongs_to_one_person_in_one_workspace(db: TestDatabase) -> None:
    for whose in ({}, {"created_by": "bob"}, {"workspace": "other"}):
        await rows.created(db, idempotency_key="k1", **whose)
    assert not await DeploymentWrites(db.database).create(rows.new_task(idempotency_key="k1"))


async def test_a_second_active_successor_is_a_conflict_and_does_not_fail_its_neighbours(db: TestDatabase) -> None:
    writes = DeploymentWrites(db.database)
    before, made, refused = await rows.failed(db), list[UUID](), list[str]()

    async def create(task: NewTask) -> None:
        try:
            await _created(writes, task, made)
        except Conflict as error:
            refused.append(error.rule)

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(create(rows.new_task(predecessor_id=before)))
        for _ in range(5):
            group.create_task(create(rows.new_task()))
    assert len(made) == 6
    assert refused == ["uq_deployment_task_active_successor"]


async def test_the_same_id_twice_is_a_conflict(db: TestDatabase) -> None:
    task = rows.new_task()
    writes = DeploymentWrites(db.database)
    assert await writes.create(task)
    with pytest.raises(Conflict, match="pk_deployment_task"):
        await writes.create(task)
