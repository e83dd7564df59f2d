"""What a runner says of its run, and hears: whoever holds the token holds the epoch, and nobody else."""

import json
from collections.abc import AsyncGenerator

import pytest

from locktender.api.stacks.runs.variables import OpenVariable, digest_key, variables_digest
from locktender.contracts.stacks.flow import RunStatus
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.contracts.stacks.wire import Done, Outcome, RunContext, RunSecrets
from locktender.integrations.objects.cipher import Cipher
from locktender.integrations.objects.keys import KeyRing
from locktender.runtime.runs.keys import RunKey
from locktender.storage.kernel.database import Transaction
from locktender.storage.stacks import transitions
from locktender.storage.stacks.told import Told
from locktender.testkit.api import OBJECT_KEY
from locktender.testkit.database import TestDatabase
from locktender.testkit.run_api import HeldToken, RunApi, running_runs
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import COMMIT, StackRig, new_stack, planned

CANARY = "canary-9f2e-db-password"
GIT = {"kind": "git", "url": "https://git.example/infra.git", "ref": "main", "path": "live"}


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunApi]:
    async with running_runs(module_db, nats_server) as running:
        yield running


@pytest.fixture
def db(module_db: TestDatabase) -> TestDatabase:
    """Each test has stacks of its own."""
    return module_db


async def add_variable(rig: StackRig, kind: str, name: str, value: str, *, sensitive: bool = False) -> None:
    aad = f"variable/{rig.stack_id}/{kind}/{name}"
    sealed = Cipher(KeyRing([OBJECT_KEY])).seal(aad, value.encode()) if sensitive else None
    await rig.db.admin.execute(
        "insert into locktender.stack_variable (stack_id, kind, name, value, sealed, updated_by) "
        "values ($1, $2, $3, $4, $5, 'ada')",
        rig.stack_id, kind, name, None if sensitive else value, sealed,
    )  # fmt: skip


async def context_of(api: RunApi, run: HeldToken) -> tuple[RunContext, RunSecrets]:
    key = RunKey()
    answer = await api.http.get(run.path("/context"), params={"key": key.public.rstrip("=")}, headers=run.bearer)
    assert answer.status_code == 200, answer.text
    assert CANARY not in answer.text
    context = RunContext.model_validate_json(answer.content)
    return context, key.unseal(context)


async def request_cancel(rig: StackRig, run: HeldToken) -> None:
    async def work(tx: Transaction) -> None:
        moved = await transitions.RUN_REQUEST_CANCEL.one(tx, run.id)
        words = Told("ada").columns()
        key = moved["deployment_id"]
        await transitions.REQUEST_CANCEL.one(tx, key, cancel_requested_by="ada", **words)
        stage = await rig.db.admin.fetchval("select id from locktender.stack_stage where run_id = $1", run.id)
        await transitions.STAGE_REQUEST_CANCEL.one(tx, stage)

    await rig.transact(work)


def done(report: Done) -> dict[str, object]:
    return json.loads(report.model_dump_json(by_alias=True))


