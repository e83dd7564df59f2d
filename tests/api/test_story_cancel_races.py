"""Races of two around a cancel, hundreds of times each: what the canceller was told is how the task ended."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import httpx
import pytest

from locktender.contracts.kernel.errors import LeaseLost, WrongState
from locktender.contracts.kernel.lease import Lease
from locktender.storage.deployments.writes import Claimed, DeploymentWrites
from locktender.testkit import rows
from locktender.testkit.api import RunningApi, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.servers import NatsServer

pytestmark = pytest.mark.takes(seconds=20)

RACES = 200
AT_ONCE = 16


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


async def ask(api: RunningApi, task: object, workspace: str = "acme") -> httpx.Response:
    return await api.http.post(api.path(f"/{task}/cancel", workspace))


async def shown(api: RunningApi, task: object, **headers: str) -> dict[str, Any]:
    answer = await api.http.get(api.path(f"/{task}"), headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


Ending = Callable[[DeploymentWrites, Lease], Awaitable[object]]


async def complete(writes: DeploymentWrites, lease: Lease) -> None:
    await writes.complete(lease, rows.told(), timeline=rows.TIMELINE)


async def fail(writes: DeploymentWrites, lease: Lease) -> None:
    await writes.fail(lease, rows.told(), timeline=rows.TIMELINE, failure=rows.FAILURE)


class Pace:
    """Lets either side of a race be the first, however fast the machine is."""

    def __init__(self) -> None:
        self._usual = 0.02

    async def head_start(self) -> None:
        """Let the request get ahead: not at all, all the way, or anything between."""
        await asyncio.sleep(random.uniform(0, 1.3 * self._usual))  # noqa: S311 - which one it is does not matter

    async def of(self, request: Awaitable[httpx.Response]) -> httpx.Response:
        """The answer; how long requests take is remembered."""
        begun = asyncio.get_running_loop().time()
        answer = await request
        self._usual += 0.2 * (asyncio.get_running_loop().time() - begun - self._usual)
        return answer


@pytest.mark.parametrize(("end", "status"), [(complete, "completed"), (fail, "failed")])
@pytest.mark.story(18)
async def test_a_cancel_and_an_outcome_at_the_same_time_leave_one_outcome_and_it_is_what_the_canceller_was_told(
    api: RunningApi, module_db: TestDatabase, end: Ending, status: str
) -> None:
    writes, project = module_db.writes, f"race-{status}"
    answers: dict[str, httpx.Response] = {}
    room, pace = asyncio.Semaphore(AT_ONCE), Pace()

    async def run(lease: Lease) -> None:
        await pace.head_start()
        try:
            await end(writes, lease)
        except WrongState:
            # As every runner does: a cancel that came first is confirmed.
            await writes.acknowledge_cancel(lease, rows.told(), timeline=rows.TIMELINE)

    async def race() -> None:
        async with room:
            lease = await rows.applying(module_db, project=project)
            async with asyncio.TaskGroup() as both:
                both.create_task(run(lease))
                stop = both.create_task(pace.of(ask(api, lease.row_id)))
            answers[str(lease.row_id)] = stop.result()

    async with asyncio.TaskGroup() as group:
        for _ in range(RACES):
            group.create_task(race())
    final, kinds = await everything(api, project), await event_kinds(module_db, project)
    assert set(final) == set(answers) == set(kinds)
    for task, answer in answers.items():
        agrees(answer, final[task], Counter(kinds[task]), status)
    told = Counter(each["status"] for each in final.values())
    assert min(told["cancelled"], told[status]) > 0, told
    assert told["cancelled"] + told[status] == RACES


async def everything(api: RunningApi, project: str) -> dict[str, dict[str, Any]]:
    """Every task of a project, page by page."""
    found: dict[str, dict[str, Any]] = {}
    cursor: dict[str, str] = {}
    while True:
        answer = await api.http.get(api.path(), params={"project": project, "limit": 200, **cursor})
        found |= {task["id"]: task for task in answer.json()["tasks"]}
        if answer.json()["nextCursor"] is None:
            return found
        cursor = {"cursor": answer.json()["nextCursor"]}


async def event_kinds(db: TestDatabase, project: str) -> dict[str, list[str]]:
    """What each task of a project went through."""
    rows = await db.admin.fetch(
        "select t.id, array_agg(e.kind order by e.revision) as kinds from locktender.deployment_event e "
        "join locktender.deployment_task t on t.id = e.task_id where t.project = $1 group by t.id",
        project,
    )
    return {str(row["id"]): row["kinds"] for row in rows}


def agrees(answer: httpx.Response, final: dict[str, Any], kinds: Counter[str], status: str) -> None:
    """Whatever the canceller was told, it is how the raced task ended, and it ended once."""
    assert kinds["cancelled"] + kinds[status] == 1
    if answer.status_code == 409:
        assert (final["status"], kinds["cancel-requested"]) == (status, 0)
        assert answer.json()["snapshot"]["task"] == final
    else:
        assert answer.status_code == 200, answer.text
        assert (final["status"], kinds["cancel-requested"], final["failure"]) == ("cancelled", 1, None)
        asked = answer.json()["task"]
        assert asked["cancelRequestedAt"] == final["cancelRequestedAt"]
        assert asked["status"] in {"applying", "cancelled"}


async def test_a_cancel_and_a_claim_at_the_same_time_leave_either_nothing_begun_or_a_run_that_was_told(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes = module_db.writes
    room, pace = asyncio.Semaphore(AT_ONCE), Pace()
    ends: Counter[str] = Counter()

    async def take(task: UUID) -> list[Claimed]:
        await pace.head_start()
        return await writes.claim([task], rows.OWNER, 60)

    async def race() -> None:
        async with room:
            task = await rows.created(module_db, project="claims")
            async with asyncio.TaskGroup() as both:
                claim = both.create_task(take(task))
                stop = both.create_task(pace.of(ask(api, task)))
        answer = stop.result()
        assert answer.status_code == 200, answer.text
        asked = answer.json()["task"]
        claimed = claim.result()
        assert asked["cancelRequestedAt"] is not None
        assert asked["status"] == ("running" if claimed else "cancelled")
        for each in claimed:
            # The run cannot end in any other way any more.
            with pytest.raises(WrongState):
                await fail(writes, each.lease)
            await writes.acknowledge_cancel(each.lease, rows.told(), timeline=rows.TIMELINE)
        ends["begun" if claimed else "never begun"] += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(RACES):
            group.create_task(race())
    assert [task["status"] for task in (await everything(api, "claims")).values()] == ["cancelled"] * RACES
    assert min(ends["begun"], ends["never begun"]) > 0, ends


async def test_a_cancel_and_the_loss_of_the_runner_at_the_same_time_end_as_the_canceller_was_told(
    api: RunningApi, module_db: TestDatabase
) -> None:
    writes = module_db.writes
    leases = [await rows.applying(module_db, project="lost", ttl=0.0) for _ in range(60)]
    answers: dict[UUID, httpx.Response] = {}
    swept = asyncio.Event()

    async def stop(lease: Lease) -> None:
        answers[lease.row_id] = await ask(api, lease.row_id)

    async def sweep() -> None:
        while not swept.is_set():
            for verdict in ("interrupted-with-cancel", "interrupted"):
                await writes.sweep(verdict, 3)

    async with asyncio.TaskGroup() as group:
        group.create_task(sweep())
        async with asyncio.TaskGroup() as cancels:
            for lease in leases:
                cancels.create_task(stop(lease))
        await eventually(lambda: none_live(module_db, "lost"))
        swept.set()
    for lease in leases:
        task = (await shown(api, lease.row_id))["task"]
        assert task["status"] == ("cancelled" if answers[lease.row_id].status_code == 200 else "failed")
        with suppress(WrongState), pytest.raises(LeaseLost):
            await complete(writes, lease)


async def none_live(db: TestDatabase, project: str) -> bool:
    return not await db.admin.fetchval(
        "select exists (select from locktender.deployment_task where project = $1 and status = 'applying')",
        project,
    )
