"""What single runs told: each part apart, for ever the same, and `not-found` where it is unknown."""

from collections.abc import AsyncGenerator
from uuid import UUID, uuid4

import httpx
import pytest

from locktender.api.stacks.inventory.analyses import Analyses, AnalysisPlace
from locktender.contracts.stacks.analysis import (
    ChangeAction,
    PlanChange,
    PlanChanges,
    RunAnalysis,
    StateInventory,
    StateResource,
)
from locktender.integrations.objects.store import ObjectStore
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer
from locktender.testkit.stack_knowledge import KnowledgeApi, knowledge_api
from locktender.testkit.stacks import StackRig, new_stack, planned

CHANGES = PlanChanges(
    resources=(PlanChange(address="demo.a", type="demo", name="a", action=ChangeAction.CREATE, diff=("+ demo.a",)),)
)
STATE = StateInventory(resources=(StateResource(address="demo.b", type="demo", name="b", attributes={"id": "b"}),))
BROKEN = (
    b"", b"[1]", b"{", b"[" * 100_000, b'{"planChanges": {"resources": 5}}',
    b'{"stateResources": {"resources": null}}', b'{"stateResources": {"outputs": [{"name": "x", "value": NaN}]}}',
)  # fmt: skip
SECTIONS = ("plan-summary", "plan-changes", "state-resources", "resource-graph")


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[KnowledgeApi]:
    async with knowledge_api(module_db, nats_server) as running:
        yield running


async def planned_run(api: KnowledgeApi, rig: StackRig, analysis: bytes | None) -> tuple[UUID, str]:
    """A plan with changes, and the address of what it told."""
    key = await rig.deploy()
    taken = await rig.take(key)
    if analysis is not None:
        await api.keep(rig, taken.lease.row_id, analysis)
    await rig.report(taken, planned())
    number = (await rig.deployment(key))["number"]
    return taken.lease.row_id, await api.path(rig, f"/deployments/{number}/runs/{taken.lease.row_id}")


async def statuses(api: KnowledgeApi, path: str) -> list[int]:
    return [(await api.http.get(f"{path}/{section}")).status_code for section in SECTIONS]


async def test_each_part_is_answered_apart_and_may_be_cached_for_ever(api: KnowledgeApi) -> None:
    analysis = RunAnalysis(plan_changes=CHANGES, state_resources=STATE)
    _, path = await planned_run(api, await new_stack(api.db), analysis.model_dump_json(by_alias=True).encode())
    assert await statuses(api, path) == [200, 200, 200, 404]
    told: dict[str, httpx.Response] = {part: await api.http.get(f"{path}/{part}") for part in SECTIONS[:3]}
    assert told["plan-summary"].json()["sentence"] == "1 to create."
    assert told["plan-changes"].json()["resources"][0]["diff"] == ["+ demo.a"]
    assert told["state-resources"].json() == STATE.model_dump(mode="json", by_alias=True)
    for part, answer in told.items():
        assert answer.headers["cache-control"] == "private, max-age=86400, immutable"
        again = await api.http.get(f"{path}/{part}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", answer.headers["etag"])
    unknown = await api.http.get(f"{path}/resource-graph")
    assert (unknown.headers["cache-control"], "unknown, not empty" in unknown.json()["detail"]) == ("no-store", True)


async def test_an_empty_part_is_told_and_an_absent_one_is_not(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db)
    _, path = await planned_run(api, rig, b'{"resourceGraph": {}, "planChanges": null, "someday": [1]}')
    assert await statuses(api, path) == [200, 404, 404, 200]
    assert (await api.http.get(f"{path}/resource-graph")).json() == {"nodes": [], "edges": [], "partial": []}


async def test_without_an_analysis_there_is_no_summary_either(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db)
    _, path = await planned_run(api, rig, None)
    assert await statuses(api, path) == [404, 404, 404, 404]


async def test_what_cannot_be_read_is_unknown(api: KnowledgeApi) -> None:
    for broken in BROKEN:
        _, path = await planned_run(api, await new_stack(api.db), broken)
        assert await statuses(api, path) == [200, 404, 404, 404], broken[:80]


async def test_one_fetch_serves_every_part(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db)
    analysis = RunAnalysis(plan_changes=CHANGES, state_resources=STATE)
    run_id, path = await planned_run(api, rig, analysis.model_dump_json(by_alias=True).encode())
    assert (await api.http.get(f"{path}/plan-changes")).status_code == 200
    await api.store.delete(AnalysisPlace("acme", rig.stack_id, run_id).key)
    assert await statuses(api, path) == [200, 200, 200, 404]
    assert (await api.get(rig, "/resources"))["resources"][0]["address"] == "demo.b"


async def test_a_run_is_read_at_its_own_place_alone(api: KnowledgeApi) -> None:
    rig = await new_stack(api.db)
    run_id, path = await planned_run(api, rig, b'{"planChanges": {}}')
    await rig.deploy()
    wrong = [
        path.replace("acme", "else"), path.replace("deployments/1", "deployments/2"),
        path.replace("deployments/1", "deployments/x"), path.replace(str(run_id), str(rig.stack_id)),
        path.replace(str(run_id), "x"),
    ]  # fmt: skip
    assert [await statuses(api, each) for each in wrong] == [[404] * 4] * 5
    assert (await api.http.get(f"{path}/plan-changes", headers={"Authorization": "Bearer no"})).status_code == 401


async def test_memory_for_analyses_is_bounded() -> None:
    store = ObjectStore.open("memory:///", b"k" * 32)
    text = RunAnalysis(state_resources=STATE).model_dump_json(by_alias=True).encode()
    places = [AnalysisPlace("acme", uuid4(), uuid4()) for _ in range(3)]
    for place in places:
        await store.put(place.key, text)
    told = await Analyses(store).of(places[0])
    assert told is not None
    analyses = Analyses(store, most_bytes=2 * told.size)
    for place in places:
        assert await analyses.of(place) is not None
        await store.delete(place.key)
    assert [await analyses.of(place) is not None for place in places] == [False, True, True]
    tiny = Analyses(store, most_bytes=1)
    await store.put(places[0].key, text)
    assert await tiny.of(places[0]) is not None
