"""Deployments of stacks as people read them: what each waits for, who did what, how it ended, what is in line."""

import json
from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

import pytest

from locktender.contracts.kernel.ids import new_id
from locktender.contracts.stacks.analysis import GapReason, PlanCounts, PlanGap, PlanSummary
from locktender.contracts.stacks.vocabulary import ActivityKind, DeploymentMode, RunFailureReason, SkippedReason
from locktender.contracts.stacks.wire import Done, Narrowing, Outcome, RunFailure
from locktender.storage.kernel.database import Transaction
from locktender.storage.stacks import transitions
from locktender.storage.stacks.complete import end_unfinished
from locktender.storage.stacks.held import OPEN_RUN
from locktender.storage.stacks.lane import advance, locked
from locktender.storage.stacks.told import Told, act
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer
from locktender.testkit.stack_reading import SOURCE, StackApi, stack_api
from locktender.testkit.stacks import APPLIED, StackRig, binding, planned

UNSURE = Done(
    outcome=Outcome.SUCCESS,
    has_changes=True,
    summary=PlanSummary(
        has_changes=True, counts=PlanCounts(create=2), gaps=(PlanGap(reason=GapReason.NARROWED, address=None),)
    ),
    binding=binding(),
    exit_code=2,
)


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[StackApi]:
    async with stack_api(module_db, nats_server) as running:
        yield running


async def made(api: StackApi, db: TestDatabase, name: str, workspace: str = "acme", **body: Any) -> StackRig:
    return StackRig(db, UUID((await api.create(name, workspace=workspace, **body))["id"]))


async def deploy(rig: StackRig, mode: DeploymentMode = DeploymentMode.PLAN, **stated: Any) -> UUID:
    return await rig.deploy(mode, source=SOURCE, **stated)


async def deployment(api: StackApi, name: str, number: int, workspace: str = "acme") -> dict[str, Any]:
    return await api.get(f"/{name}/deployments/{number}", workspace)


async def skipped(rig: StackRig, key: UUID, by: str | None, reason: SkippedReason | None) -> None:
    async def work(tx: Transaction) -> None:
        await locked(tx, rig.stack_id)
        stage = await rig.db.admin.fetchval(
            "select id from locktender.stack_stage where deployment_id = $1 and completed_at is null", key
        )
        await transitions.STAGE_SKIP.one(tx, stage)
        await transitions.SKIP.one(tx, key, skipped_reason=reason, **Told(by or "reaper").columns())
        if by is not None:
            await act(tx, key, ActivityKind.SKIPPED, by)
        await advance(tx, rig.stack_id)

    await rig.transact(work)


async def test_a_deployment_shows_its_plan_with_what_the_numbers_leave_out(
    api: StackApi, module_db: TestDatabase
) -> None:
    rig = await made(api, module_db, "planned")
    key = await deploy(rig, narrowing=Narrowing(targets=("a.b",)), note="first", commit={"subject": "Add a subnet"})
    await rig.plan(key, UNSURE)
    shown = await deployment(api, "planned", 1)
    assert (shown["status"], shown["presentation"], shown["note"]) == ("waiting", "waiting", "first")
    assert shown["commit"]["subject"] == "Add a subnet"
    assert shown["actions"] == ["confirm", "replan", "skip", "prioritize"]
    plan, confirmation = shown["stages"]
    assert (plan["kind"], plan["phase"], plan["actor"]) == ("plan_run", "done", "ada")
    assert plan["run"]["narrowing"]["targets"] == ["a.b"]
    assert plan["run"]["plan"]["sentence"] == "At least 2 to create: the plan was narrowed to some resources."
    assert not plan["run"]["plan"]["countsComplete"]
    assert plan["run"]["binding"]["planDigest"] == "ab" * 32
    assert (confirmation["kind"], confirmation["phase"], confirmation["decision"]) == ("confirmation", "running", None)
    assert shown["blockedBy"]["kind"] == "person"
    assert shown["blockedBy"]["message"].startswith("waiting for a confirmation by a person since 20")
    assert (shown["deadlineAt"], shown["deadline"][:7]) == (None, "No end:")
    assert "token" not in json.dumps(shown).lower()


async def test_a_deployment_behind_another_one_names_it(api: StackApi, module_db: TestDatabase) -> None:
    rig = await made(api, module_db, "behind", policy={"queuedTimeoutSeconds": 600})
    first, _ = await deploy(rig), await deploy(rig)
    blocked = (await deployment(api, "behind", 2))["blockedBy"]
    assert (blocked["kind"], blocked["deploymentNumber"]) == ("lane", 1)
    assert blocked["message"].startswith("behind deployment #1 (waiting for a runner of group default since 20")
    await rig.plan(first)
    shown = await deployment(api, "behind", 2)
    assert shown["blockedBy"]["message"].startswith("behind deployment #1 (waiting for a confirmation by a person")
    assert shown["deadlineAt"] is not None
    assert shown["deadline"].startswith("Then it is skipped by itself")
    lane = await api.get("/behind")
    assert (lane["lane"]["number"], lane["blockedBy"]["kind"]) == (1, "person")
    assert lane["latestDeployment"]["number"] == 2


