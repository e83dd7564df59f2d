"""Factories of stacks and their work, moved by legal transitions alone."""

import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Uuid, select

from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Owner
from locktender.contracts.stacks.analysis import PlanCounts, PlanSummary
from locktender.contracts.stacks.vocabulary import DeploymentMode, Origin
from locktender.contracts.stacks.wire import Binding, Done, Outcome
from locktender.storage.kernel.database import Row, Transaction
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.assign import AcceptedRun, take
from locktender.storage.stacks.complete import Ended, report
from locktender.storage.stacks.create import NewDeployment, create
from locktender.storage.stacks.held import OPEN_RUN
from locktender.storage.stacks.lane import locked
from locktender.storage.stacks.tables import stack, stack_deployment
from locktender.testkit.database import TestDatabase

T = TypeVar("T")

RUNNER = Owner("runner-1/0123456789ab")
COMMIT = "c0ffee" * 6 + "c0ff"
SOURCE = {"kind": "git", "url": "https://git.example/infra.git", "ref": "main", "path": "."}

_DEPLOYMENT = Statement(
    "test.stack_deployment", select(*stack_deployment.c).where(stack_deployment.c.id == parameter("id", Uuid()))
)
_STACK = Statement("test.stack", select(*stack.c).where(stack.c.id == parameter("id", Uuid())))


def binding(**stated: Any) -> Binding:
    """What a plan of ours was bound to."""
    plausible: dict[str, Any] = {
        "plan_digest": "ab" * 32, "commit": COMMIT, "variables_digest": "cd" * 32, "tool": "terraform",
        "tool_version": "1.11.4",
    }  # fmt: skip
    return Binding(**(plausible | stated))


def planned(*, changes: bool = True, **counts: int) -> Done:
    """A plan that succeeded."""
    summary = PlanSummary(has_changes=changes, counts=PlanCounts(**(counts or {"create": int(changes)})))
    return Done(outcome=Outcome.SUCCESS, has_changes=changes, summary=summary, binding=binding(), exit_code=2)


APPLIED = Done(outcome=Outcome.SUCCESS, exit_code=0)


@dataclass
class StackRig:
    """One stack in a database of a test."""

    db: TestDatabase
    stack_id: UUID

    async def transact(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run in one transaction."""
        return await self.db.database.transact(work)

    async def deploy(self, mode: DeploymentMode = DeploymentMode.PLAN, **stated: Any) -> UUID:
        """A deployment, made as the API makes it."""
        script = b"sealed" if mode is DeploymentMode.RAW else None
        plausible: dict[str, Any] = {
            "mode": mode, "origin": Origin.MANUAL, "source": SOURCE, "commit_sha": COMMIT, "commit": {},
            "created_by": "ada", "request_digest": b"digest", "raw_script": script,
        }  # fmt: skip
        new = NewDeployment(**(plausible | stated))

        async def work(tx: Transaction) -> UUID:
            return (await create(tx, await locked(tx, self.stack_id), new, {}))["id"]

        return await self.transact(work)

    async def deployment(self, deployment_id: UUID) -> Row:
        """The row."""
        row = await self.db.database.fetch_one(_DEPLOYMENT, id=deployment_id)
        assert row is not None
        return row

    async def status(self, deployment_id: UUID) -> str:
        """What is true of it."""
        return (await self.deployment(deployment_id))["status"]

    async def stack(self) -> Row:
        """The row."""
        row = await self.db.database.fetch_one(_STACK, id=self.stack_id)
        assert row is not None
        return row

    async def trail(self, deployment_id: UUID) -> list[str]:
        """The acts on a deployment, in order."""
        return [
            row["kind"]
            for row in await self.db.admin.fetch(
                "select kind from locktender.stack_activity where deployment_id = $1 order by created_at, id",
                deployment_id,
            )
        ]

    async def events(self, deployment_id: UUID) -> list[str]:
        """The kinds of the events of a deployment, in order."""
        return [
            row["kind"]
            for row in await self.db.admin.fetch(
                "select kind from locktender.stack_event where deployment_id = $1 order by revision", deployment_id
            )
        ]

    async def stages(self, deployment_id: UUID) -> list[tuple[str, str]]:
        """Kind and phase of each stage of a deployment, in order."""
        rows = await self.db.admin.fetch(
            "select kind, status from locktender.stack_stage where deployment_id = $1 order by ordinal", deployment_id
        )
        return [(row["kind"], row["status"]) for row in rows]

    async def runs(self, deployment_id: UUID) -> list[Row]:
        """All runs of a deployment, the first one first."""
        return await self.db.admin.fetch(
            "select * from locktender.stack_run where deployment_id = $1 order by created_at, id", deployment_id
        )

    async def open_run(self, deployment_id: UUID) -> Row | None:
        """The run of a deployment that has not ended."""
        return await self.db.database.fetch_one(OPEN_RUN, id=deployment_id)

    async def take(self, deployment_id: UUID, *, owner: Owner = RUNNER, ttl: float = 60.0) -> AcceptedRun:
        """A runner takes the pending run of a deployment over."""
        run = await self.open_run(deployment_id)
        assert run is not None
        digest = hashlib.sha256(secrets.token_bytes(32)).digest()
        taken = await take(self.db.database, run["id"], owner=owner, ttl=ttl, token_hash=digest)
        assert taken is not None
        return taken

    async def report(self, run: AcceptedRun, done: Done) -> Ended:
        """Its runner says how it ended."""
        return await self.transact(lambda tx: report(tx, run.lease.row_id, run.lease.epoch, done, {}))

    async def plan(self, deployment_id: UUID, done: Done | None = None) -> Ended:
        """Run the pending run of a deployment to the end that `done` tells."""
        return await self.report(await self.take(deployment_id), planned() if done is None else done)


async def new_stack(db: TestDatabase, **stated: Any) -> StackRig:
    """A stack."""
    key = new_id()
    plausible: dict[str, Any] = {
        "id": key, "workspace": "acme", "project": "shop", "name": f"network-{key.hex[-6:]}",
        "source": json.dumps(SOURCE),
        "engine": "auto", "runner_group": "default", "auto_approve": "manual", "created_by": "ada",
    }  # fmt: skip
    row = plausible | stated
    names = ", ".join(row)
    places = ", ".join(f"${n}" for n in range(1, len(row) + 1))
    await db.admin.execute(f"insert into locktender.stack ({names}) values ({places})", *row.values())  # noqa: S608
    return StackRig(db, row["id"])
