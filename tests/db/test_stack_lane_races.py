"""Many at once on few stacks: never two holders, never a free lane with a waiting heir, and the order is kept."""

import asyncio
import os
import random
from itertools import pairwise
from uuid import UUID

import pytest
from sqlalchemy import Uuid, select

from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.kernel.lease import Owner
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT
from locktender.contracts.stacks.vocabulary import DeploymentMode, RunFailureReason
from locktender.contracts.stacks.wire import Done, Outcome, RunFailure
from locktender.storage.kernel.database import Transaction
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.assign import AcceptedRun, assign, take
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.complete import end_unfinished
from locktender.storage.stacks.confirm import confirm_apply
from locktender.storage.stacks.held import held_run
from locktender.storage.stacks.reconcile import reconcilers
from locktender.storage.stacks.skip import skip
from locktender.storage.stacks.tables import stack_deployment
from locktender.storage.stacks.told import Told
from locktender.testkit.database import TestDatabase
from locktender.testkit.races import at_once
from locktender.testkit.stacks import StackRig, new_stack, planned

_LONG = os.environ.get("LOCKTENDER_CHAOS") == "long"
_CREATES, _STACKS = (2000, 20) if _LONG else (200, 20)
_DEADLINE = 600.0 if _LONG else 60.0
_DONE = (planned(), planned(changes=False), Done(outcome=Outcome.FAILURE), Done(outcome=Outcome.CANCELLED))

_OPEN = Statement(
    "test.open",
    select(stack_deployment.c.id, stack_deployment.c.status).where(
        stack_deployment.c.stack_id == parameter("stack_id", Uuid()),
        in_states(stack_deployment.c.status, STACK_DEPLOYMENT.active),
    ),
)
_HELD_WRONG = """
select s.id from locktender.stack s where
  exists (select from locktender.stack_deployment d where d.id = s.lane_holder
          and d.status in ('finished', 'failed', 'cancelled', 'skipped'))
  or (s.lane_holder is null and exists (select from locktender.stack_deployment d
      where d.stack_id = s.id and d.status = 'queued' and d.mode <> 'plan_unlocked'))
  or 1 < (select count(*) from locktender.stack_deployment d where d.stack_id = s.id and d.mode <> 'plan_unlocked'
          and d.status not in ('queued', 'finished', 'failed', 'cancelled', 'skipped'))
"""
_BOTH_OR_NEITHER = """
select d.id from locktender.stack_deployment d where d.status in ('finished', 'failed', 'cancelled', 'skipped')
and exists (select from locktender.stack_run r where r.deployment_id = d.id and r.completed_at is null)
"""
_PROMOTED = """
select d.created_at from locktender.stack_event e join locktender.stack_deployment d on d.id = e.deployment_id
where d.stack_id = $1 and e.kind = 'pending' and d.mode <> 'plan_unlocked'
  and not exists (select from locktender.stack_event earlier where earlier.deployment_id = e.deployment_id
                  and earlier.kind = 'pending' and earlier.revision < e.revision)
order by e.created_at
"""


@pytest.mark.takes(seconds=10)
async def test_creates_completions_kills_and_cancels_at_once_never_break_the_lane(db: TestDatabase) -> None:
    rigs = [await new_stack(db, auto_approve=("auto", "manual")[n % 2]) for n in range(_STACKS)]
    dice = random.Random(5)  # noqa: S311 - a story that can be told again
    asked = [(rig, dice.random()) for rig in rigs for _ in range(_CREATES // _STACKS)]
    dice.shuffle(asked)
    creating = asyncio.Event()

    async def create(one: tuple[StackRig, float]) -> None:
        rig, luck = one
        await rig.deploy(DeploymentMode.PLAN_UNLOCKED if luck < 0.1 else DeploymentMode.PLAN)

    async def create_all() -> None:
        await at_once(create, asked, most=8)
        creating.set()

    async def watch() -> None:
        while not creating.is_set():
            assert await db.admin.fetch(_HELD_WRONG) == []
            await asyncio.sleep(0.05)

    async with asyncio.timeout(_DEADLINE), asyncio.TaskGroup() as group:
        group.create_task(create_all())
        group.create_task(watch())
        for rig in rigs:
            group.create_task(_work(rig, creating, random.Random(rig.stack_id.int)))  # noqa: S311 - as above
    assert await db.admin.fetch(_HELD_WRONG) == []
    assert await db.admin.fetch(_BOTH_OR_NEITHER) == []
    ended = await db.admin.fetchval(
        "select count(*) from locktender.stack_deployment where status = any($1)",
        [status.value for status in STACK_DEPLOYMENT.terminal],
    )
    assert ended == _CREATES
    for rig in rigs:
        order = [row["created_at"] for row in await db.admin.fetch(_PROMOTED, rig.stack_id)]
        assert all(before <= after for before, after in pairwise(order))
    for sweep in reconcilers():
        assert await sweep.run(db.database, 100, failed=_unexpected) == []


def _unexpected(row: UUID, error: Exception) -> None:
    raise AssertionError(row) from error


async def _work(rig: StackRig, creating: asyncio.Event, dice: random.Random) -> None:
    """Be the runners and the people of one stack until everything of it is over."""
    while True:
        # Asked before looking: what was made by then is seen.
        all_made = creating.is_set()
        rows = await rig.db.database.fetch(_OPEN, stack_id=rig.stack_id)
        if not rows and all_made:
            return
        for row in rows:
            try:
                await _step(rig, row["id"], row["status"], dice)
            except LocktenderError:
                continue
        await asyncio.sleep(0)


async def _step(rig: StackRig, key: UUID, status: str, dice: random.Random) -> None:
    luck = dice.random()
    if luck < 0.08:
        await rig.transact(lambda tx: request_cancel(tx, key, "ada", {}))
    elif status == "waiting" and luck < 0.5:
        await rig.transact(lambda tx: skip(tx, key, "ada", {}))
    elif status == "waiting":
        await rig.transact(lambda tx: confirm_apply(tx, key, "ada", plan_digest=None, variables_digest=None, trace={}))
    elif status in {"pending", "applying"} and (run := await rig.open_run(key)) is not None:
        await _run(rig, run["id"], dice)


async def _run(rig: StackRig, run_id: UUID, dice: random.Random) -> None:
    luck = dice.random()
    if luck < 0.1:
        await rig.transact(lambda tx: assign(tx, run_id, runner_id=None, remote=False, assignment_seconds=1.0))
        await rig.transact(lambda tx: _end(tx, run_id, RunFailureReason.STARTUP_TIMEOUT))
        return
    token = dice.randbytes(32)
    racing = [
        take(rig.db.database, run_id, owner=Owner(f"r/{n}"), ttl=60, token_hash=token + bytes([n])) for n in range(2)
    ]
    async with asyncio.TaskGroup() as group:
        taken = [group.create_task(each) for each in racing]
    won: list[AcceptedRun] = [each for each in (task.result() for task in taken) if each is not None]
    assert len(won) <= 1
    if not won:
        return
    if luck < 0.25:
        await rig.transact(lambda tx: _end(tx, run_id, RunFailureReason.LOST))
    else:
        await rig.report(won[0], dice.choice(_DONE))


async def _end(tx: Transaction, run_id: UUID, reason: RunFailureReason) -> None:
    """What the reaper does about a runner that never came, or was killed."""
    owner, run = await held_run(tx, run_id)
    await end_unfinished(tx, owner, run, Told("reaper"), RunFailure(reason=reason, message="killed"))
