"""The state backend: an engine's protocol, fenced by the run token; and what people may do with versions."""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.testkit.api import GUEST_TOKEN
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.run_api import HeldToken, RunApi, lose_run, running_runs
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import APPLIED, StackRig, new_stack

LOCK = {"ID": "lock-1", "Operation": "OperationTypeApply", "Who": "runner@host", "Info": ""}


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunApi]:
    async with running_runs(module_db, nats_server) as running:
        yield running


@pytest.fixture
def db(module_db: TestDatabase) -> TestDatabase:
    """Each test has stacks of its own."""
    return module_db


def state(serial: int, lineage: str = "line-1", **more: Any) -> bytes:
    """A state file with a number that JSON readers like to spoil."""
    head = json.dumps({"version": 4, "lineage": lineage, **more})
    return f'{head[:-1]}, "big": 1.10e0, "serial" : {serial} }}'.encode()


async def raw_run(api: RunApi, rig: StackRig) -> HeldToken:
    return await api.take(rig, await rig.deploy(DeploymentMode.RAW))


async def write(api: RunApi, run: HeldToken, data: bytes, lock_id: str = "", **headers: str) -> httpx.Response:
    query = {"ID": lock_id} if lock_id else {}
    return await api.http.post(run.state(), content=data, params=query, auth=run.basic, headers=headers)


async def lock(api: RunApi, run: HeldToken, verb: str = "lock", **said: str) -> httpx.Response:
    return await api.http.post(run.state(f"/{verb}"), json=LOCK | said, auth=run.basic)


def people(rig_name: str, rest: str = "") -> str:
    return f"/v1/workspaces/acme/stacks/{rig_name}/state{rest}"


async def listed(api: RunApi, name: str) -> dict[str, Any]:
    return (await api.http.get(people(name, "/versions"))).json()


async def test_a_state_is_missing_then_written_then_read_as_it_was(api: RunApi, db: TestDatabase) -> None:
    run = await raw_run(api, await new_stack(db))
    assert (await api.http.get(run.state(), auth=run.basic)).status_code == 404
    md5 = base64.b64encode(hashlib.md5(state(1), usedforsecurity=False).digest()).decode()
    assert (await write(api, run, state(1), **{"Content-MD5": md5})).status_code == 200
    assert (await api.http.get(run.state(), auth=run.basic)).content == state(1)
    assert (await write(api, run, state(2), **{"Content-MD5": md5})).status_code == 400
    assert (await write(api, run, b"not a state")).status_code == 400
    assert (await api.http.delete(run.state(), auth=run.basic)).status_code == 403
    assert (await api.http.get(run.state(), auth=run.basic)).content == state(1)


