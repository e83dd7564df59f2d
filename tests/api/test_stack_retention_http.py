"""What was removed is said to be removed: 410 with the sentence, never an empty log, and never "no resources"."""

import gzip
import hashlib
from collections.abc import AsyncGenerator
from uuid import UUID

import pytest

from locktender.contracts.stacks.analysis import RunAnalysis, StateInventory, StateResource
from locktender.storage.stacks.retention import Leaving, StackRetention
from locktender.storage.stacks.skip import skip
from locktender.testkit.api import ADMIN_TOKEN, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.run_api import RunApi, running_runs
from locktender.testkit.servers import NatsServer
from locktender.testkit.stack_knowledge import KnowledgeApi, knowledge_api
from locktender.testkit.stacks import new_stack, planned

REMOVED = "urn:locktender:problem:removed"
STATE = StateInventory(resources=(StateResource(address="demo.b", type="demo", name="b", attributes={"id": "b"}),))
FAILED = {"outcome": "failure", "failure": {"reason": "engine-failed", "message": "exit 1"}}


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunApi]:
    async with running_runs(module_db, nats_server) as running:
        yield running


@pytest.fixture(scope="module")
async def told(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[KnowledgeApi]:
    async with knowledge_api(module_db, nats_server) as running:
        yield running


async def note_removed(db: TestDatabase, run: UUID) -> None:
    await db.advance(90 * 86_400 + 60)
    assert await StackRetention(db.database).mark(Leaving.RECORD, [run]) == 1


async def test_a_log_that_was_removed_is_gone_and_not_empty(api: RunApi) -> None:
    rig = await new_stack(api.db)
    run = await api.take(rig, await rig.deploy())
    path = f"/v1/workspaces/acme/stacks/{(await rig.stack())['name']}/deployments/1/runs/{run.id}/log"
    await api.http.post(run.path("/log"), params={"offset": 0}, content=b"init\n", headers=run.bearer)
    assert (await api.http.post(run.path("/done"), json=FAILED, headers=run.bearer)).status_code == 200
    assert (await api.http.get(path)).text == "init\n"
    await note_removed(api.db, run.id)
    for address in (path, path + "?offset=5", path + "/stream"):
        gone = await api.http.get(address)
        assert (gone.status_code, gone.json()["type"]) == (410, REMOVED)
        assert "removed 90 days after the deployment ended; the summary" in gone.json()["detail"]


async def test_an_analysis_that_was_removed_is_gone_and_its_summary_stays(told: KnowledgeApi) -> None:
    rig = await new_stack(told.db)
    taken = await rig.take(await rig.deploy())
    run = taken.lease.row_id
    await told.keep(rig, run, RunAnalysis(state_resources=STATE).model_dump_json(by_alias=True).encode())
    await rig.report(taken, planned(changes=False))
    path = await told.path(rig, f"/deployments/1/runs/{run}")
    assert (await told.http.get(f"{path}/state-resources")).status_code == 200
    await note_removed(told.db, run)
    for section in ("plan-changes", "state-resources", "resource-graph"):
        gone = await told.http.get(f"{path}/{section}")
        assert (gone.status_code, gone.json()["type"]) == (410, REMOVED), section
        assert "removed 90 days after" in gone.json()["detail"]
    assert (await told.http.get(f"{path}/plan-summary")).json()["sentence"] == "No changes."


async def test_a_retry_says_that_the_uploaded_source_is_gone_and_works_once_it_is_back(
    module_db: TestDatabase, nats_server: NatsServer
) -> None:
    rig = await new_stack(module_db)
    packed = gzip.compress(b"a tree")
    source = {"kind": "archive", "sha256": hashlib.sha256(packed).hexdigest(), "path": "."}
    key = await rig.deploy(source=source, commit_sha=source["sha256"])
    await rig.transact(lambda tx: skip(tx, key, "ada", {}))
    await module_db.advance(60)
    async with running_api(module_db, nats_server) as api:
        path = f"/v1/workspaces/acme/stacks/{(await rig.stack())['name']}"
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
        gone = await api.http.post(f"{path}/deployments/1/retry", headers=headers)
        assert (gone.status_code, gone.json()["type"]) == (409, "urn:locktender:problem:not-retryable")
        assert "not kept any more. Upload it again" in gone.json()["detail"]
        upload = headers | {"Content-Type": "application/gzip"}
        await api.http.put(f"{path}/source-archives/{source['sha256']}", headers=upload, content=packed)
        assert (await api.http.post(f"{path}/deployments/1/retry", headers=headers)).status_code == 201
