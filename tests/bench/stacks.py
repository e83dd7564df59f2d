"""Stacks for measurements: made as the API makes them, moved by legal transitions."""

import hashlib
import secrets
from dataclasses import dataclass
from uuid import UUID

from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Epoch, Owner
from locktender.contracts.stacks.models import GitSource
from locktender.contracts.stacks.vocabulary import DeploymentMode, Origin
from locktender.contracts.stacks.wire import Done, Outcome
from locktender.storage.kernel.database import Database, Transaction
from locktender.storage.stacks.assign import take
from locktender.storage.stacks.complete import report
from locktender.storage.stacks.create import NewDeployment, create
from locktender.storage.stacks.held import OPEN_RUN
from locktender.storage.stacks.lane import locked
from locktender.storage.stacks.stacks import NewStack, create_stack

COMMIT = "c0ffee" * 6 + "c0ff"
SOURCE = GitSource(url="https://git.example/infra.git", ref="main")
_OWNER = Owner("bench/0123456789ab")
_NOTHING_TO_DO = Done(outcome=Outcome.SUCCESS, has_changes=False, exit_code=0)


@dataclass(frozen=True, slots=True)
class Taken:
    """A run that the measurement holds as its runner would."""

    run_id: UUID
    epoch: Epoch
    token: str


async def new_stack(database: Database, name: str, workspace: str = "bench") -> UUID:
    """A stack without anything."""
    stack = NewStack(
        id=new_id(), workspace=workspace, project="default", name=name, description="", source=SOURCE.model_dump(),
        engine="auto", runner_group="default", labels=(), auto_approve="manual", created_by="bench",
    )  # fmt: skip

    async def work(tx: Transaction) -> UUID:
        await create_stack(tx, stack, {})
        return stack.id

    return await database.transact(work)


async def deploy(database: Database, stack_id: UUID, mode: DeploymentMode = DeploymentMode.PLAN) -> UUID:
    """One deployment more."""
    new = NewDeployment(
        mode=mode, origin=Origin.MANUAL, source=SOURCE.model_dump(), commit_sha=COMMIT, commit={},
        created_by="bench", request_digest=b"",
    )  # fmt: skip

    async def work(tx: Transaction) -> UUID:
        return (await create(tx, await locked(tx, stack_id), new, {}))["id"]

    return await database.transact(work)


async def taken(database: Database, deployment_id: UUID) -> Taken:
    """Take the pending run of a deployment over."""
    run = await database.fetch_one(OPEN_RUN, id=deployment_id)
    assert run is not None, "the deployment has no run to take"
    token = secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode()).digest()
    accepted = await take(database, run["id"], owner=_OWNER, ttl=3600.0, token_hash=digest)
    assert accepted is not None, "somebody else has the run"
    return Taken(run["id"], accepted.lease.epoch, token)


async def finish(database: Database, run: Taken) -> None:
    """Its plan found nothing to do: the deployment ends, and the next one of its stack gets the lane."""
    await database.transact(lambda tx: report(tx, run.run_id, run.epoch, _NOTHING_TO_DO, {}))