async def test_the_context_says_everything_and_seals_what_is_secret(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    await add_variable(rig, "variable", "region", "eu-1")
    await add_variable(rig, "environment", "DB_PASSWORD", CANARY, sensitive=True)
    git_token = Cipher(api.keys).seal(f"git-token/{rig.stack_id}", b"ghp-token")
    await db.admin.execute("update locktender.stack set git_token = $1 where id = $2", git_token, rig.stack_id)
    run = await api.take(rig, await rig.deploy(source=GIT))
    context, secrets = await context_of(api, run)
    assert (context.checkout.kind, context.checkout.path) == ("git", "live")
    assert context.checkout.model_dump()["commit"] == COMMIT
    assert context.backend.lock_address == f"{api.url}/v1/stacks/{rig.stack_id}/state/lock"
    assert (context.variables, context.environment, context.binding) == ({"region": "eu-1"}, {}, None)
    assert secrets.environment["DB_PASSWORD"].get_secret_value() == CANARY
    assert secrets.git_token is not None
    assert secrets.git_token.get_secret_value() == "ghp-token"
    values = [
        OpenVariable("environment", "DB_PASSWORD", CANARY, sensitive=True),
        OpenVariable("variable", "region", "eu-1", sensitive=False),
    ]
    assert context.variables_digest == variables_digest(digest_key(api.keys), values)
    assert context.variables_digest != variables_digest(digest_key(api.keys), values[:1])


async def test_a_raw_run_gets_its_script_and_an_apply_what_was_confirmed(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    key = await rig.deploy(DeploymentMode.RAW, source=GIT)
    script = Cipher(api.keys).seal(f"script/{key}", b"terraform state list")
    async with db.unguarded() as admin:
        await admin.execute("update locktender.stack_deployment set raw_script = $1 where id = $2", script, key)
    _, secrets = await context_of(api, await api.take(rig, key))
    assert secrets.script is not None
    assert secrets.script.get_secret_value() == "terraform state list"

    other = await new_stack(db, auto_approve="auto")
    archive = {"kind": "archive", "sha256": "ab" * 32}
    applied = await other.deploy(source=archive)
    await other.plan(applied)
    apply = await api.take(other, applied)
    context, _ = await context_of(api, apply)
    assert context.binding == planned().binding
    assert context.checkout.kind == "archive"
    await api.store.put(f"sources/acme/{other.stack_id}/{'ab' * 32}.tar.gz", b"tar")
    source = await api.http.get(apply.path("/artifacts/source.tar.gz"), headers=apply.bearer)
    assert source.content == b"tar"


async def test_a_key_that_is_none_gets_no_context(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    run = await api.take(rig, await rig.deploy(source=GIT))
    for key in ("", "short", "A" * 43 + "!", "AAAA" * 200, "A" * 43):
        answer = await api.http.get(run.path("/context"), params={"key": key}, headers=run.bearer)
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "invalid-key")


async def test_a_status_renews_the_lease_and_tells_of_a_cancel(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    run = await api.take(rig, await rig.deploy(), ttl=60)
    await db.advance(50)
    assert (await api.http.get(run.path("/status"), headers=run.bearer)).json() == {"status": "running"}
    await db.advance(50)
    await request_cancel(rig, run)
    told = await api.http.get(run.path("/status"), headers=run.bearer)
    assert told.json() == {"status": "requested_cancellation"}
    for _ in range(2):
        answer = await api.http.post(run.path("/acknowledging-cancel"), headers=run.bearer)
        assert answer.json() == {"status": "cancelling"}
    ended = await api.http.post(run.path("/done"), headers=run.bearer, json=done(Done(outcome=Outcome.SUCCESS)))
    assert ended.json() == {"status": "cancelled"}


async def test_a_cancel_that_nobody_asked_for_cannot_be_confirmed(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    run = await api.take(rig, await rig.deploy())
    answer = await api.http.post(run.path("/acknowledging-cancel"), headers=run.bearer)
    assert answer.status_code == 400
    assert (await api.http.get(run.path("/status"), headers=run.bearer)).json() == {"status": "running"}


async def test_a_report_moves_the_deployment_and_voids_the_token(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    key = await rig.deploy()
    run = await api.take(rig, key)
    answer = await api.http.post(run.path("/done"), headers=run.bearer, json=done(planned()))
    assert answer.json() == {"status": RunStatus.SUCCESS}
    assert await rig.status(key) == "waiting"
    again = await api.http.post(run.path("/done"), headers=run.bearer, json=done(planned()))
    assert again.status_code == 401
    assert await rig.status(key) == "waiting"


async def test_no_wrong_token_is_told_why(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db)
    run = await api.take(rig, await rig.deploy(), ttl=60)
    other = await new_stack(db)
    stranger = await api.take(other, await other.deploy())
    path = run.path("/status")
    wrong = [
        {"Authorization": value}
        for value in ("", "Bearer", "Bearer x", f"Basic {run.token}", f"Bearer {'x' * 500}", f"Bearer {stranger.token}")
    ]
    await db.advance(10)
    answers = [await api.http.get(path, headers=headers) for headers in wrong]
    answers.append(await api.http.get("/v1/runs/nonsense/status", headers=run.bearer))
    await db.advance(51)
    answers.append(await api.http.get(path, headers=run.bearer))
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.json()["detail"] for answer in answers}) == 1
    assert "Bearer" in answers[0].headers["www-authenticate"]


async def test_an_artifact_is_written_once_and_marks_the_analysis(api: RunApi, db: TestDatabase) -> None:
    rig = await new_stack(db, auto_approve="auto")
    key = await rig.deploy()
    run = await api.take(rig, key)

    async def put(name: str, data: bytes) -> int:
        return (await api.http.put(run.path(f"/artifacts/{name}"), content=data, headers=run.bearer)).status_code

    assert await db.admin.fetchval("select analysed from locktender.stack_run where id = $1", run.id) is False
    statuses = [await put(name, b"{}") for name in ("plan.tfplan", "analysis.json", "plan-summary.json")]
    assert statuses == [204, 204, 204]
    assert await db.admin.fetchval("select analysed from locktender.stack_run where id = $1", run.id) is True
    assert [await put("analysis.json", b"{}"), await put("analysis.json", b"[]")] == [204, 409]
    assert [await put("source.tar.gz", b"tar"), await put("else.json", b"{}")] == [405, 404]
    await api.http.post(run.path("/done"), headers=run.bearer, json=done(planned()))
    assert await put("plan.tfplan", b"{}") == 401

    apply = await api.take(rig, key)
    fetched = await api.http.get(apply.path("/artifacts/plan.tfplan"), headers=apply.bearer)
    assert (fetched.status_code, fetched.content) == (200, b"{}")
    refused = await api.http.put(apply.path("/artifacts/plan.tfplan"), content=b"mine", headers=apply.bearer)
    assert refused.status_code == 403
    missing = await api.http.get(apply.path("/artifacts/source.tar.gz"), headers=apply.bearer)
    assert missing.status_code == 404
