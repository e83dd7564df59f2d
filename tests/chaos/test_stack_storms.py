"""Many at once on few stacks while connections are killed, and runners that race for one run.

`LOCKTENDER_CHAOS=long` makes ten times as many; `LOCKTENDER_CHAOS_SEED=N` runs one storm again.
"""

import asyncio
import os
import random
import secrets
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest
from sqlalchemy import Uuid, select

from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Owner
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.contracts.stacks.wire import Done, Outcome
from locktender.runtime.runs.tokens import new_token, token_digest
from locktender.storage.kernel.database import Database, open_database
from locktender.storage.kernel.fencing import in_states
from locktender.storage.kernel.statement import Statement, parameter
from locktender.storage.stacks.assign import take
from locktender.storage.stacks.cancel import request_cancel
from locktender.storage.stacks.confirm import confirm_apply
from locktender.storage.stacks.reconcile import reconcilers
from locktender.storage.stacks.skip import skip
from locktender.storage.stacks.sweeps import row_sweeps
from locktender.storage.stacks.tables import stack_deployment
from locktender.testkit.database import TestDatabase
from locktender.testkit.races import at_once
from locktender.testkit.run_bench import RunBench, run_bench
from locktender.testkit.servers import NatsServer
from locktender.testkit.stack_truth import assert_order_kept, broken_rules, lanes
from locktender.testkit.stacks import StackRig, new_stack, planned

pytestmark = [pytest.mark.timeout(900), pytest.mark.takes(seconds=30)]

