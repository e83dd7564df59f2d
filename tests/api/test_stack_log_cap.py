"""A log has a bound: it ends with a line that says so, the runner notices nothing, and the run goes on."""

import json
from collections.abc import AsyncGenerator

import httpx
import pytest

from locktender.api.stacks.runs.bodies import RunLimits
from locktender.testkit.database import TestDatabase
from locktender.testkit.run_api import HeldToken, RunApi, running_runs
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import new_stack

CAP = 20
LINE = "\n[locktender] The log is cut here, at 20 bytes. The run goes on; what it says is not kept.\n"
FAILED = {"outcome": "failure", "failure": {"reason": "engine-failed", "message": "exit 1"}}


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunApi]:
    async with running_runs(module_db, nats_server, limits=RunLimits(log_bytes=CAP)) as running:
        yield running


async def started(api: RunApi) -> tuple[HeldToken, str]:
    rig = await new_stack(api.db)
    run = await api.take(rig, await rig.deploy())
    return run, f"/v1/workspaces/acme/stacks/{(await rig.stack())['name']}/deployments/1/runs/{run.id}/log"


async def say(api: RunApi, run: HeldToken, offset: int, data: bytes) -> httpx.Response:
    return await api.http.post(run.path("/log"), params={"offset": offset}, content=data, headers=run.bearer)


async def ends(api: RunApi, run: HeldToken, *pieces: tuple[int, bytes]) -> list[int]:
    return [(await say(api, run, offset, data)).json()["end"] for offset, data in pieces]


async def test_what_is_said_behind_the_bound_is_acknowledged_and_not_kept(api: RunApi) -> None:
    run, path = await started(api)
    said = [(0, b"a" * 15), (15, b"b" * 10), (25, b"c" * 1000), (25, b"c" * 1000), (1025, b"d")]
    assert await ends(api, run, *said) == [15, 25, 1025, 1025, 1026]
    text = "a" * 15 + "b" * 5 + LINE
    whole = await api.http.get(path)
    assert (whole.text, whole.headers["locktender-log-end"]) == (text, str(len(text)))
    assert (await api.http.post(run.path("/done"), json=FAILED, headers=run.bearer)).status_code == 200
    told = (await api.http.get(path + "/stream")).text
    shown = [json.loads(line.removeprefix("data: ")) for line in told.splitlines() if line.startswith("data: ")]
    assert "".join(each["text"] for each in shown if "text" in each) == text
    assert shown[-1] == {"status": "failure", "end": len(text)}


async def test_a_log_of_exactly_the_bound_is_whole(api: RunApi) -> None:
    run, path = await started(api)
    assert await ends(api, run, (0, b"a" * CAP), (CAP, b"")) == [CAP, CAP]
    assert (await api.http.get(path)).text == "a" * CAP
    assert await ends(api, run, (CAP, b"b"), (CAP, b"b")) == [CAP + 1, CAP + 1]
    assert (await api.http.get(path)).text == "a" * CAP + LINE


async def test_a_piece_that_was_kept_before_a_crash_is_cut_in_the_same_place(api: RunApi) -> None:
    run, path = await started(api)
    folder = f"logs/acme/{run.stack_id}/{run.id}"
    await api.store.put(f"{folder}/{0:012d}", b"a" * CAP, once=True)
    await api.store.put(f"{folder}/{CAP:012d}", LINE.encode(), once=True)
    assert await ends(api, run, (0, b"a" * 30)) == [30]
    assert (await api.http.get(path)).text == "a" * CAP + LINE


async def test_another_bound_in_the_middle_of_a_run_is_no_trouble(api: RunApi) -> None:
    """Before the bound was lowered, more was kept than it allows now; and after it was raised, a cut stays a cut."""
    run, path = await started(api)
    await api.store.put(f"logs/acme/{run.stack_id}/{run.id}/{0:012d}", b"a" * 50, once=True)
    await api.db.admin.execute("update locktender.stack_run set log_end = 50 where id = $1", run.id)
    assert await ends(api, run, (50, b"b" * 10), (60, b"c")) == [60, 61]
    assert (await api.http.get(path)).text == "a" * 50 + LINE
    await api.db.admin.execute("update locktender.stack_run set log_end = 3 where id = $1", run.id)
    assert await ends(api, run, (61, b"d")) == [62]
