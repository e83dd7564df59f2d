"""Runner groups are changed in place, and their tokens rotated without a gap for the runners that hold the old one."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from locktender.testkit.api import GUEST_TOKEN, RunningApi, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer

GROUPS = "/v1/workspaces/acme/runner-groups"


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


async def made(api: RunningApi, name: str) -> str:
    """A new group; its token."""
    answer = await api.http.post(GROUPS, json={"name": name, "labels": ["gpu"], "capacity": 3})
    assert answer.status_code == 201, answer.text
    return answer.json()["token"]


async def rotation(api: RunningApi, name: str, **asked: Any) -> httpx.Response:
    return await api.http.post(f"{GROUPS}/{name}/rotate-token", json=asked)


async def rotated(api: RunningApi, name: str, **asked: Any) -> str:
    answer = await rotation(api, name, **asked)
    assert answer.status_code == 200, answer.text
    return answer.json()["token"]


async def let_in(api: RunningApi, *tokens: str) -> list[bool]:
    """Which tokens a runner can ask for work with."""
    found: list[bool] = []
    for token in tokens:
        headers = {"Authorization": f"Bearer {token}"}
        answer = await api.http.post("/v1/runner-groups/poll", json={"name": "box"}, headers=headers)
        assert answer.status_code in {204, 401}, answer.text
        found.append(answer.status_code == 204)
    return found


async def test_a_change_leaves_alone_what_it_does_not_name(api: RunningApi) -> None:
    token = await made(api, "changed")
    wider = await api.http.patch(f"{GROUPS}/changed", json={"capacity": 7})
    assert (wider.status_code, wider.json()["labels"], wider.json()["capacity"]) == (200, ["gpu"], 7)
    bare = (await api.http.patch(f"{GROUPS}/changed", json={"labels": []})).json()
    assert (bare["labels"], bare["capacity"], bare["name"]) == ([], 7, "changed")
    assert bare == (await api.http.get(f"{GROUPS}/changed")).json()
    assert await let_in(api, token) == [True]
    for wrong in ({"capacity": 0}, {"name": "other"}, {"labels": ["no spaces"]}):
        assert (await api.http.patch(f"{GROUPS}/changed", json=wrong)).status_code == 400, wrong
    assert (await api.http.patch(f"{GROUPS}/nobody", json={"capacity": 1})).status_code == 404
    guest = {"Authorization": f"Bearer {GUEST_TOKEN}"}
    for method, rest in (("PATCH", ""), ("POST", "/rotate-token")):
        answer = await api.http.request(method, f"{GROUPS}/changed{rest}", json={}, headers=guest)
        assert answer.status_code in {403, 404}


async def test_an_old_token_is_void_at_once_unless_it_is_kept(api: RunningApi, module_db: TestDatabase) -> None:
    first = await made(api, "moved")
    with capture_logs() as told:
        second = await rotated(api, "moved")
    assert await let_in(api, first, second) == [False, True]
    assert not [each for each in told if second in str(each)]
    assert [(each["group"], each["actor"]) for each in told if "another token" in each["event"]] == [("moved", "admin")]
    third = await rotated(api, "moved", keepOldSeconds=600)
    assert await let_in(api, first, second, third) == [False, True, True]
    assert (await api.http.get(f"{GROUPS}/moved")).json()["oldTokenUntil"] is not None
    await module_db.advance(601)
    assert await let_in(api, second, third) == [False, True]
    assert (await api.http.get(f"{GROUPS}/moved")).json()["oldTokenUntil"] is None
    assert (await rotation(api, "moved", keepOldSeconds=604_801)).status_code == 400


async def test_a_promise_to_runners_is_not_broken_by_the_next_rotation_unless_all_old_tokens_shall_end(
    api: RunningApi,
) -> None:
    first = await made(api, "kept")
    second = await rotated(api, "kept", keepOldSeconds=600)
    refused = await rotation(api, "kept", keepOldSeconds=600)
    assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (409, "token-kept")
    assert await let_in(api, first, second) == [True, True]
    third = await rotated(api, "kept", keepOldSeconds=0)
    assert await let_in(api, first, second, third) == [False, False, True]


async def test_a_token_that_got_lost_on_its_way_is_replaced_while_the_one_before_it_stays(api: RunningApi) -> None:
    first = await made(api, "lost")
    lost = await rotated(api, "lost", keepOldSeconds=600)
    again = await rotated(api, "lost", keepOldSeconds=600, again=True)
    assert await let_in(api, first, lost, again) == [True, False, True]


async def test_of_two_rotations_at_once_one_token_works_and_somebody_has_it(api: RunningApi) -> None:
    first = await made(api, "raced")
    async with asyncio.TaskGroup() as group:
        ended = [group.create_task(rotation(api, "raced")) for _ in range(4)]
    tokens = [each.result().json()["token"] for each in ended]
    assert (await let_in(api, first, *tokens)).count(True) == 1
    async with asyncio.TaskGroup() as group:
        ended = [group.create_task(rotation(api, "raced", keepOldSeconds=60)) for _ in range(4)]
    assert sorted(each.result().status_code for each in ended) == [200, 409, 409, 409]
