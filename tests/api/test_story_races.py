"""Two who act on one task at the same moment, hundreds of times: what each was told is what became of the task.

Further pairs: cancelling beside outcomes and claims in `test_story_cancel_races`, inputs in `test_story_inputs`,
redeploys and purges in `test_redeploy_races`.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import httpx
import pytest

from locktender.contracts.kernel.errors import WrongState
from locktender.runtime.connect import connect_bus
from locktender.runtime.custody_client import CustodyClient
from locktender.storage.deployments.writes import Claimed
from locktender.testkit import rows
from locktender.testkit.api import RunningApi, kubeconfig, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, nats_rig
from locktender.testkit.parked import park
from locktender.testkit.races import at_once
from locktender.testkit.servers import NatsServer

pytestmark = pytest.mark.takes(seconds=40)

T, U = TypeVar("T"), TypeVar("U")
ROUNDS = 200
FORM = {"inputs": [{"key": "title", "required": True}], "message": "a title is needed"}
CANVAS = {"slots": [{"id": "a", "anchor": "left"}]}


@pytest.fixture(scope="module")
async def keyless() -> AsyncGenerator[NatsRig]:
    async with nats_rig() as rig:
        yield rig


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, keyless: NatsRig) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, NatsServer("embedded", keyless.nats_url, {})) as running:
        yield running


@pytest.fixture(scope="module")
async def second(module_db: TestDatabase, keyless: NatsRig) -> AsyncGenerator[RunningApi]:
    """Another process of the API, as far as anybody can tell: nothing but the database and the bus is shared."""
    nats = NatsServer("embedded", keyless.nats_url, {})
    async with running_api(module_db, nats, instance="api-2") as running:
        yield running


@pytest.fixture(scope="module")
async def custody(keyless: NatsRig) -> AsyncGenerator[CustodyClient]:
    bus = await connect_bus(keyless, "runner")
    try:
        yield CustodyClient(bus, grace=0.2)
    finally:
        await bus.close()


async def both(one: Coroutine[Any, Any, T], other: Coroutine[Any, Any, U]) -> tuple[T, U]:
    async with asyncio.TaskGroup() as group:
        first, last = group.create_task(one), group.create_task(other)
    return first.result(), last.result()


async def a_little_later(what: Coroutine[Any, Any, T]) -> T:
    """A write is quicker than a request; this lets either be the first."""
    await asyncio.sleep(random.uniform(0, 0.12))  # noqa: S311 - which one it is does not matter
    return await what


async def submit(api: RunningApi, task_id: UUID, title: str = "One") -> httpx.Response:
    body = {"values": {"title": title}, "kubeconfig": kubeconfig()}
    return await api.http.post(api.path(f"/{task_id}/input"), json=body)


async def cancel(api: RunningApi, task_id: UUID) -> httpx.Response:
    return await api.http.post(api.path(f"/{task_id}/cancel"))


async def again(api: RunningApi, before: UUID) -> httpx.Response:
    return await api.http.post(api.path(), json={"predecessorTaskId": str(before)})


@dataclass(frozen=True, slots=True)
class Found:
    """A task as the list shows it, and how often each of its events happened."""

    task: dict[str, Any]
    kinds: Counter[str]


async def found(api: RunningApi, db: TestDatabase, project: str) -> dict[UUID, Found]:
    """Every task of a project, when the races are over."""
    events = await db.admin.fetch(
        "select t.id, array_agg(e.kind) as kinds from locktender.deployment_task t join locktender.deployment_event e "
        "on e.task_id = t.id where t.project = $1 group by t.id",
        project,
    )
    tasks: dict[str, Any] = {}
    query = {"project": project, "limit": "100"}
    while True:
        page = (await api.http.get(api.path(), params=query)).json()
        tasks |= {each["id"]: each for each in page["tasks"]}
        if page["nextCursor"] is None:
            break
        query["cursor"] = page["nextCursor"]
    return {row["id"]: Found(tasks[str(row["id"])], Counter(row["kinds"])) for row in events}


def kind(answer: httpx.Response) -> str:
    return str(answer.json()["type"]).rpartition(":")[2]


async def waiting(db: TestDatabase, project: str, *, submitted: bool = False) -> list[UUID]:
    """Tasks that wait for a title, or for a runner since it was submitted."""
    writes, made = db.writes, list[UUID]()

    async def one(_: int) -> None:
        task_id = await park(db, await rows.created(db, runner="direct", project=project), FORM)
        if submitted:
            await writes.submit_input(task_id, "ada", "api-1", rows.told(actor="api"))
        made.append(task_id)

    await at_once(one, range(ROUNDS))
    return made


async def claim(db: TestDatabase, task_id: UUID) -> list[Claimed]:
    return await db.writes.claim([task_id], rows.OWNER, 60)


@pytest.mark.story(2)
async def test_of_a_cancel_and_the_run_that_goes_on_either_nothing_is_begun_or_the_run_is_told(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes, ends = module_db.writes, Counter[str]()

    async def race(task_id: UUID) -> None:
        answer, claimed = await both(cancel(api, task_id), a_little_later(claim(module_db, task_id)))
        assert answer.status_code == 200, answer.text
        told = answer.json()["task"]
        assert told["cancelRequestedAt"] is not None
        assert told["status"] == ("running" if claimed else "cancelled")
        for each in claimed:
            # The run cannot park, and cannot end in any other way any more.
            with pytest.raises(WrongState):
                await writes.request_inputs(each.lease, rows.told(), timeline=rows.TIMELINE, asked=json.dumps(FORM))
            await writes.acknowledge_cancel(each.lease, rows.told(), timeline=rows.TIMELINE)
        begun[task_id] = len(claimed)
        ends["begun" if claimed else "never begun"] += 1

    begun: dict[UUID, int] = {}
    await at_once(race, await waiting(module_db, "cancel-resume", submitted=True))
    for task_id, each in (await found(api, module_db, "cancel-resume")).items():
        assert (each.task["status"], each.kinds["cancelled"]) == ("cancelled", 1)
        assert each.kinds["resumed"] == begun[task_id]
    assert min(ends["begun"], ends["never begun"]) > 0, ends


async def test_of_a_run_that_goes_on_and_the_withdrawal_of_its_inputs_exactly_one_takes_them(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes, ends = module_db.writes, Counter[str]()
    tasks = await waiting(module_db, "withdraw-resume", submitted=True)
    taken: dict[UUID, bool] = {}
    over = asyncio.Event()

    async def withdraw() -> None:
        while not over.is_set():
            await writes.withdraw_input(1, 0.0)
            await asyncio.sleep(0.005)

    async def race(task_id: UUID) -> None:
        taken[task_id] = bool(await a_little_later(claim(module_db, task_id)))
        ends["resumed" if taken[task_id] else "withdrawn"] += 1

    async with asyncio.TaskGroup() as group:
        group.create_task(withdraw())
        await at_once(race, tasks)
        over.set()
    for task_id, each in (await found(api, module_db, "withdraw-resume")).items():
        if taken[task_id]:
            assert (each.kinds["resumed"], each.kinds["input-withdrawn"], each.task["status"]) == (1, 0, "running")
        else:
            # Nothing is lost: it waits for them again.
            assert (each.kinds["resumed"], each.kinds["input-withdrawn"], each.task["status"]) == (0, 1, "blocked")
            assert (each.task["blockedBy"]["kind"], each.task["resumeRequestedAt"]) == ("input", None)
            assert each.task["asked"]["inputs"][0]["key"] == "title"
    assert min(ends["resumed"], ends["withdrawn"]) > 0, ends


async def test_of_a_withdrawal_and_a_second_answer_the_second_counts_only_if_its_sender_was_told_so(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes, ends = module_db.writes, Counter[int]()
    tasks = await waiting(module_db, "withdraw-answer", submitted=True)

    async def race(task_id: UUID) -> None:
        answer, _ = await both(a_little_later(submit(api, task_id, "Two")), writes.withdraw_input(1, 0.0))
        assert answer.status_code == 200 or kind(answer) == "not-waiting"
        ends[answer.status_code] += 1
        told[task_id] = answer.status_code == 200

    told: dict[UUID, bool] = {}
    await at_once(race, tasks)
    for task_id, each in (await found(api, module_db, "withdraw-answer")).items():
        submitted, withdrawn = each.kinds["input-submitted"], each.kinds["input-withdrawn"]
        assert submitted == 1 + told[task_id]
        assert withdrawn in {submitted, submitted - 1}
        assert (each.task["resumeRequestedAt"] is not None) == (submitted > withdrawn)
    assert min(ends[200], ends[409]) > 0, ends


async def test_of_a_canvas_and_the_end_of_the_run_the_canvas_is_kept_only_if_its_sender_was_told_so(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes, ends = module_db.writes, Counter[int]()

    async def race(_: int) -> None:
        lease = await rows.applying(module_db, project="canvas")
        body = {"mode": "replace", "canvas": CANVAS}
        patch = api.http.patch(api.path(f"/{lease.row_id}/canvas-projection"), json=body)
        end = writes.complete(lease, rows.told(), timeline=rows.TIMELINE)
        answer, _ = await both(patch, a_little_later(end))
        ends[answer.status_code] += 1
        placed[lease.row_id] = answer.status_code == 200
        if answer.status_code != 200:
            assert (answer.status_code, kind(answer)) == (409, "not-placeable")
            assert answer.json()["snapshot"]["task"]["status"] == "completed"

    placed: dict[UUID, bool] = {}
    await at_once(race, range(ROUNDS))
    for task_id, each in (await found(api, module_db, "canvas")).items():
        assert (each.task["status"], each.kinds["completed"]) == ("completed", 1)
        assert (each.kinds["placed"], each.task["revision"]) == (placed[task_id], each.kinds.total())
    kept = (await api.http.get("/v1/workspaces/acme/projects/canvas/deployment-tasks")).json()["projections"]
    assert kept
    for each in kept:
        assert (each["canvas"] is not None) == placed[UUID(each["id"])]
    assert min(ends[200], ends[409]) > 0, ends


@pytest.mark.story(18)
async def test_of_a_cancel_and_a_redeploy_of_the_same_task_the_redeploy_follows_the_cancel_or_is_refused(
    api: RunningApi, module_db: TestDatabase
) -> None:
    ends = Counter[int]()

    async def race(_: int) -> None:
        task_id = await rows.created(module_db, project="cancel-redeploy")
        stopped, answer = await both(cancel(api, task_id), a_little_later(again(api, task_id)))
        assert stopped.status_code == 200
        ends[answer.status_code] += 1
        if answer.status_code == 201:
            after[task_id] = answer.json()["task"]["id"]
        else:
            assert (answer.status_code, kind(answer)) == (409, "not-redeployable")
            assert answer.json()["snapshot"]["task"]["id"] == str(task_id)
            after[task_id] = None

    after: dict[UUID, str | None] = {}
    await at_once(race, range(ROUNDS))
    tasks = await found(api, module_db, "cancel-redeploy")
    for task_id, successor in after.items():
        assert (tasks[task_id].task["status"], tasks[task_id].task["supersededBy"]) == ("cancelled", successor)
    assert min(ends[201], ends[409]) > 0, ends


@pytest.mark.story(32)
async def test_of_two_who_answer_at_two_processes_of_the_api_the_run_gets_the_values_of_the_winner(
    api: RunningApi, second: RunningApi, module_db: TestDatabase, custody: CustodyClient
) -> None:
    winners = Counter[str]()

    async def race(task_id: UUID) -> None:
        one, two = await both(submit(api, task_id, "One"), submit(second, task_id, "Two"))
        assert sorted([one.status_code, two.status_code]) == [200, 409]
        winner = "One" if one.status_code == 200 else "Two"
        winners[winner] += 1
        [claimed] = await claim(module_db, task_id)
        assert claimed.custodian is not None
        payload = await custody.fetch(claimed.custodian, task_id, claimed.lease.epoch, "acme", 5)
        assert json.loads(payload)["inputs"] == {"title": winner}

    await at_once(race, await waiting(module_db, "answers"))
    assert min(winners["One"], winners["Two"]) > 0, winners


@pytest.mark.story(34)
async def test_of_two_who_redeploy_at_two_processes_of_the_api_one_task_comes(
    api: RunningApi, second: RunningApi, module_db: TestDatabase
) -> None:
    async def race(_: int) -> None:
        before = await rows.failed(module_db)
        won, lost = sorted(await both(again(api, before), again(second, before)), key=lambda each: each.status_code)
        assert (won.status_code, lost.status_code, kind(lost)) == (201, 409, "already-redeployed")
        assert lost.json()["snapshot"]["task"]["id"] == won.json()["task"]["id"]
        winners[UUID(won.json()["task"]["id"])] = before

    winners: dict[UUID, UUID] = {}
    await at_once(race, range(ROUNDS))
    successors = await module_db.admin.fetch(
        "select id, predecessor_id from locktender.deployment_task where predecessor_id = any($1)",
        list(winners.values()),
    )
    assert {row["id"]: row["predecessor_id"] for row in successors} == winners