async def test_a_run_that_no_runner_can_take_says_why(api: StackApi, module_db: TestDatabase) -> None:
    await module_db.admin.execute(
        "insert into locktender.stack_runner_group (id, workspace, name, labels, token_hash, capacity, created_by) "
        "values ($1, 'acme', 'metal', '[\"arm\"]', '\\x01', 2, 'ada')", new_id(),
    )  # fmt: skip
    missing = await made(api, module_db, "missing", runnerGroup="nowhere")
    lacking = await made(api, module_db, "lacking", runnerGroup="metal", labels=["arm", "gpu"])
    for rig in (missing, lacking):
        await deploy(rig)
    nowhere = (await deployment(api, "missing", 1))["blockedBy"]
    assert nowhere["message"] == "waiting for a runner of group nowhere: there is no such group"
    metal = (await deployment(api, "lacking", 1))["blockedBy"]
    assert metal["message"] == "waiting for a runner of group metal: the group does not offer gpu"


async def test_work_under_way_has_a_deadline(api: StackApi, module_db: TestDatabase) -> None:
    rig = await made(api, module_db, "working")
    await rig.take(await deploy(rig))
    shown = await deployment(api, "working", 1)
    assert (shown["status"], shown["blockedBy"]["kind"]) == ("planning", "run")
    assert (shown["deadline"], shown["deadlineAt"] > shown["startedAt"]) == ("Then the tool is asked to stop.", True)
    assert shown["actions"] == ["cancel", "prioritize"]


async def test_an_apply_that_the_stack_began_is_nobodys(api: StackApi, module_db: TestDatabase) -> None:
    rig = await made(api, module_db, "auto", autoApprove="auto")
    key = await deploy(rig)
    await rig.plan(key)
    assert (await deployment(api, "auto", 1))["presentation"] == "confirmed"
    await rig.plan(key, APPLIED)
    shown = await deployment(api, "auto", 1)
    assert (shown["status"], shown["ending"], shown["blockedBy"]) == ("finished", "What was planned was applied.", None)
    apply = shown["stages"][-1]
    assert (apply["kind"], apply["actor"], apply["decision"]) == ("apply_run", None, "auto-apply")
    trail = (await api.get("/auto/deployments/1/activity"))["entries"]
    assert [(each["kind"], each["actor"], each["status"]) for each in trail] == [
        ("created", "ada", None), ("auto_applied", None, None), (None, None, "finished"),
    ]  # fmt: skip
    assert [each["message"] for each in trail] == [
        "ada asked for it.", "The stack applies by itself.", "What was planned was applied.",
    ]  # fmt: skip


async def test_a_lost_apply_is_shown_as_unknown(api: StackApi, module_db: TestDatabase) -> None:
    rig = await made(api, module_db, "lost", autoApprove="auto")
    key = await deploy(rig)
    await rig.plan(key)
    await rig.take(key)
    silence = RunFailure(reason=RunFailureReason.LOST, message="The runner fell silent.")

    async def lose(tx: Transaction) -> None:
        owner, run = await locked(tx, rig.stack_id), await tx.fetch_one(OPEN_RUN, id=key)
        assert run is not None
        await end_unfinished(tx, owner, run, Told("reaper"), silence)

    await rig.transact(lose)
    shown = await deployment(api, "lost", 1)
    assert (shown["status"], shown["presentation"], shown["failure"]["reason"]) == ("failed", "lost", "lost")
    assert shown["ending"] == "The runner fell silent. What it changed by then is unknown until a refresh."
    uncertain = (await api.get("/lost"))["uncertain"]
    assert uncertain["runId"] == shown["stages"][-1]["run"]["id"]


async def test_who_skipped_is_told_and_why_it_was_skipped_by_itself(api: StackApi, module_db: TestDatabase) -> None:
    rig = await made(api, module_db, "skipped")
    by_person, by_age = await deploy(rig), await deploy(rig)
    await rig.plan(by_person)
    await skipped(rig, by_person, "eve", None)
    await rig.plan(by_age)
    await skipped(rig, by_age, None, SkippedReason.CONFIRMATION_TIMEOUT)
    first, second = await deployment(api, "skipped", 1), await deployment(api, "skipped", 2)
    assert (first["ending"], first["actions"]) == ("Somebody skipped it.", ["retry"])
    assert (first["stages"][-1]["actor"], first["stages"][-1]["decision"]) == ("eve", "skip")
    assert (second["ending"], second["skippedReason"]) == ("Nobody confirmed it in time.", "confirmation_timeout")
    assert (second["stages"][-1]["actor"], second["stages"][-1]["decision"]) == (None, "skip")