async def test_a_repeat_is_one_version_and_what_is_no_successor_is_refused(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    run, name = await raw_run(api, rig), (await rig.stack())["name"]
    for _ in range(2):
        assert (await write(api, run, state(5))).status_code == 200
    refused = [
        await write(api, run, state(4)),
        await write(api, run, state(5, outputs={})),
        await write(api, run, state(6, "line-2")),
    ]
    assert {answer.status_code for answer in refused} == {409}
    assert {answer.json()["type"] for answer in refused} == {"urn:locktender:problem:state-conflict"}
    versions = (await listed(api, name))["versions"]
    assert [(each["serial"], each["current"], each["runId"]) for each in versions] == [(5, True, str(run.id))]
    assert len(await api.store.list(f"states/{rig.stack_id}")) == 1


async def test_a_plan_reads_and_never_writes_or_locks(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    writer = await raw_run(api, rig)
    await write(api, writer, state(1))
    looker = await api.take(rig, await rig.deploy(DeploymentMode.PLAN_UNLOCKED))
    assert (await api.http.get(looker.state(), auth=looker.basic)).content == state(1)
    refused = [await write(api, looker, state(2)), await lock(api, looker), await lock(api, looker, "unlock")]
    assert {answer.status_code for answer in refused} == {403}
    other = await raw_run(api, await new_stack(db))
    assert (await api.http.get(looker.state(), auth=other.basic)).status_code == 404


async def test_a_lock_is_held_by_one_id_and_guards_writes(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    run, name = await raw_run(api, rig), (await rig.stack())["name"]
    assert [(await lock(api, run)).status_code for _ in range(2)] == [200, 200]
    second = await lock(api, run, ID="lock-2")
    assert (second.status_code, second.json()["ID"], second.json()["Who"]) == (423, "lock-1", "runner@host")
    assert [(await write(api, run, state(1), key)).status_code for key in ("", "lock-2", "lock-1")] == [423, 423, 200]
    assert (await lock(api, run, "unlock", ID="lock-2")).status_code == 423
    brought = await api.http.put(people(name), content=state(2), headers={"Content-Type": "application/json"})
    assert brought.status_code == 423
    shown = (await listed(api, name))["lock"]
    assert (shown["id"], shown["runId"], shown["operation"]) == ("lock-1", str(run.id), "OperationTypeApply")
    assert [(await lock(api, run, "unlock")).status_code for _ in range(2)] == [200, 200]
    await lock(api, run)
    assert (await api.http.post(run.state("/unlock"), auth=run.basic)).status_code == 200
    assert (await listed(api, name))["lock"] is None


async def test_the_end_of_a_run_frees_its_lock_and_a_zombie_is_refused(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    key = await rig.deploy(DeploymentMode.RAW)
    zombie = await api.take(rig, key, ttl=30)
    await lock(api, zombie)
    await write(api, zombie, state(1), "lock-1")
    # Expired and not reaped yet: the lease is over all the same.
    await db.advance(31)
    refused = [await write(api, zombie, state(2), "lock-1"), await lock(api, zombie), await lock(api, zombie, "unlock")]
    assert {answer.status_code for answer in refused} == {401}
    await db.advance(-31)
    ended = {"outcome": "failure", "failure": {"reason": "engine-failed", "message": "exit 1"}}
    assert (await api.http.post(zombie.path("/done"), json=ended, headers=zombie.bearer)).status_code == 200
    heir = await raw_run(api, rig)
    assert (await write(api, zombie, state(2), "lock-1")).status_code == 401
    assert (await lock(api, heir, ID="lock-9")).status_code == 200
    assert (await write(api, heir, state(2), "lock-9")).status_code == 200


async def test_a_write_that_passed_the_gate_is_refused_where_the_lease_broke_meanwhile(
    api: RunApi, db: TestDatabase
) -> None:
    rig = await new_stack(db)
    run = await raw_run(api, rig)
    await write(api, run, state(1))
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"

    async def blocked(count: int) -> bool:
        await db.admin.execute("select pg_stat_clear_snapshot()")
        return await db.admin.fetchval(waiting) == count

    async with asyncio.TaskGroup() as group, db.admin.transaction():
        await db.admin.execute("select from locktender.stack where id = $1 for update", rig.stack_id)
        group.create_task(lose_run(db.database, run.id))
        await eventually(lambda: blocked(1))
        late = group.create_task(write(api, run, state(2)))
        await eventually(lambda: blocked(2))
    answer = late.result()
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:locktender:problem:lease-lost")
    name = (await rig.stack())["name"]
    assert (await api.http.get(people(name))).content == state(1)
    assert len(await api.store.list(f"states/{rig.stack_id}")) == 1


async def test_what_the_engine_encrypted_is_not_renumbered(api: RunApi, db: TestDatabase) -> None:
    name = (await (await new_stack(db)).stack())["name"]
    sent = {"Content-Type": "application/json"}
    first = await api.http.put(people(name), content=state(1, encrypted_data="AA=="), headers=sent)
    assert (await api.http.put(people(name), content=state(2), headers=sent)).status_code == 200
    back = await api.http.post(people(name, f"/versions/{first.json()['id']}:rollback"))
    assert (back.status_code, back.json()["type"]) == (409, "urn:locktender:problem:state-conflict")


async def test_a_person_brings_a_state_and_goes_back_to_it(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    name = (await rig.stack())["name"]
    assert (await api.http.get(people(name))).status_code == 404
    sent = {"Content-Type": "application/json"}
    brought = await api.http.put(people(name), content=state(3), headers=sent)
    assert (brought.status_code, brought.json()["origin"], brought.json()["createdBy"]) == (200, "import", "admin")
    again = await api.http.put(people(name), content=state(3), headers=sent)
    assert again.json()["id"] == brought.json()["id"]
    run = await raw_run(api, rig)
    await write(api, run, state(4, resources=["r"]))
    busy = await api.http.put(people(name), content=state(9), headers=sent)
    assert busy.json()["type"] == "urn:locktender:problem:stack-busy"
    ended = json.loads(APPLIED.model_dump_json(by_alias=True))
    await api.http.post(run.path("/done"), json=ended, headers=run.bearer)

    back = await api.http.post(people(name, f"/versions/{brought.json()['id']}:rollback"))
    assert (back.status_code, back.json()["serial"], back.json()["origin"]) == (200, 5, "rollback")
    assert (await api.http.get(people(name))).content == state(5)
    first = await api.http.get(people(name, f"/versions/{brought.json()['id']}"))
    assert first.content == state(3)
    page = await api.http.get(people(name, "/versions"), params={"limit": 2})
    assert [each["serial"] for each in page.json()["versions"]] == [5, 4]
    rest = await api.http.get(people(name, "/versions"), params={"limit": 2, "cursor": page.json()["nextCursor"]})
    assert ([each["serial"] for each in rest.json()["versions"]], rest.json()["nextCursor"]) == ([3], None)


async def test_a_person_breaks_exactly_the_lock_they_saw(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    run, name = await raw_run(api, rig), (await rig.stack())["name"]
    await lock(api, run)
    wrong = await api.http.post(people(name, ":force-unlock"), json={"lockId": "lock-7"})
    assert (wrong.status_code, "lock-1" in wrong.json()["detail"]) == (423, True)
    for _ in range(2):
        broken = await api.http.post(people(name, ":force-unlock"), json={"lockId": "lock-1"})
        assert (broken.status_code, broken.json()["lock"]) == (200, None)
    assert (await write(api, run, state(1), "lock-1")).status_code == 200


async def test_who_may_not_read_states_reads_none(api: RunApi, db: TestDatabase) -> None:
    name = (await (await new_stack(db)).stack())["name"]
    guest = {"Authorization": f"Bearer {GUEST_TOKEN}"}
    assert (await api.http.get(people(name), headers=guest)).status_code == 403
    assert (await api.http.put(people(name), content=state(1), headers=guest)).status_code == 403
    assert (await api.http.get(people("other%00stack"))).status_code == 404
    assert (await api.http.get(f"/v1/workspaces/else/stacks/{name}/state")).status_code == 404


async def test_no_state_is_at_rest_in_clear(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    run = await raw_run(api, rig)
    await write(api, run, state(1, password="canary-77aa"))
    backend = api.store._backend
    names = await backend.names(f"states/{rig.stack_id}", 10)
    assert len(names) == 1
    assert b"canary-77aa" not in await backend.get(names[0], 10_000)