_LONG = os.environ.get("LOCKTENDER_CHAOS") == "long"
_SEED = int(os.environ.get("LOCKTENDER_CHAOS_SEED") or 7)
_CREATES, _STACKS = (2000, 20) if _LONG else (200, 20)
_ROUNDS = 200 if _LONG else 20
_LEASE = 0.7
_DONE = (planned(), planned(changes=False), Done(outcome=Outcome.FAILURE), Done(outcome=Outcome.CANCELLED))
_OPEN = Statement(
    "test.open_of",
    select(stack_deployment.c.id, stack_deployment.c.status).where(
        stack_deployment.c.stack_id == parameter("stack_id", Uuid()),
        in_states(stack_deployment.c.status, STACK_DEPLOYMENT.active),
    ),
)
_STRIKE = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name = 'test' order by state = 'idle', random() limit 1
"""
_NUMBERS = "select number from locktender.stack_deployment where stack_id = $1 order by number"


async def test_creates_whose_connections_are_killed_never_break_a_lane(db: TestDatabase) -> None:
    dice = random.Random(_SEED)  # noqa: S311 - a storm that can be told again
    rigs = [await new_stack(db, auto_approve=("auto", "manual")[n % 2]) for n in range(_STACKS)]
    storm = _Storm(db, dice)
    asked = [(rig, dice.random()) for rig in rigs for _ in range(_CREATES // _STACKS)]
    dice.shuffle(asked)
    made = asyncio.Event()

    async def create_all() -> None:
        await at_once(_create, asked, most=8)
        made.set()

    async with asyncio.timeout(800), asyncio.TaskGroup() as group:
        blowing = [group.create_task(each) for each in (storm.strike(), storm.judge())]
        async with open_database(db.dsn, name="people", size=4) as calm, asyncio.TaskGroup() as living:
            living.create_task(create_all())
            for rig in rigs:
                own = random.Random(dice.random())  # noqa: S311 - as above
                living.create_task(_live(rig, calm, made, own))
        for task in blowing:
            task.cancel()
    assert storm.struck > _CREATES // 40, "the storm struck"
    assert await broken_rules(db.admin) == []
    for rig in rigs:
        numbers = [row["number"] for row in await db.admin.fetch(_NUMBERS, rig.stack_id)]
        assert numbers == list(range(1, _CREATES // _STACKS + 1)), "each create made one, and none was lost"
    for sweep in reconcilers():
        assert await _steadily(lambda each=sweep: each.run(db.database, 100, failed=_unexpected)) == []
    ends = await db.admin.fetch("select status, count(*) n from locktender.stack_deployment group by 1 order by 1")
    print(f"seed {_SEED}: {storm.struck} connections killed: {[tuple(row) for row in ends]}")  # noqa: T201 - figures


class _Storm:
    """Kills connections in the middle of something, and is the reaper; looks whether the rules hold meanwhile."""

    def __init__(self, db: TestDatabase, dice: random.Random) -> None:
        self._db, self._dice = db, dice
        self.struck = 0

    async def strike(self) -> None:
        async with asyncpg.create_pool(self._db.dsn, min_size=1, max_size=1, timeout=20) as pool:
            while True:
                self.struck += len(await pool.fetch(_STRIKE))
                await asyncio.sleep(self._dice.uniform(0.03, 0.2))

    async def judge(self) -> None:
        before = await lanes(self._db.admin)
        while True:
            for sweep in row_sweeps(StackDeadlines(startup=3600)):
                with suppress(Unavailable):
                    await sweep.run(self._db.database, 50, failed=_only_away)
            assert await broken_rules(self._db.admin) == []
            now = await lanes(self._db.admin)
            await assert_order_kept(self._db.admin, before, now)
            before = now
            await asyncio.sleep(0.1)


async def _create(one: tuple[StackRig, float]) -> None:
    """Ask until the answer is heard; the id makes it one deployment however often it is asked for."""
    rig, luck = one
    mode, key = DeploymentMode.PLAN_UNLOCKED if luck < 0.1 else DeploymentMode.PLAN, new_id()
    while True:
        try:
            await rig.deploy(mode, id=key)
        except Unavailable:
            await asyncio.sleep(0.01)
        except asyncpg.UniqueViolationError:
            return
        else:
            return


async def _live(rig: StackRig, calm: Database, made: asyncio.Event, dice: random.Random) -> None:
    """Be the people and the runners of one stack until everything of it is over."""
    while True:
        all_made = made.is_set()
        rows = await calm.fetch(_OPEN, stack_id=rig.stack_id)
        if not rows and all_made:
            return
        for row in rows:
            try:
                await _step(rig, row["id"], row["status"], dice)
            except LocktenderError:
                continue
        await asyncio.sleep(0.02)


async def _step(rig: StackRig, key: UUID, status: str, dice: random.Random) -> None:
    luck = dice.random()
    if luck < 0.05:
        await rig.transact(lambda tx: request_cancel(tx, key, "ada", {}))
    elif status == "waiting" and luck < 0.5:
        await rig.transact(lambda tx: skip(tx, key, "ada", {}))
    elif status == "waiting":
        await rig.transact(lambda tx: confirm_apply(tx, key, "ada", plan_digest=None, variables_digest=None, trace={}))
    elif status in {"pending", "applying"} and (run := await rig.open_run(key)) is not None:
        token = secrets.token_bytes(8)
        taken = await take(rig.db.database, run["id"], owner=Owner("r/1"), ttl=_LEASE, token_hash=token)
        if taken is not None and luck < 0.9:
            await rig.report(taken, dice.choice(_DONE))


def _only_away(_row: UUID, error: Exception) -> None:
    assert isinstance(error, Unavailable), error


def _unexpected(row: UUID, error: Exception) -> None:
    raise AssertionError(row) from error


async def _steadily(work: Any) -> Any:
    for _ in range(20):
        try:
            return await work()
        except Unavailable:
            await asyncio.sleep(0.05)
    raise AssertionError("the database did not come back")


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunBench]:
    async with run_bench(db, nats_server, runner_group="edge") as made:
        yield made


async def test_of_runners_that_race_for_one_run_exactly_one_holds_it(bench: RunBench) -> None:
    """Two remote runners poll and accept, each accept twice, while two runners of ours take it: one token is valid."""
    group = await bench.http.post("/v1/workspaces/acme/runner-groups", json={"name": "edge", "capacity": 64})
    group_token = group.json()["token"]
    won: Counter[str] = Counter()
    async with httpx.AsyncClient(base_url=bench.url, timeout=20, trust_env=False) as http:
        for _ in range(_ROUNDS):
            rig = await new_stack(bench.rig.db, runner_group="edge")
            run = await rig.open_run(await rig.deploy())
            assert run is not None
            async with asyncio.TaskGroup() as racing:
                ours = [racing.create_task(_take(rig, run["id"], n)) for n in range(2)]
                theirs = [racing.create_task(_poll_and_accept(http, group_token)) for _ in range(2)]
            tokens = {task.result() for task in ours} - {None}
            remote = {task.result() for task in theirs} - {None}
            assert len(tokens) + len(remote) == 1, (tokens, remote)
            for token in tokens | remote:
                answer = await http.get(f"/v1/runs/{run['id']}/status", headers={"Authorization": f"Bearer {token}"})
                assert answer.json()["status"] == "running", answer.text
            row = await rig.db.admin.fetchrow("select * from locktender.stack_run where id = $1", run["id"])
            assert row is not None
            assert (row["status"], row["lease_epoch"]) == ("running", 1)
            won["remote" if remote else "ours"] += 1
    assert await broken_rules(bench.rig.db.admin) == []
    assert won.total() == _ROUNDS


async def _take(rig: StackRig, run_id: UUID, number: int) -> str | None:

    token = new_token()
    # Now this one comes first, and now the others.
    await asyncio.sleep(random.uniform(0, 0.02))  # noqa: S311 - luck
    taken = await take(
        rig.db.database, run_id, owner=Owner(f"runner-{number}/1"), ttl=60, token_hash=token_digest(token)
    )
    return None if taken is None else token.get_secret_value()


async def _poll_and_accept(http: httpx.AsyncClient, group_token: str) -> str | None:
    offer = await http.post(
        "/v1/runner-groups/poll", json={"name": "edge-1"}, headers={"Authorization": f"Bearer {group_token}"}
    )
    if offer.status_code == 204:
        return None
    told = offer.json()
    accept = f"/v1/runs/{told['runId']}/accept"
    headers = {"Authorization": f"Bearer {told['assignment']}"}
    async with asyncio.TaskGroup() as twice:
        answers = [
            twice.create_task(http.post(accept, json={"runnerId": told["runnerId"]}, headers=headers)) for _ in range(2)
        ]
    accepted = [task.result() for task in answers]
    assert {answer.status_code for answer in accepted} == {200}, [answer.text for answer in accepted]
    assert len({answer.json()["token"] for answer in accepted}) == 1, "an answer that was lost is given again"
    return accepted[0].json()["token"]