async def test_deployments_are_listed_newest_first_without_gaps(api: StackApi, module_db: TestDatabase) -> None:
    rig = await made(api, module_db, "many")
    for mode in (DeploymentMode.PLAN, DeploymentMode.PLAN_UNLOCKED, DeploymentMode.DESTROY, DeploymentMode.PLAN):
        await deploy(rig, mode)
    seen: list[int] = []
    cursor: dict[str, str] = {}
    for _ in range(5):
        page = await api.get("/many/deployments", limit=3, **cursor)
        seen += [each["number"] for each in page["deployments"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert seen == [4, 3, 2, 1]
    queued = await api.get("/many/deployments", status="queued")
    assert [each["number"] for each in queued["deployments"]] == [4, 3]
    looking = await api.get("/many/deployments", mode="plan_unlocked")
    assert [each["number"] for each in looking["deployments"]] == [2]
    for rest in ("/many/deployments/5", "/many/deployments/0", "/many/deployments/x", "/nosuch/deployments"):
        assert (await api.http.get(api.path(rest))).status_code == 404


async def queue(api: StackApi, workspace: str, **parameters: Any) -> dict[str, Any]:
    answer = await api.http.get(f"/v1/workspaces/{workspace}/stack-queue", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_queue_tells_place_and_reason_in_both_lines(api: StackApi, module_db: TestDatabase) -> None:
    one = await made(api, module_db, "one", "lines")
    await module_db.admin.execute(
        "insert into locktender.stack_runner_group (id, workspace, name, token_hash, capacity, created_by) "
        "values ($1, 'lines', 'small', '\\x02', 1, 'ada')", new_id(),
    )  # fmt: skip
    busy = await made(api, module_db, "busy", "lines", runnerGroup="small")
    waits = await made(api, module_db, "waits", "lines", runnerGroup="small")
    auto = await made(api, module_db, "auto", "lines", runnerGroup="small", autoApprove="auto")
    first, _, _ = [await deploy(one) for _ in range(3)]
    await rig_plans(one, first)
    await busy.take(await deploy(busy))
    await deploy(waits)
    await auto.plan(await deploy(auto))
    shown = await queue(api, "lines")
    assert [(each["stack"], each["number"], each["layer"], each["position"]) for each in shown["entries"]] == [
        ("one", 2, "lane", 1), ("one", 3, "lane", 2), ("waits", 1, "runner", 1), ("auto", 1, "runner", 2),
    ]  # fmt: skip
    assert shown["entries"][1]["reason"].startswith("Behind deployment #1 (waiting for a confirmation by a person")
    assert shown["entries"][2]["reason"].endswith("; all 1 places of the group are taken.")
    assert shown["entries"][3]["status"] == "applying"
    loads = [(each["name"], each["capacity"], each["running"]) for each in shown["groups"]]
    assert loads == [("default", None, 0), ("small", 1, 1)]
    assert not shown["truncated"]
    short = await queue(api, "lines", limit=1)
    assert (len(short["entries"]), short["truncated"]) == (1, True)
    assert (await queue(api, "nobodys"))["entries"] == []


async def rig_plans(rig: StackRig, key: UUID) -> None:
    await rig.plan(key, planned())


async def test_a_deployment_that_was_moved_ahead_stands_first(api: StackApi, module_db: TestDatabase) -> None:
    rig = await made(api, module_db, "moved", "ahead")
    _, _, last = [await deploy(rig) for _ in range(3)]

    async def prioritize(tx: Transaction) -> None:
        await transitions.PRIORITIZE.one(tx, last, prioritized_by="eve", **Told("eve").columns())

    await rig.transact(prioritize)
    entries = (await queue(api, "ahead"))["entries"]
    assert [each["number"] for each in entries] == [3, 1, 2]
    assert [(each["number"], each["position"]) for each in entries if each["layer"] == "lane"] == [(3, 1), (2, 2)]
    assert (await deployment(api, "moved", 3, "ahead"))["actions"] == ["skip", "deprioritize"]


async def test_the_table_of_states_is_open_and_complete(api: StackApi) -> None:
    answer = await api.http.get("/v1/stack-presentation", headers={"Authorization": ""})
    states = {each["state"]: each for each in answer.json()["states"]}
    assert states["waiting"]["attention"] == "always"
    assert states["confirmed"]["actions"] == states["applying"]["actions"] == ["cancel", "prioritize", "deprioritize"]
    again = await api.http.get("/v1/stack-presentation", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
