"""Histories: whatever is added meanwhile, turning pages shows each row once, and only our own cursors turn them."""

import asyncio
import base64
import itertools
import json
import string
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.kernel.ids import new_id
from locktender.testkit import rows
from locktender.testkit.api import GUEST_TOKEN, RunningApi, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer

MOST = 200
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


async def page(api: RunningApi, workspace: str, **parameters: Any) -> dict[str, Any]:
    answer = await api.http.get(api.path(workspace=workspace), params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def turned(api: RunningApi, workspace: str, **parameters: Any) -> list[list[str]]:
    """The ids on every page, until there is none to go on with."""
    found: list[list[str]] = []
    cursor: dict[str, str] = {}
    for _ in range(100):
        answer = await page(api, workspace, **parameters, **cursor)
        found.append([task["id"] for task in answer["tasks"]])
        if answer["nextCursor"] is None:
            return found
        cursor = {"cursor": answer["nextCursor"]}
    raise AssertionError("the pages do not end")


def joined(pages: list[list[str]]) -> list[str]:
    return [*itertools.chain.from_iterable(pages)]


async def planted(db: TestDatabase, workspace: str, count: int, *, apart: timedelta) -> list[str]:
    """Tasks made `apart` from one another, the ids of the newest first."""
    made: list[tuple[datetime, str]] = []
    for number in range(count):
        at = NOON + number * apart
        lease = await rows.task(
            db, status=TaskStatus.CANCELLED, epoch=1, workspace=workspace, created_at=at, completed_at=at,
            project=("shop", "mill")[number % 2],
        )  # fmt: skip
        made.append((at, str(lease.row_id)))
    return [task for _, task in sorted(made, reverse=True)]


async def refused(api: RunningApi, path: str, kind: str, **parameters: str) -> None:
    answer = await api.http.get(path, params=parameters)
    assert (answer.status_code, answer.json()["type"]) == (400, f"urn:locktender:problem:{kind}"), parameters


async def test_tasks_made_in_the_same_moment_are_each_on_one_page(api: RunningApi, module_db: TestDatabase) -> None:
    there = await planted(module_db, "moment", 11, apart=timedelta(0))
    assert [len(each) for each in await turned(api, "moment", limit=2)] == [2, 2, 2, 2, 2, 1]
    for limit in (1, 3, 5, 11, 12):
        assert joined(await turned(api, "moment", limit=limit)) == there


async def test_a_page_that_is_exactly_full_is_the_last_one(api: RunningApi, module_db: TestDatabase) -> None:
    there = await planted(module_db, "full", 6, apart=timedelta(microseconds=1))
    assert await turned(api, "full", limit=3) == [there[:3], there[3:]]
    assert await turned(api, "full", limit=6) == [there]
    assert await turned(api, "nobody-was-here", limit=6) == [[]]


async def test_filters_hold_on_every_page(api: RunningApi, module_db: TestDatabase) -> None:
    there = await planted(module_db, "filters", 12, apart=timedelta(seconds=1))
    await rows.created(module_db, workspace="filters", project="mill")
    found = await turned(api, "filters", limit=2, project="mill", status=["cancelled", "failed"])
    assert joined(found) == there[::2]
    assert [len(each) for each in found] == [2, 2, 2]


async def test_tasks_that_arrive_while_pages_are_turned_move_nothing(api: RunningApi, module_db: TestDatabase) -> None:
    there = await planted(module_db, "busy", 40, apart=timedelta(milliseconds=1))
    done = asyncio.Event()

    async def add() -> None:
        while not done.is_set():
            await api.create("busy")

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(add())
        for limit in (1, 3, 7):
            seen = joined(await turned(api, "busy", limit=limit))
            assert len(seen) == len(set(seen))
            # Those that were there before are all there, in order, after what had come until the first page.
            assert seen[-40:] == there
        done.set()


async def test_tasks_that_move_on_or_go_are_neither_repeated_nor_do_they_hide_others(
    api: RunningApi, module_db: TestDatabase
) -> None:
    there = await planted(module_db, "moving", 9, apart=timedelta(seconds=1))
    first = await page(api, "moving", limit=3)
    # The very task at which the cursor stands, and one of each side, are purged.
    for gone in (there[0], there[2], there[5]):
        await module_db.admin.execute("delete from locktender.deployment_task where id = $1::uuid", gone)
    answer = await page(api, "moving", limit=9, cursor=first["nextCursor"])
    assert [task["id"] for task in answer["tasks"]] == [*there[3:5], *there[6:]]


async def test_a_cursor_with_any_character_changed_is_refused(api: RunningApi, module_db: TestDatabase) -> None:
    await planted(module_db, "tampered", 3, apart=timedelta(seconds=1))
    cursor = (await page(api, "tampered", limit=1))["nextCursor"]
    alphabet = string.ascii_letters + string.digits + "-_"
    for place, character in enumerate(cursor):
        # The next letter changes the lowest bits, of which the last place has some that carry nothing.
        other = alphabet[(alphabet.index(character) + 1) % len(alphabet)]
        changed = f"{cursor[:place]}{other}{cursor[place + 1 :]}"
        await refused(api, api.path(workspace="tampered"), "invalid-cursor", limit="1", cursor=changed)
    for changed in (
        cursor + "=",
        cursor + "==",
        cursor + "A",
        cursor[:-1],
        f" {cursor}",
        cursor.swapcase(),
        cursor * 2,
    ):
        await refused(api, api.path(workspace="tampered"), "invalid-cursor", limit="1", cursor=changed)


async def test_a_cursor_has_one_spelling(api: RunningApi, module_db: TestDatabase) -> None:
    await planted(module_db, "spelled", 3, apart=timedelta(seconds=1))
    cursor = (await page(api, "spelled", limit=1))["nextCursor"]
    raw = base64.urlsafe_b64decode(cursor + "==")
    for other in (base64.urlsafe_b64encode(raw).decode(), base64.b64encode(raw).decode(), raw.hex()):
        await refused(api, api.path(workspace="spelled"), "invalid-cursor", cursor=other)
    alphabet = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    same = [cursor[:-1] + each for each in alphabet if base64.urlsafe_b64decode(f"{cursor[:-1]}{each}==") == raw]
    assert len(same) == 16
    for other in same:
        if other != cursor:
            await refused(api, api.path(workspace="spelled"), "invalid-cursor", cursor=other)


async def test_a_cursor_is_refused_by_every_other_list(api: RunningApi, module_db: TestDatabase) -> None:
    await planted(module_db, "mine", 4, apart=timedelta(seconds=1))
    await planted(module_db, "yours", 4, apart=timedelta(seconds=1))
    narrow = {"status": "cancelled", "project": "shop"}
    cursors = {
        "all": (await page(api, "mine", limit=1))["nextCursor"],
        "narrow": (await page(api, "mine", limit=1, **narrow))["nextCursor"],
    }
    other_lists: list[tuple[str, str, dict[str, str]]] = [
        ("all", "yours", {}),
        ("all", "mine", narrow),
        ("all", "mine", {"project": "shop"}),
        ("all", "mine", {"status": "cancelled"}),
        ("narrow", "mine", {}),
        ("narrow", "mine", {"status": "cancelled"}),
        ("narrow", "mine", narrow | {"project": "mill"}),
        ("narrow", "mine", narrow | {"status": "failed"}),
        ("narrow", "yours", narrow),
    ]
    for cursor, workspace, parameters in other_lists:
        await refused(api, api.path(workspace=workspace), "invalid-cursor", cursor=cursors[cursor], **parameters)
    # How long a page is does not make it another list.
    assert len((await page(api, "mine", limit=9, cursor=cursors["all"]))["tasks"]) == 3


async def test_a_cursor_of_another_installation_is_refused(module_db: TestDatabase, nats_server: NatsServer) -> None:
    await rows.created(module_db)
    await rows.created(module_db)
    guest = {"Authorization": f"Bearer {GUEST_TOKEN}"}
    async with running_api(module_db, nats_server, admin_token_sha256="0" * 64) as elsewhere:
        answer = await elsewhere.http.get(elsewhere.path(), params={"limit": 1}, headers=guest)
    async with running_api(module_db, nats_server) as here:
        await refused(here, here.path(), "invalid-cursor", cursor=answer.json()["nextCursor"])


@pytest.mark.parametrize("limit", ["0", "-1", "201", "abc", "", "1.5", "+1", " 1", "1e2", "٣", "9" * 30])
async def test_a_limit_outside_its_bounds_is_refused_everywhere(
    api: RunningApi, module_db: TestDatabase, limit: str
) -> None:
    task = await rows.created(module_db)
    await refused(api, api.path(), "invalid-request", limit=limit)
    await refused(api, api.path(f"/{task}/events"), "invalid-request", limit=limit)


@pytest.mark.parametrize("after", ["-1", "abc", "", "1.5", "9" * 17, "0x1"])
async def test_a_revision_that_is_none_is_refused(api: RunningApi, module_db: TestDatabase, after: str) -> None:
    task = await rows.created(module_db)
    await refused(api, api.path(f"/{task}/events"), "invalid-request", after=after)


async def test_the_smallest_and_the_largest_page_are_what_was_asked_for(
    api: RunningApi, module_db: TestDatabase
) -> None:
    there = await planted(module_db, "sizes", MOST + 5, apart=timedelta(seconds=1))
    assert [task["id"] for task in (await page(api, "sizes", limit=1))["tasks"]] == there[:1]
    assert [len(each) for each in await turned(api, "sizes", limit=MOST)] == [MOST, 5]
    assert joined(await turned(api, "sizes")) == there


async def events(api: RunningApi, task: object, **parameters: int) -> list[dict[str, Any]]:
    answer = await api.http.get(api.path(f"/{task}/events"), params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()["events"]


async def long_lived(db: TestDatabase, count: int) -> Any:
    """A live task with `count` recorded steps, besides its creation and its claim."""
    claimed = await rows.claimed(db)
    writes = db.writes
    for number in range(count):
        timeline = json.dumps({"revision": number + 1, "steps": [], "cards": []})
        await writes.record(claimed.lease, rows.told(f"step {number}"), phase="prepare", timeline=timeline)
    return claimed.lease


async def test_events_beyond_those_of_a_snapshot_are_reached_by_turning_pages(
    api: RunningApi, module_db: TestDatabase
) -> None:
    lease = await long_lived(module_db, 248)
    shown = (await api.http.get(api.path(f"/{lease.row_id}"))).json()["events"]
    assert [event["revision"] for event in shown] == list(range(51, 251))
    found: list[dict[str, Any]] = []
    while some := await events(api, lease.row_id, after=found[-1]["revision"] if found else 0, limit=37):
        found += some
    assert [event["revision"] for event in found] == list(range(1, 251))
    assert found[50:] == shown
    assert await events(api, lease.row_id, limit=MOST) == found[:MOST]


async def test_a_page_of_events_that_is_not_full_is_the_last_and_what_comes_later_follows_it(
    api: RunningApi, module_db: TestDatabase
) -> None:
    lease = await long_lived(module_db, 3)
    first = await events(api, lease.row_id, limit=10)
    assert [event["revision"] for event in first] == [1, 2, 3, 4, 5]
    assert await events(api, lease.row_id, after=5) == []
    await module_db.writes.begin_applying(lease, rows.told(), timeline=rows.TIMELINE)
    assert [event["kind"] for event in await events(api, lease.row_id, after=5)] == ["applying"]


async def test_events_of_an_unknown_or_foreign_task_are_not_found(api: RunningApi, module_db: TestDatabase) -> None:
    task = await rows.created(module_db)
    for path in (api.path(f"/{new_id()}/events"), api.path(f"/{task}/events", "other")):
        for parameters in ({}, {"after": 1}, {"after": 2**53}):
            assert (await api.http.get(path, params=parameters)).status_code == 404
