"""All that people and runs do to stacks over HTTP, with the API in its own role: nothing is refused to it."""

import gzip
import hashlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from locktender.contracts.stacks.analysis import RunAnalysis, StateInventory
from locktender.contracts.stacks.wire import RunContext
from locktender.runtime.runs.keys import RunKey
from locktender.storage.roles import apply_roles
from locktender.storage.verify import Tolerance, violations
from locktender.testkit.api import RunningApi, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.identities import PASSWORDS, acting_as, dsn_as
from locktender.testkit.run_api import HeldToken, take_run
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import APPLIED, StackRig, binding, planned

PACKED = gzip.compress(b"what a runner looks into", mtime=0)
DIGEST = hashlib.sha256(PACKED).hexdigest()
PLAN = b"a plan file"
PLAN_DIGEST = hashlib.sha256(PLAN).hexdigest()
STACK = "/v1/workspaces/acme/stacks/network"
POOL = "/v1/workspaces/acme/runner-groups/far"
STATE = {"version": 4, "serial": 1, "lineage": "one", "resources": []}


@dataclass(frozen=True, slots=True)
class Acting:
    """The API in its role, and the runner service in its own."""

    api: RunningApi
    db: TestDatabase
    runner: TestDatabase

    async def ask(self, method: str, path: str, status: int = 200, **sent: Any) -> Any:
        answer = await self.api.http.request(method, path, **sent)
        assert answer.status_code == status, f"{method} {path}: {answer.text}"
        told = answer.headers.get("content-type") == "application/json" and answer.content
        return answer.json() if told else answer.text

    async def take(self, number: int) -> HeldToken:
        """The runner service takes the pending run of a deployment over."""
        row = await self.db.admin.fetchrow(
            "select id, stack_id from locktender.stack_deployment where number = $1", number
        )
        assert row is not None
        return await take_run(StackRig(self.runner, row["stack_id"]), row["id"])


