"""What a stack is made of now: told by the newest run that knows, whole by address, and unknown is never empty."""

import json
from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

import pytest

from locktender.contracts.stacks.analysis import (
    MASKED,
    GraphEdge,
    GraphNode,
    ResourceGraph,
    RunAnalysis,
    StateInventory,
    StateOutput,
    StateResource,
)
from locktender.contracts.stacks.vocabulary import DeploymentMode, Origin
from locktender.contracts.stacks.wire import Done, Outcome
from locktender.testkit.database import TestDatabase
from locktender.testkit.run_api import lose_run
from locktender.testkit.servers import NatsServer
from locktender.testkit.stack_knowledge import KnowledgeApi, knowledge_api
from locktender.testkit.stacks import APPLIED, StackRig, binding, new_stack, planned

FAILED = Done(
    outcome=Outcome.FAILURE, failure={"reason": "engine-failed", "message": "exit 1"}, exit_code=1
)  # fmt: skip


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[KnowledgeApi]:
    async with knowledge_api(module_db, nats_server) as running:
        yield running


def resource(address: str, **stated: Any) -> StateResource:
    kind, name = address.split(".")
    plausible = {
        "address": address, "type": kind, "name": name, "provider": "registry/demo",
        "attributes": {"id": name, "password": MASKED}, "sensitive": {"password": True},
    }  # fmt: skip
    return StateResource(**(plausible | stated))


def holding(*addresses: str) -> RunAnalysis:
    outputs = (StateOutput(name="url", value="https://x"), StateOutput(name="key", sensitive=True, value=MASKED))
    return RunAnalysis(state_resources=StateInventory(resources=tuple(map(resource, addresses)), outputs=outputs))


def drawing(name: str) -> RunAnalysis:
    nodes = (
        GraphNode(address=f"demo.{name}", type="demo", name=name),
        GraphNode(address="demo.b", type="demo", name="b"),
    )
    return RunAnalysis(
        resource_graph=ResourceGraph(nodes=nodes, edges=(GraphEdge(source=f"demo.{name}", target="demo.b"),))
    )


async def run(
    api: KnowledgeApi, rig: StackRig, key: UUID, told: RunAnalysis | bytes | None, done: Done | None = None
) -> UUID:
    """Run the pending run of a deployment to its end; what it told is kept before."""
    taken = await rig.take(key)
    if told is not None:
        text = told if isinstance(told, bytes) else told.model_dump_json(by_alias=True).encode()
        await api.keep(rig, taken.lease.row_id, text)
    await rig.report(taken, planned(changes=False) if done is None else done)
    return taken.lease.row_id


async def look(
    api: KnowledgeApi, rig: StackRig, told: RunAnalysis | bytes | None, done: Done | None = None, **stated: Any
) -> UUID:
    """A deployment whose only run told this."""
    return await run(api, rig, await rig.deploy(**stated), told, done)


async def addresses(api: KnowledgeApi, rig: StackRig) -> list[str] | None:
    shown = await api.get(rig, "/resources")
    assert shown["known"] is (shown["resources"] is not None)
    return None if shown["resources"] is None else [each["address"] for each in shown["resources"]]


async def test_what_nobody_told_is_unknown_and_what_is_empty_is_known(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db)
    for rest, member in (("/resources", "resources"), ("/outputs", "outputs"), ("/graph", "graph")):
        shown = await api.get(rig, rest)
        assert (shown["known"], shown["source"], shown[member]) == (False, None, None)
        assert "no " in shown["reason"]
    await look(api, rig, None)
    assert await addresses(api, rig) is None
    await look(api, rig, RunAnalysis())
    assert (await api.get(rig, "/resources"))["reason"].startswith("the runs that looked last")
    run_id = await look(api, rig, RunAnalysis(state_resources=StateInventory(), resource_graph=ResourceGraph()))
    shown = await api.get(rig, "/resources")
    assert (shown["known"], shown["reason"], shown["resources"]) == (True, None, [])
    assert (shown["source"]["runId"], shown["source"]["deploymentNumber"]) == (str(run_id), 3)
    assert (await api.get(rig, "/outputs"))["outputs"] == []
    assert (await api.get(rig, "/graph"))["graph"]["nodes"] == []


async def test_the_newest_run_that_told_is_the_source(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db, auto_approve="auto")
    key = await rig.deploy()
    await run(api, rig, key, holding("demo.a"), planned())
    assert await addresses(api, rig) == ["demo.a"]
    applied = await run(api, rig, key, holding("demo.a", "demo.b"), APPLIED)
    shown = await api.get(rig, "/resources")
    assert (shown["source"]["runId"], shown["source"]["runMode"]) == (str(applied), "apply")
    assert len(shown["resources"]) == 2
    # Neither says anything, so neither takes anything away.
    await look(api, rig, RunAnalysis())
    await look(api, rig, b'{"stateResources": {"resources": [{"address": 7}]}}')
    assert await addresses(api, rig) == ["demo.a", "demo.b"]
    await look(api, rig, holding("demo.c"), mode=DeploymentMode.REFRESH)
    assert await addresses(api, rig) == ["demo.c"]


