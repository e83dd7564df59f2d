"""Redeploying while somebody else does, and while retention takes the predecessor away: hundreds of times."""

import asyncio
import json
from collections.abc import AsyncGenerator
from uuid import UUID

import httpx
import pytest

from locktender.storage.deployments.retention import Retention
from locktender.testkit import rows
from locktender.testkit.api import RunningApi, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.endings import ended, purges
from locktender.testkit.races import at_once
from locktender.testkit.servers import NatsServer

pytestmark = pytest.mark.takes(seconds=20)

ROUNDS = 200
NAME = "wiki-abcdefgh"
IDENTITY = json.dumps({"instance": NAME, "seed": str(UUID(int=7)), "defaults": {}})


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


async def again(api: RunningApi, before: UUID) -> httpx.Response:
    return await api.http.post(api.path(), json={"predecessorTaskId": str(before)})


def kind(answer: httpx.Response) -> str:
    return str(answer.json()["type"]).rpartition(":")[2]


async def failed_many(db: TestDatabase) -> list[UUID]:
    made: list[UUID] = []

    async def one(_: int) -> None:
        made.append(await ended(db, await rows.created(db), identity=IDENTITY))

    await at_once(one, range(ROUNDS))
    return made


@pytest.mark.story(34)
async def test_of_two_who_redeploy_one_wins_and_the_other_is_shown_the_winner(
    api: RunningApi, module_db: TestDatabase
) -> None:
    async def race(before: UUID) -> None:
        async with asyncio.TaskGroup() as group:
            both = [group.create_task(again(api, before)) for _ in range(2)]
        won, lost = sorted((each.result() for each in both), key=lambda answer: answer.status_code)
        assert (won.status_code, lost.status_code, kind(lost)) == (201, 409, "already-redeployed")
        assert lost.json()["snapshot"]["task"]["id"] == won.json()["task"]["id"]

    await at_once(race, await failed_many(module_db))
    most = await module_db.admin.fetchval(
        "select max(n) from (select count(*) as n from locktender.deployment_task "
        "where predecessor_id is not null group by predecessor_id) counted"
    )
    assert most == 1


async def test_of_two_who_redeploy_while_the_first_is_cancelled_each_gets_a_true_answer(
    api: RunningApi, module_db: TestDatabase
) -> None:
    async def race(before: UUID) -> None:
        first = (await again(api, before)).json()["task"]["id"]
        async with asyncio.TaskGroup() as group:
            second = group.create_task(again(api, before))
            group.create_task(api.http.post(api.path(f"/{first}/cancel")))
        answer = second.result()
        if answer.status_code == 201:
            assert answer.json()["task"]["id"] != first
        else:
            assert (answer.status_code, kind(answer)) == (409, "already-redeployed")
            assert answer.json()["snapshot"]["task"]["id"] == first

    await at_once(race, await failed_many(module_db))


async def test_of_a_redeploy_and_a_purge_the_clone_has_all_or_is_told_that_there_is_nothing(
    api: RunningApi, module_db: TestDatabase
) -> None:
    tasks = await failed_many(module_db)
    leases = dict(zip(tasks, await purges(module_db, tasks), strict=True))
    made: list[int] = []

    async def race(before: UUID) -> None:
        async with asyncio.TaskGroup() as group:
            clone = group.create_task(again(api, before))
            gone = group.create_task(Retention(module_db.database).remove([leases[before]]))
        assert [each.outcome for each in gone.result()] == ["removed"]
        answer = clone.result()
        made.append(answer.status_code)
        if answer.status_code == 201:
            assert answer.json()["task"]["instance"] == NAME
        else:
            assert (answer.status_code, kind(answer)) == (404, "not-found")

    await at_once(race, tasks)
    assert len(made) == ROUNDS
