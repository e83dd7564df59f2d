"""Two who act on one task at the same moment, hundreds of times: what each was told is what became of the task.

Further pairs: cancelling beside outcomes and claims in `test_story_cancel`, inputs in `test_story_inputs`, redeploys and
purges in `test_redeploy_races`.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar
from uuid import UUID

import httpx
import pytest

from locktender.contracts.kernel.errors import WrongState
from locktender.runtime.connect import connect_bus
from locktender.runtime.custody_client import CustodyClient
from locktender.storage.deployments.writes import Claimed, DeploymentWrites
from locktender.testkit import rows
from locktender.testkit.api import RunningApi, kubeconfig, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import NatsRig, nats_rig
from locktender.testkit.parked import park
from locktender.testkit.races import at_once
from locktender.testkit.servers import NatsServer

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


async def shown(api: RunningApi, task_id: UUID) -> dict[str, Any]:
    return (await api.http.get(api.path(f"/{task_id}"))).json()


def kinds(snapshot: dict[str, Any]) -> Counter[str]:
    return Counter(event["kind"] for event in snapshot["events"])


def kind(answer: httpx.Response) -> str:
    return str(answer.json()["type"]).rpartition(":")[2]


async def waiting(db: TestDatabase, api: RunningApi | None = None) -> list[UUID]:
    """Tasks that wait for a title; with `api`, it has been submitted already."""
    made: list[UUID] = []

    async def one(_: int) -> None:
        task_id = await park(db, await rows.created(db, runner="direct"), FORM)
        if api is not None:
            assert (await submit(api, task_id)).status_code == 200
        made.append(task_id)

    await at_once(one, range(ROUNDS))
    return made


async def claim(db: TestDatabase, task_id: UUID) -> list[Claimed]:
    return await DeploymentWrites(db.database).claim([task_id], rows.OWNER, 60)


@pytest.mark.story(2)
async def test_of_a_cancel_and_the_run_that_goes_on_either_nothing_is_begun_or_the_run_is_told(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes, ends = DeploymentWrites(module_db.database), Counter[str]()

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
        found = await shown(api, task_id)
        assert (found["task"]["status"], kinds(found)["resumed"]) == ("cancelled", len(claimed))
        assert kinds(found)["cancelled"] == 1
        ends["begun" if claimed else "never begun"] += 1

    await at_once(race, await waiting(module_db, api))
    assert min(ends["begun"], ends["never begun"]) > 0, ends


async def test_of_a_run_that_goes_on_and_the_withdrawal_of_its_inputs_exactly_one_takes_them(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes, ends = DeploymentWrites(module_db.database), Counter[str]()
    tasks = await waiting(module_db, api)
    over = asyncio.Event()

    async def withdraw() -> None:
        while not over.is_set():
            await writes.withdraw_input(1, 0.0)
            await asyncio.sleep(0.005)

    async def race(task_id: UUID) -> None:
        claimed = await a_little_later(claim(module_db, task_id))
        found = await shown(api, task_id)
        counted = kinds(found)
        assert (counted["resumed"], counted["input-withdrawn"]) == ((1, 0) if claimed else (0, 1))
        assert found["task"]["status"] == ("running" if claimed else "blocked")
        ends["resumed" if claimed else "withdrawn"] += 1
        if not claimed:
            # Nothing is lost: it waits for them again.
            assert found["task"]["blockedBy"]["kind"] == "input"
            assert found["task"]["asked"]["inputs"][0]["key"] == "title"

    async with asyncio.TaskGroup() as group:
        group.create_task(withdraw())
        await at_once(race, tasks)
        over.set()
    assert min(ends["resumed"], ends["withdrawn"]) > 0, ends


async def test_of_a_withdrawal_and_a_second_answer_the_second_counts_only_if_its_sender_was_told_so(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes, ends = DeploymentWrites(module_db.database), Counter[int]()
    tasks = await waiting(module_db, api)

    async def race(task_id: UUID) -> None:
        answer, _ = await both(a_little_later(submit(api, task_id, "Two")), writes.withdraw_input(1, 0.0))
        assert answer.status_code == 200 or kind(answer) == "not-waiting"
        ends[answer.status_code] += 1
        told[task_id] = answer.status_code == 200

    told: dict[UUID, bool] = {}
    await at_once(race, tasks)
    for task_id, second in told.items():
        found = await shown(api, task_id)
        submitted, withdrawn = kinds(found)["input-submitted"], kinds(found)["input-withdrawn"]
        assert submitted == 1 + second
        assert withdrawn in {submitted, submitted - 1}
        assert (found["task"]["resumeRequestedAt"] is not None) == (submitted > withdrawn)
    assert min(ends[200], ends[409]) > 0, ends


async def test_of_a_canvas_and_the_end_of_the_run_the_canvas_is_kept_only_if_its_sender_was_told_so(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes, ends = DeploymentWrites(module_db.database), Counter[int]()

    async def race(_: int) -> None:
        lease = await rows.applying(module_db)
        patch = api.http.patch(api.path(f"/{lease.row_id}/canvas-projection"), json={"canvas": CANVAS})
        end = writes.complete(lease, rows.told(), timeline=rows.TIMELINE)
        answer, _ = await both(patch, a_little_later(end))
        found = await shown(api, lease.row_id)
        assert found["task"]["status"] == "completed"
        assert found["task"]["revision"] == len(found["events"])
        ends[answer.status_code] += 1
        project = await api.http.get("/v1/workspaces/acme/projects/shop/deployment-tasks")
        [kept] = [each for each in project.json()["projections"] if each["id"] == str(lease.row_id)] or [None]
        if answer.status_code == 200:
            assert kinds(found)["placed"] == 1
            assert kept is None or kept["canvas"]["slots"][0]["id"] == "a"
        else:
            assert (answer.status_code, kind(answer)) == (409, "not-placeable")
            assert answer.json()["snapshot"]["task"]["status"] == "completed"
            assert kinds(found)["placed"] == 0

    await at_once(race, range(ROUNDS))
    assert min(ends[200], ends[409]) > 0, ends


@pytest.mark.story(18)
async def test_of_a_cancel_and_a_redeploy_of_the_same_task_the_redeploy_follows_the_cancel_or_is_refused(
    api: RunningApi, module_db: TestDatabase
) -> None:
    ends = Counter[int]()

    async def race(_: int) -> None:
        task_id = await rows.created(module_db)
        stopped, answer = await both(cancel(api, task_id), a_little_later(again(api, task_id)))
        assert stopped.status_code == 200
        ends[answer.status_code] += 1
        found = (await shown(api, task_id))["task"]
        assert found["status"] == "cancelled"
        if answer.status_code == 201:
            assert found["supersededBy"] == answer.json()["task"]["id"]
        else:
            assert (answer.status_code, kind(answer)) == (409, "not-redeployable")
            assert answer.json()["snapshot"]["task"]["id"] == str(task_id)
            assert found["supersededBy"] is None

    await at_once(race, range(ROUNDS))
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

    await at_once(race, await waiting(module_db))
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
        successors = await module_db.admin.fetchval(
            "select count(*) from locktender.deployment_task where predecessor_id = $1", before
        )
        assert successors == 1

    await at_once(race, range(ROUNDS))
