"""The reaper's and the runner's own roles are enough for what they do to stacks."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from locktender.contracts.kernel.permissions import IDENTITIES, Identity
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.storage.kernel.database import open_database
from locktender.storage.roles import apply_roles, role_name
from locktender.storage.stacks.reconcile import reconcilers
from locktender.storage.stacks.sweeps import forget_runners, hint_runs, row_sweeps
from locktender.testkit.database import TestDatabase
from locktender.testkit.stacks import StackRig, new_stack

# The same as in the other tests of roles: they belong to the server, and tests run beside each other.
_PASSWORDS: Mapping[str, str] = {identity: f"canary's-{identity}$1" for identity in IDENTITIES}


@pytest.fixture(autouse=True)
async def _roles(db: TestDatabase) -> None:
    await apply_roles(db.dsn, _PASSWORDS)


@asynccontextmanager
async def _as(db: TestDatabase, identity: Identity) -> AsyncGenerator[TestDatabase]:
    parts = urlsplit(db.dsn)
    word = _PASSWORDS[identity].replace("'", "%27").replace("$", "%24")
    dsn = parts._replace(netloc=f"{role_name(identity)}:{word}@{parts.netloc.rpartition('@')[2]}").geturl()
    async with open_database(dsn, name=identity, size=1) as database:
        yield replace(db, database=database)


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
    async with _as(db, "reaper") as reaper:
        assert await hint_runs(reaper.database, 100, 10) == [(await pending.runs(waiting))[0]["id"]]
        swept = {
            sweep.name: len(await sweep.run(reaper.database, 100, failed=_unexpected))
            for sweep in (*row_sweeps(StackDeadlines()), *reconcilers())
        }
        assert await forget_runners(reaper.database, 100, 10) == []
    assert (swept["run-lost"], swept["run-never-started"]) == (1, 1)
    assert [await lost.status(key), await pending.status(waiting)] == ["failed", "failed"]


async def test_the_runner_service_takes_a_run_over_and_reports_it(db: TestDatabase) -> None:
    rig = await new_stack(db, auto_approve="auto")
    key = await rig.deploy()
    async with _as(db, "runner") as runner:
        await StackRig(runner, rig.stack_id).plan(key)
    assert await rig.status(key) == "applying"