async def test_an_apply_that_failed_counts_and_a_plan_that_failed_does_not(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db, auto_approve="auto")
    key = await rig.deploy()
    await run(api, rig, key, holding("demo.a", "demo.b"), planned(delete=1))
    await run(api, rig, key, holding("demo.b"), FAILED)
    assert await addresses(api, rig) == ["demo.b"]
    await look(api, rig, holding("demo.wrong"), FAILED)
    assert await addresses(api, rig) == ["demo.b"]


async def test_who_looks_beside_the_lane_and_scripts_tell_nothing_of_the_stack(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db)
    await look(api, rig, holding("demo.a"))
    await look(api, rig, holding("demo.unlocked"), mode=DeploymentMode.PLAN_UNLOCKED)
    await look(api, rig, holding("demo.raw"), APPLIED, mode=DeploymentMode.RAW)
    assert await addresses(api, rig) == ["demo.a"]


async def test_the_graph_is_of_the_source_and_a_pull_request_does_not_change_it(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db, auto_approve="auto")
    key = await rig.deploy()
    await run(api, rig, key, drawing("a"), planned())
    await run(api, rig, key, holding("demo.a"), APPLIED)
    both = drawing("pr").model_copy(update={"state_resources": holding("demo.pr").state_resources})
    await look(api, rig, both, origin=Origin.PROMOTED_PULL_REQUEST)
    shown = await api.get(rig, "/graph")
    assert (shown["known"], shown["source"]["deploymentNumber"]) == (True, 1)
    assert shown["graph"]["edges"] == [{"source": "demo.a", "target": "demo.b", "explicit": False}]
    assert await addresses(api, rig) == ["demo.pr"]


async def test_the_list_has_no_values_and_an_address_brings_them_masked(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db)
    gone = resource("demo.a", deposed="00ab", attributes={"id": "old"}, sensitive=False)
    state = StateInventory(resources=(resource("demo.a", depends_on=("demo.b",)), gone, resource("demo.b")))
    await look(api, rig, RunAnalysis(state_resources=state))
    listed = (await api.get(rig, "/resources"))["resources"]
    assert [set(each) & {"attributes", "sensitive"} for each in listed] == [set(), set(), set()]
    assert listed[0] == {
        "address": "demo.a", "module": None, "mode": "managed", "type": "demo", "name": "a",
        "provider": "registry/demo", "deposed": None, "tainted": False, "dependsOn": ["demo.b"],
    }  # fmt: skip
    whole = (await api.get(rig, "/resources", address=["demo.a", "demo.a", "demo.none"]))["resources"]
    assert [each["attributes"] for each in whole] == [{"id": "a", "password": MASKED}, {"id": "old"}]
    assert (whole[0]["sensitive"], whole[1]["deposed"]) == ({"password": True}, "00ab")
    for bad in ([""], ["x" * 1001], ["demo.a"] * 101):
        answer = await api.http.get(await api.path(rig, "/resources"), params={"address": bad})
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "invalid-address")
    await look(api, rig, holding())
    shown = (await api.get(rig, "/outputs"))["outputs"]
    assert [(each["name"], each["value"], each["sensitive"]) for each in shown] == [
        ("url", "https://x", False), ("key", MASKED, True),
    ]  # fmt: skip


async def test_what_the_state_may_have_outrun_is_said(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db, auto_approve="auto")

    async def outdated() -> str | None:
        return (await api.get(rig, "/outputs"))["outdated"]

    async def write(serial: int) -> None:
        await api.db.admin.execute(
            "with v as (insert into locktender.stack_state (id, stack_id, serial, lineage, object_key, sha256, size, "
            "origin, created_by) values (gen_random_uuid(), $1, $2, 'l', 'k', 's', 1, 'push', 'ada') returning id) "
            "update locktender.stack set state_version_id = v.id, state_lineage = 'l', state_serial = $2 from v "
            "where stack.id = $1",
            rig.stack_id, serial,
        )  # fmt: skip

    key = await rig.deploy()
    await run(api, rig, key, holding("demo.a"), planned())
    assert await outdated() is None
    await write(1)
    # Written while the plan stood there, so the plan saw another one.
    assert "written since" in str(await outdated())
    await run(api, rig, key, holding("demo.b"), APPLIED)
    assert await outdated() is None
    await write(2)
    assert "written since" in str(await outdated())
    saw = planned(changes=False).model_copy(update={"binding": binding(state_lineage="l", state_serial=2)})
    await look(api, rig, holding("demo.b"), saw)
    assert await outdated() is None
    again = await rig.deploy()
    await run(api, rig, again, None, planned(delete=1))
    lost = await rig.take(again)
    await lose_run(api.db.database, lost.lease.row_id)
    assert "an apply was lost" in str(await outdated())


async def test_only_those_who_may_look_at_the_workspace_see_any_of_it(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db)
    for rest in ("/resources", "/outputs", "/graph"):
        path = await api.path(rig, rest)
        assert (await api.http.get(path.replace("acme", "else"))).status_code == 404
        assert (await api.http.get(path.replace("network", "nothing"))).status_code == 404
        assert (await api.http.get(path, headers={"Authorization": "Bearer no"})).status_code == 401
        answer = await api.http.get(path)
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
        assert json.loads(answer.content)["known"] is False
