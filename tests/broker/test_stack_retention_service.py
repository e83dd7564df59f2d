"""The cleanup service removes what stacks leave while it does its jobs, as one replica or as two."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from locktender.cleanup.app import serve
from locktender.cleanup.settings import CleanupSettings
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.integrations.objects.store import ObjectStore
from locktender.storage.roles import apply_roles
from locktender.testkit.database import TestDatabase
from locktender.testkit.identities import PASSWORDS, dsn_as
from locktender.testkit.nats_rig import NatsRig, eventually, nats_rig
from locktender.testkit.service_rig import running
from locktender.testkit.stacks import StackRig, new_stack


@pytest.fixture
async def rig() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as started:
        yield started


def settings(db: TestDatabase, rig: NatsRig, url: str | None) -> CleanupSettings:
    return CleanupSettings(
        database_url=dsn_as(db, "cleanup"), nats_url=rig.nats_url, objects={"url": url},
        stack_retention={"plan_seconds": 0.05, "pass_seconds": 0.05},
    )  # fmt: skip


async def looked(store: ObjectStore, stack: StackRig) -> UUID:
    """A run that is over, with its plan file."""
    key = await stack.deploy(DeploymentMode.PLAN_UNLOCKED)
    run = (await stack.runs(key))[0]["id"]
    await store.put(f"work/acme/{stack.stack_id}/{run}/plan.tfplan", b"a secret", once=True)
    await stack.plan(key)
    return run


async def test_two_replicas_remove_what_is_over_within_moments(db: TestDatabase, rig: NatsRig, tmp_path: Path) -> None:
    await apply_roles(db.dsn, PASSWORDS)
    url = (tmp_path / "objects").as_uri()
    store, stack = ObjectStore.open(url, b"k" * 32), await new_stack(db)
    waiting = await stack.deploy()
    kept = f"work/acme/{stack.stack_id}/{(await stack.runs(waiting))[0]['id']}/plan.tfplan"
    await store.put(kept, b"a secret")
    await stack.plan(waiting)
    orphan = f"states/{stack.stack_id}/{waiting}"
    await store.put(orphan, b"a secret")
    await db.advance(2 * 86_400)

    async def gone() -> bool:
        return await store.list() == [kept]

    async with AsyncExitStack() as replicas:
        for _ in range(2):
            await replicas.enter_async_context(running("cleanup", serve, settings(db, rig, url)))
        runs = [await looked(store, stack) for _ in range(5)]
        await eventually(gone)
        noted = "select count(*) from locktender.stack_run where plan_removed_at is not null and id = any($1)"

        async def all_noted() -> bool:
            return await db.admin.fetchval(noted, runs) == len(runs)

        await eventually(all_noted)


async def test_without_a_store_the_service_says_once_that_nothing_of_stacks_is_removed(
    db: TestDatabase, rig: NatsRig
) -> None:
    await apply_roles(db.dsn, PASSWORDS)
    with capture_logs() as logs:

        def told() -> list[str]:
            return [each["event"] for each in logs if "LOCKTENDER_OBJECTS__URL" in each["event"]]

        async def said() -> bool:
            return bool(told())

        async with running("cleanup", serve, settings(db, rig, None)):
            await eventually(said)
    assert told() == ["nothing of stacks is removed: give the cleanup service LOCKTENDER_OBJECTS__URL"]