@pytest.fixture
async def acting(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[Acting]:
    await apply_roles(db.dsn, PASSWORDS)
    seen = replace(db, dsn=dsn_as(db, "api"))
    async with acting_as(db, "runner") as runner, running_api(seen, nats_server) as api:
        yield Acting(api, db, runner)


async def make(acting: Acting) -> None:
    """A stack of an uploaded archive, with two variables."""
    source = {"kind": "archive", "sha256": DIGEST}
    await acting.ask("POST", "/v1/workspaces/acme/stacks", 201, json={"name": "network", "source": source})
    await acting.ask("PATCH", STACK, json={"description": "the network", "gitToken": "token"})
    await acting.ask("PUT", f"{STACK}/variables/variable/region", json={"value": "eu-1"})
    await acting.ask("PUT", f"{STACK}/variables/environment/API_TOKEN", json={"value": "x", "sensitive": True})
    await acting.ask("DELETE", f"{STACK}/variables/variable/region")
    upload = f"{STACK}/source-archives/{DIGEST}"
    await acting.ask("PUT", upload, 201, content=PACKED, headers={"Content-Type": "application/gzip"})


async def plan(acting: Acting, number: int) -> HeldToken:
    """The first run of a deployment tells everything that a plan tells."""
    run, key = await acting.take(number), RunKey()
    text = await acting.api.http.get(run.path("/context"), params={"key": key.public}, headers=run.bearer)
    context = RunContext.model_validate_json(text.content)
    analysis = RunAnalysis(state_resources=StateInventory()).model_dump_json(by_alias=True)
    await acting.ask("GET", run.path("/status"), headers=run.bearer)
    await acting.ask("GET", run.path("/artifacts/source.tar.gz"), headers=run.bearer)
    await acting.ask("POST", run.path("/log"), headers=run.bearer, params={"offset": 0}, content=b"planning\n")
    await acting.ask("PUT", run.path("/artifacts/plan.tfplan"), 204, headers=run.bearer, content=PLAN)
    await acting.ask("PUT", run.path("/artifacts/analysis.json"), 204, headers=run.bearer, content=analysis)
    await acting.ask("GET", run.state(), 404, auth=run.basic)
    bond = binding(plan_digest=PLAN_DIGEST, commit=DIGEST, variables_digest=context.variables_digest)
    done = planned().model_copy(update={"binding": bond}).model_dump(mode="json", by_alias=True)
    await acting.ask("POST", run.path("/done"), headers=run.bearer, json=done)
    return run


async def apply(acting: Acting, number: int) -> None:
    """The plan is confirmed and applied: a state is written under its lock."""
    await acting.ask("POST", f"{STACK}/deployments/{number}/confirm", json={"planDigest": PLAN_DIGEST})
    run = await acting.take(number)
    await acting.ask("POST", run.state("/lock"), auth=run.basic, json={"ID": "lock-1", "Who": "engine"})
    await acting.ask("POST", run.state(), auth=run.basic, params={"ID": "lock-1"}, json=STATE)
    await acting.ask("POST", run.state("/unlock"), auth=run.basic, json={"ID": "lock-1"})
    done = APPLIED.model_dump(mode="json", by_alias=True)
    await acting.ask("POST", run.path("/done"), headers=run.bearer, json=done)


async def test_a_stack_lives_from_its_making_to_its_end(acting: Acting) -> None:
    await make(acting)
    made = await acting.ask("POST", f"{STACK}/deployments", 201, json={}, headers={"Idempotency-Key": "once"})
    await acting.ask("POST", f"{STACK}/deployments", 200, json={}, headers={"Idempotency-Key": "once"})
    run = await plan(acting, made["number"])
    await apply(acting, made["number"])
    for rest in (
        "", "/variables", "/deployments", "/deployments/1", "/deployments/1/activity", "/resources", "/outputs",
        "/graph", "/state", f"/deployments/1/runs/{run.id}/log", f"/deployments/1/runs/{run.id}/state-resources",
    ):  # fmt: skip
        await acting.ask("GET", f"{STACK}{rest}")
    for path in ("stacks", "stack-queue", "runner-groups"):
        await acting.ask("GET", f"/v1/workspaces/acme/{path}")
    [version] = (await acting.ask("GET", f"{STACK}/state/versions"))["versions"]
    await acting.ask("POST", f"{STACK}/state/versions/{version['id']}:rollback")
    await acting.ask("PUT", f"{STACK}/state", json=STATE | {"serial": 3})
    await acting.ask("POST", f"{STACK}/state:force-unlock", json={"lockId": "lock-1"})
    assert (await acting.ask("GET", f"{STACK}/deployments/1"))["status"] == "finished"
    await acting.ask("DELETE", STACK)
    async with acting_as(acting.db, "ops") as ops:
        assert await violations(ops.database) == []


async def test_what_is_decided_on_deployments_is_done(acting: Acting) -> None:
    await make(acting)
    for number in range(1, 5):
        await acting.ask("POST", f"{STACK}/deployments", 201, json={"note": f"{number}"})
    await acting.ask("POST", f"{STACK}/deployments:local", 201, json={"sha256": DIGEST})
    await acting.ask("POST", f"{STACK}/deployments:run-command", 201, json={"script": "true"})
    at = f"{STACK}/deployments"
    await acting.ask("POST", f"{at}/4/prioritize")
    await acting.ask("POST", f"{at}/4/deprioritize")
    await acting.ask("POST", f"{at}/3/skip")
    await plan(acting, 1)
    await acting.ask("POST", f"{at}/1/replan", json={"replaces": ["terraform_data.a"]})
    run = await acting.take(1)
    await acting.ask("POST", f"{at}/1/cancel")
    await acting.ask("POST", run.path("/acknowledging-cancel"), headers=run.bearer)
    done = json.dumps({"outcome": "cancelled"})
    headers = run.bearer | {"Content-Type": "application/json"}
    await acting.ask("POST", run.path("/done"), headers=headers, content=done)
    await acting.ask("POST", "/v1/workspaces/acme/stack-queue:cancel-pending")
    await acting.ask("POST", f"{at}:skip-all")
    await acting.db.advance(60)
    await acting.ask("POST", f"{at}/1/retry", 201)
    async with acting_as(acting.db, "ops") as ops:
        # Nobody relays what is told here.
        assert await violations(ops.database, Tolerance(publish=3600)) == []


async def test_remote_runners_are_served(acting: Acting) -> None:
    await make(acting)
    pools = "/v1/workspaces/acme/runner-groups"
    token = (await acting.ask("POST", pools, 201, json={"name": "far"}))["token"]
    group = {"Authorization": f"Bearer {token}"}
    await acting.ask("POST", "/v1/runner-groups/poll", 204, headers=group, json={"name": "box"})
    await acting.ask("PATCH", STACK, json={"runnerGroup": "far"})
    for _ in range(2):
        await acting.ask("POST", f"{STACK}/deployments", 201, json={"mode": "plan_unlocked"})
    offer = await acting.ask("POST", "/v1/runner-groups/poll", headers=group, json={"name": "box"})
    promise = {"Authorization": f"Bearer {offer['assignment']}"}
    accept = f"/v1/runs/{offer['runId']}/accept"
    taken = await acting.ask("POST", accept, headers=promise, json={"runnerId": offer["runnerId"]})
    held = {"Authorization": f"Bearer {taken['token']}"}
    await acting.ask("GET", f"/v1/runs/{offer['runId']}/status", headers=held)
    await acting.ask("DELETE", f"{POOL}/runners/{offer['runnerId']}")
    stub = await acting.ask("POST", "/v1/runner-groups/poll", headers=group, json={"name": "box"})
    failed = {"runnerId": stub["runnerId"], "reason": "no room"}
    await acting.ask("POST", "/v1/runner-groups/dispatch-failed", 204, headers=group, json=failed)
    await acting.ask("GET", POOL)
    await acting.ask("PATCH", STACK, json={"runnerGroup": "default"})
    await acting.ask("DELETE", POOL, httpx.codes.NO_CONTENT)
