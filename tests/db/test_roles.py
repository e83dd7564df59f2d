"""Each service can do its own work with its own role, and nothing else."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Owner
from locktender.contracts.kernel.permissions import IDENTITIES, Identity
from locktender.storage.cleanup.writes import CleanupWrites
from locktender.storage.deployments.reads import DeploymentReads
from locktender.storage.deployments.retention import Retention
from locktender.storage.deployments.transitions import SWEEPS
from locktender.storage.deployments.writes import DeploymentWrites
from locktender.storage.kernel.database import Database
from locktender.storage.outbox.partitions import Partitions
from locktender.storage.outbox.relay import Failed, Relay
from locktender.storage.outbox.shards import Shards
from locktender.storage.roles import apply_roles, role_name, roles_sql
from locktender.storage.verify import violations
from locktender.testkit import rows
from locktender.testkit.database import TestDatabase
from locktender.testkit.identities import PASSWORDS, acting_as


@pytest.fixture(autouse=True)
async def _roles(db: TestDatabase) -> None:
    await apply_roles(db.dsn, PASSWORDS)


@asynccontextmanager
async def _as(db: TestDatabase, identity: Identity) -> AsyncGenerator[Database]:
    async with acting_as(db, identity) as seen:
        yield seen.database


async def test_the_api_creates_asks_and_cancels(db: TestDatabase) -> None:
    async with _as(db, "api") as database:
        writes, reads = DeploymentWrites(database), DeploymentReads(database)
        task, running = rows.new_task(idempotency_key="k"), (await rows.claimed(db)).lease
        assert await writes.create(task)
        assert not await writes.create(rows.new_task(idempotency_key="k"))
        await writes.request_cancel(running.row_id, "ada", rows.told(actor="api"))
        await writes.cancel(task.id, "ada", rows.told(actor="api"))
        assert await reads.snapshot("acme", task.id) is not None
        assert len(await reads.page("acme", statuses=["cancelled"], limit=5)) == 1
        assert await reads.known_request("acme", "ada", "k") is not None
        assert await reads.plan("acme", task.id) is None
        assert await reads.custody_workspace(running.row_id, running.epoch, "api-1") is None


async def test_a_runner_runs(db: TestDatabase) -> None:
    task, doomed = await rows.created(db), await rows.created(db)
    async with _as(db, "runner") as database:
        writes = DeploymentWrites(database)
        claims = {claim.lease.row_id: claim.lease for claim in await writes.claim([task, doomed], rows.OWNER, 60)}
        await writes.renew(list(claims.values()), 60)
        await writes.record(claims[task], rows.told(), phase="prepare", timeline=rows.TIMELINE)
        await writes.record_plan(claims[task], "{}")
        await writes.record_plan(claims[task], "{}")
        await writes.begin_applying(claims[task], rows.told(), timeline=rows.TIMELINE)
        await writes.complete(claims[task], rows.told(), timeline=rows.TIMELINE)
        await writes.fail(claims[doomed], rows.told(), timeline=rows.TIMELINE, failure=rows.FAILURE)


async def test_the_outbox_reads_marks_and_keeps_its_partitions(db: TestDatabase) -> None:
    await rows.completed(db)
    async with _as(db, "outbox") as database:
        shards, relay, partitions = Shards(database, "outbox", Owner("o/1")), Relay(database), Partitions(database)
        await shards.prepare()
        held = [each.shard for each in await shards.take(16, 30)]
        await shards.renew(30)
        pending = await relay.unpublished(held, 100)
        await relay.failed([Failed(pending[0], "away", 0.0)])
        await relay.published(pending)
        await relay.redrive(window=3600, before=await relay.now(), limit=10)
        assert (await relay.backlog())[0] == 4
        await shards.sharers()
        await shards.release(held)
        assert len(await partitions.prepare(4)) == 2
        today = f"outbox_{await db.now():%Y%m%d}"
        await db.advance(100_000)
        # Late in the day this passes two midnights, and tomorrow's empty partition may go as well.
        assert today not in await partitions.retire(1), "it holds rows that have yet to be told"


async def test_the_reaper_sweeps_hints_and_schedules(db: TestDatabase) -> None:
    await rows.created(db)
    await rows.claimed(db)
    await rows.completed(db)
    await rows.job(db, status=rows.JobStatus.RUNNING, epoch=1)
    await db.advance(10_000)
    async with _as(db, "reaper") as database:
        writes, cleanup = DeploymentWrites(database), CleanupWrites(database)
        assert await writes.hint(10, 10)
        timed = {"cancel-ack-deadline", "timeout", "never-started"}
        assert sum([len(await writes.sweep(reason, 10, 90 if reason in timed else None)) for reason in SWEEPS]) == 2
        assert await Retention(database).schedule(10, 60) == 1
        assert await cleanup.expire(10)
        await cleanup.hint(10, 10)
        await rows.job(db, status=rows.JobStatus.DONE)
        await db.advance(100)
        assert await cleanup.forget(10, 10) == 1


async def test_cleanup_removes_what_is_due(db: TestDatabase) -> None:
    task = await rows.completed(db)
    await db.advance(100)
    assert await Retention(db.database).schedule(10, 60) == 1
    async with _as(db, "cleanup") as database:
        job = await db.admin.fetchval("select id from locktender.cleanup_job where subject_id = $1", task)
        other = await rows.job(db)
        cleanup = CleanupWrites(database)
        claims = {claim.lease.row_id: claim.lease for claim in await cleanup.claim([job, other.row_id], rows.OWNER, 60)}
        await cleanup.renew(list(claims.values()), 60)
        assert await cleanup.retry(claims[other.row_id], "away", 1)
        assert [removal.outcome for removal in await Retention(database).remove([claims[job]])] == ["removed"]


async def test_operators_look_at_everything(db: TestDatabase) -> None:
    await rows.completed(db)
    async with _as(db, "ops") as database:
        assert await violations(database) == []


_REFUSED: list[tuple[Identity, str]] = [
    ("api", "delete from locktender.deployment_task"),
    ("api", "select from locktender.outbox"),
    ("api", "update locktender.deployment_event set message = ''"),
    ("api", "select from locktender.cleanup_job"),
    ("api", "update locktender.deployment_plan set plan = '{}'"),
    ("runner", "delete from locktender.deployment_plan"),
    ("outbox", "update locktender.deployment_task set status = 'queued'"),
    ("outbox", "select from locktender.deployment_task"),
    ("outbox", "insert into locktender.outbox (aggregate, shard, subject, type, data) values ('a', 0, 's', 't', '{}')"),
    ("outbox", "update locktender.outbox set data = '{}'"),
    ("outbox", "delete from locktender.outbox"),
    ("runner", "delete from locktender.deployment_task"),
    ("runner", "insert into locktender.deployment_task (id) values (gen_random_uuid())"),
    ("runner", "select from locktender.outbox"),
    ("runner", "select locktender.outbox_retire('1 day')"),
    ("reaper", "delete from locktender.deployment_task"),
    ("cleanup", "delete from locktender.cleanup_job"),
    ("cleanup", "insert into locktender.cleanup_job (kind) values ('retention')"),
    ("cleanup", "update locktender.deployment_task set status = 'queued'"),
    ("cleanup", "delete from locktender.deployment_event"),
    ("runner", "update locktender.stack set lane_holder = null"),
    ("runner", "update locktender.stack set uncertain_since = null"),
    ("runner", "update locktender.stack_run set summary = '{}'"),
    ("runner", "insert into locktender.stack_run (id) values (gen_random_uuid())"),
    ("runner", "insert into locktender.stack_activity (kind) values ('created')"),
    ("runner", "select from locktender.stack_variable"),
    ("runner", "select from locktender.stack_state"),
    ("reaper", "insert into locktender.stack_deployment (id) values (gen_random_uuid())"),
    ("reaper", "select from locktender.stack_variable"),
    ("reaper", "delete from locktender.stack"),
    ("api", "delete from locktender.stack_deployment"),
    ("api", "update locktender.stack_state set sha256 = ''"),
    ("api", "delete from locktender.stack_event"),
    ("ops", "select git_token from locktender.stack"),
    ("ops", "select from locktender.stack_variable"),
    ("ops", "update locktender.deployment_task set status = 'queued'"),
    ("ops", "delete from locktender.outbox"),
    ("ops", "select locktender.outbox_retire('1 day')"),
    *[(identity, "truncate locktender.deployment_task cascade") for identity in IDENTITIES],
    *[(identity, "create table locktender.mine (n int)") for identity in IDENTITIES],
    *[(identity, "alter table locktender.deployment_task disable trigger all") for identity in IDENTITIES],
]


async def test_what_is_not_granted_is_refused(db: TestDatabase) -> None:
    passed: list[tuple[str, str]] = []
    for identity, sql in _REFUSED:
        transaction = db.admin.transaction()
        await transaction.start()
        try:
            await db.admin.execute(f"set local role {role_name(identity)}")
            await db.admin.execute(sql)
            passed.append((identity, sql))
        except asyncpg.InsufficientPrivilegeError:
            pass
        finally:
            await transaction.rollback()
    assert passed == []


async def test_every_role_has_its_own_limits(db: TestDatabase) -> None:
    settings = await db.admin.fetch(
        "select rolname, rolconfig, rolsuper, rolconnlimit from pg_roles where rolname like 'locktender\\_%'"
    )
    assert {row["rolname"] for row in settings} == {role_name(identity) for identity in IDENTITIES}
    for row in settings:
        limits = {setting.split("=")[0] for setting in row["rolconfig"]}
        assert limits >= {"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"}
        assert not row["rolsuper"]
        assert row["rolconnlimit"] > 0


async def test_applying_the_roles_again_takes_back_what_they_should_not_have(db: TestDatabase) -> None:
    await db.admin.execute("grant delete on locktender.deployment_task to locktender_api")
    await apply_roles(db.dsn, {})
    assert not await db.admin.fetchval(
        "select has_table_privilege('locktender_api', 'locktender.deployment_task', 'delete')"
    )
    async with _as(db, "api") as database:
        assert await DeploymentReads(database).snapshot("acme", new_id()) is None


async def test_an_unknown_service_gets_no_password(db: TestDatabase) -> None:
    with pytest.raises(ValueError, match="intruder"):
        await apply_roles(db.dsn, {"intruder": "x"})
    with pytest.raises(ValueError, match="printable"):
        await apply_roles(db.dsn, {"api": "ü"})


async def test_the_rendered_file_holds_no_password() -> None:
    assert "password '" not in roles_sql()
