"""Logs of runs: taken once, kept encrypted, read in ranges, followed live without a byte twice or left out."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from locktender.contracts.kernel import subjects
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually, nats_rig
from locktender.testkit.run_api import HeldToken, RunApi, lose_run, running_runs
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import StackRig, new_stack

FAILED = {"outcome": "failure", "failure": {"reason": "engine-failed", "message": "exit 1"}}


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunApi]:
    async with running_runs(module_db, nats_server) as running:
        yield running


@pytest.fixture
def db(module_db: TestDatabase) -> TestDatabase:
    """Each test has stacks of its own."""
    return module_db


async def started(api: RunApi, db: TestDatabase) -> tuple[HeldToken, str]:
    """A run, and where people read its log."""
    rig: StackRig = await new_stack(db)
    run = await api.take(rig, await rig.deploy())
    name = (await rig.stack())["name"]
    return run, f"/v1/workspaces/acme/stacks/{name}/deployments/1/runs/{run.id}/log"


async def say(api: RunApi, run: HeldToken, offset: int, data: bytes) -> httpx.Response:
    return await api.http.post(run.path("/log"), params={"offset": offset}, content=data, headers=run.bearer)


async def end(api: RunApi, run: HeldToken) -> None:
    assert (await api.http.post(run.path("/done"), json=FAILED, headers=run.bearer)).status_code == 200


class Tail:
    """Reads a stream of a log to its end."""

    def __init__(self, api: RunApi, path: str, last: str = "") -> None:
        self._api, self._path = api, path
        self._headers = {"Last-Event-ID": last} if last else {}
        self.names: list[str] = []
        self.text = ""
        self.last = last

    async def read(self) -> None:
        async with self._api.http.stream("GET", self._path + "/stream", headers=self._headers, timeout=30) as answer:
            assert answer.status_code == 200
            name, lines = "", answer.aiter_lines()
            async with aclosing(lines):
                async for line in lines:
                    kind, _, value = line.partition(": ")
                    match kind:
                        case "event":
                            name = value
                            self.names.append(value)
                        case "id":
                            self.last = value
                        case "data" if name == "log":
                            self.text += json.loads(value)["text"]
                        case _:
                            pass


async def test_pieces_are_kept_once_whatever_is_repeated(api: RunApi, db: TestDatabase) -> None:
    run, path = await started(api, db)
    ends = [
        (await say(api, run, offset, data)).json()["end"]
        for offset, data in [(0, b"init\n"), (0, b"init\n"), (2, b"it\nplan\n"), (10, b""), (0, b"init\nplan\napply\n")]
    ]
    assert ends == [5, 5, 10, 10, 16]
    gap = await say(api, run, 99, b"later")
    assert (gap.status_code, "16" in gap.json()["detail"]) == (409, True)
    whole = await api.http.get(path)
    assert (whole.text, whole.headers["locktender-log-end"]) == ("init\nplan\napply\n", "16")
    part = await api.http.get(path, params={"offset": 3, "limit": 6})
    assert (part.text, part.headers["content-type"]) == ("t\nplan", "text/plain; charset=utf-8")
    assert (await api.http.get(path, params={"offset": 50})).text == ""


async def test_a_piece_whose_request_was_broken_off_counts_once(api: RunApi, db: TestDatabase) -> None:
    run, path = await started(api, db)
    place = f"logs/acme/{run.stack_id}/{run.id}/{0:012d}"
    await api.store.put(place, b"one two", once=True)
    assert (await say(api, run, 0, b"one")).json()["end"] == 3
    assert (await say(api, run, 3, b" two three")).json()["end"] == 13
    assert (await api.http.get(path)).text == "one two three"
    other, _ = await started(api, db)
    await api.store.put(f"logs/acme/{other.stack_id}/{other.id}/{0:012d}", b"one", once=True)
    assert (await say(api, other, 0, b"one two")).json()["end"] == 7
    strange, _ = await started(api, db)
    await api.store.put(f"logs/acme/{strange.stack_id}/{strange.id}/{0:012d}", b"xyz", once=True)
    assert (await say(api, strange, 0, b"one")).status_code == 409


async def test_a_void_token_and_a_piece_too_large_add_nothing(api: RunApi, db: TestDatabase) -> None:
    run, path = await started(api, db)
    assert (await say(api, run, 0, b"x" * (256 * 1024 + 1))).status_code == 413
    assert (await api.http.post(run.path("/log"), content=b"x", headers=run.bearer)).status_code == 400
    await say(api, run, 0, b"x" * 256 * 1024)
    await end(api, run)
    assert (await say(api, run, 256 * 1024, b"late")).status_code == 401
    assert len((await api.http.get(path)).content) == 256 * 1024


async def test_a_tail_tells_what_was_and_what_comes_until_the_end(api: RunApi, db: TestDatabase) -> None:
    run, path = await started(api, db)
    await say(api, run, 0, "grün ✓\n".encode()[:3])
    tail = Tail(api, path)
    async with asyncio.TaskGroup() as group:
        group.create_task(tail.read())
        await eventually(lambda: "log" in tail.names)
        assert (tail.text, tail.last) == ("gr", "2")
        await say(api, run, 3, "grün ✓\n".encode()[3:])
        await eventually(lambda: tail.text == "grün ✓\n")
        await say(api, run, 10, b"bad \xff byte\n\xc3")
        await eventually(lambda: tail.text.endswith("byte\n"))
        await end(api, run)
    assert tail.text == "grün ✓\nbad \ufffd byte\n\ufffd"
    assert (tail.names[-1], tail.last, "error" in tail.names) == ("end", "22", False)
    again = Tail(api, path, last="10")
    await again.read()
    assert again.text == "bad \ufffd byte\n\ufffd"
    beyond = Tail(api, path, last="5000")
    await beyond.read()
    assert (beyond.names[0], beyond.text) == ("resync", tail.text)


async def test_what_the_bus_lost_is_read_from_the_record(api: RunApi, db: TestDatabase) -> None:
    run, path = await started(api, db)
    tail = Tail(api, path)
    async with asyncio.TaskGroup() as group:
        group.create_task(tail.read())
        await eventually(lambda: api.side.tails.streams == 1)
        await say(api, run, 0, b"heard ")
        await eventually(lambda: tail.text == "heard ")
        # Kept and counted, but never told.
        await api.store.put(f"logs/acme/{run.stack_id}/{run.id}/{6:012d}", b"lost ", once=True)
        await db.admin.execute("update locktender.stack_run set log_end = 11 where id = $1", run.id)
        # Told twice, late, and as nonsense.
        await api.bus.publish(subjects.run_log(run.id), b"heard ", headers={"lt-offset": "0"})
        await api.bus.publish("lt.log.nonsense", b"x", headers={"lt-offset": "x"})
        await say(api, run, 11, b"found")
        await eventually(lambda: tail.text == "heard lost found")
        await end(api, run)
    assert tail.text == "heard lost found"


async def test_a_run_that_ended_unheard_ends_its_tails_all_the_same(db: TestDatabase, nats_server: NatsServer) -> None:
    async with running_runs(db, nats_server, heartbeat=0.3) as api:
        run, path = await started(api, db)
        tail = Tail(api, path)
        async with asyncio.TaskGroup() as group:
            group.create_task(tail.read())
            await eventually(lambda: api.side.tails.streams == 1)
            await lose_run(db.database, run.id)
        assert (tail.names, tail.text) == (["end"], "")


async def test_a_tail_goes_on_from_the_record_while_the_bus_is_away(db: TestDatabase) -> None:
    async with nats_rig() as nats, running_runs(db, NatsServer("embedded", nats.nats_url, {})) as api:
        run, path = await started(api, db)
        tail = Tail(api, path)
        async with asyncio.TaskGroup() as group:
            group.create_task(tail.read())
            await say(api, run, 0, b"before ")
            await eventually(lambda: tail.text == "before ")
            await nats.kill()
            await eventually(lambda: not api.side.tails.connected)
            await say(api, run, 7, b"away ")
            await eventually(lambda: tail.text == "before away ")
            await nats.start()
            await eventually(lambda: api.side.tails.connected)
            await say(api, run, 12, b"back")
            await end(api, run)
        assert (tail.text, tail.names[-1]) == ("before away back", "end")


async def test_a_hundred_tails_share_one_subscription_and_end_with_the_process(
    db: TestDatabase, nats_server: NatsServer
) -> None:
    async with running_runs(db, nats_server, most_streams=100) as api:
        run, path = await started(api, db)
        tails = [Tail(api, path) for _ in range(100)]
        async with asyncio.TaskGroup() as group:
            for tail in tails:
                group.create_task(tail.read())
            await eventually(lambda: api.side.tails.streams == 100)
            before = api.bus.client.stats["in_msgs"]
            refused = Tail(api, path)
            await refused.read()
            assert refused.names == ["error"]
            for n in range(5):
                await say(api, run, n * 5, b"line\n")
            await eventually(lambda: all(tail.text == "line\n" * 5 for tail in tails))
            assert api.bus.client.stats["in_msgs"] - before < 20
            api.side.tails.close()
        assert all("end" not in tail.names for tail in tails)
        await eventually(lambda: api.side.tails.streams == 0)


async def test_a_log_is_read_by_those_who_may_and_at_its_own_place(api: RunApi, db: TestDatabase) -> None:
    run, path = await started(api, db)
    await say(api, run, 0, b"secret-free")
    wrong: list[Any] = [
        path.replace("acme", "else"),
        path.replace("deployments/1", "deployments/2"),
        path.replace("deployments/1", "deployments/x"),
        path.replace(str(run.id), str(run.stack_id)),
    ]
    assert {(await api.http.get(each)).status_code for each in wrong} == {404}
    assert {(await api.http.get(each + "/stream")).status_code for each in wrong} == {404}
    assert (await api.http.get(path, headers={"Authorization": "Bearer no"})).status_code == 401
