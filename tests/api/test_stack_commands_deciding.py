"""What people decide on deployments, over HTTP: recorded once, and every refusal shows what is true."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from nats.aio.msg import Msg
from structlog.testing import capture_logs

from locktender.api.http.auth import Token
from locktender.api.http.authorize import Grant, Principal
from locktender.api.stacks.runs.variables import digest_key, variables_digest
from locktender.contracts.kernel import subjects
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.contracts.stacks.wire import Done
from locktender.integrations.objects.keys import KeyRing
from locktender.runtime.bus import Bus
from locktender.storage.stacks.assign import acknowledge
from locktender.testkit.api import ADMIN_TOKEN, GUEST_TOKEN, OBJECT_KEY, RunningApi, running_api, taken
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.run_api import lose_run
from locktender.testkit.runner import connected_as
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import APPLIED, StackRig, binding, new_stack, planned

NO_VARIABLES = variables_digest(digest_key(KeyRing([OBJECT_KEY])), [])
PLAN_DIGEST = "ab" * 32
CONFIRM = {"planDigest": PLAN_DIGEST}
ELSEWHERE_TOKEN = "elsewhere-token"
LAB_TOKEN = "lab-token"


class Elsewhere:
    """Somebody with every right, in another workspace."""

    async def principal(self, token: Token) -> Principal | None:
        grants = (Grant("globex", "*", "*", frozenset({"*"})),)
        return Principal("eve", grants) if token == ELSEWHERE_TOKEN else None


class OnlyLab:
    """Somebody who may do everything to stacks of the projects of the lab, and nothing else."""

    async def principal(self, token: Token) -> Principal | None:
        grants = (Grant("acme", "stack", "lab-*", frozenset({"*"})),)
        return Principal("lou", grants) if token == LAB_TOKEN else None


@dataclass(frozen=True, slots=True)
class Deciding:
    runner: Bus
    api: RunningApi

    async def post(self, path: str, status: int = 200, *, token: str = ADMIN_TOKEN, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        sent = {} if body is None else {"json": body}
        answer = await self.api.http.post(f"/v1/workspaces/acme{path}", headers=headers, **sent)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def decide(self, rig: StackRig, key: UUID, verb: str, status: int = 200, **sent: Any) -> Any:
        name, number = (await rig.stack())["name"], (await rig.deployment(key))["number"]
        return await self.post(f"/stacks/{name}/deployments/{number}/{verb}", status, **sent)


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[Deciding]:
    issuers = (Elsewhere(), OnlyLab())
    async with (
        connected_as(nats_server, "runner") as runner,
        running_api(module_db, nats_server, issuers=issuers) as running,
    ):
        yield Deciding(runner, running)


@pytest.fixture
async def rig(module_db: TestDatabase) -> StackRig:
    return await new_stack(module_db)


def bound(*, digest: str = PLAN_DIGEST) -> Done:
    bond = binding(plan_digest=digest, variables_digest=NO_VARIABLES)
    return planned().model_copy(update={"binding": bond})


async def waiting(rig: StackRig, mode: DeploymentMode = DeploymentMode.PLAN) -> UUID:
    key = await rig.deploy(mode)
    await rig.plan(key, bound())
    return key


def refused(answer: dict[str, Any], problem: str, status: str) -> None:
    """The problem, with what is true in it."""
    assert answer["type"] == f"urn:locktender:problem:{problem}"
    assert answer["snapshot"]["status"] == status


async def test_a_confirmed_plan_is_applied_and_confirming_it_again_changes_nothing(
    api: Deciding, rig: StackRig
) -> None:
    key = await waiting(rig)
    with capture_logs() as logs:
        view = await api.decide(rig, key, "confirm", body=CONFIRM)
        assert (view["status"], view["presentation"]) == ("applying", "confirmed")
        assert view["stages"][-1]["decision"] == "apply"
        assert await api.decide(rig, key, "confirm", body=CONFIRM) == view
    assert await rig.trail(key) == ["created", "confirmed_apply"]
    audited = [line for line in logs if line.get("logger") == "locktender.audit"]
    assert [(line["kind"], line["actor"], line["deployment"]) for line in audited] == [("confirmed_apply", "admin", 1)]
    await rig.report(await rig.take(key), APPLIED)
    assert (await api.decide(rig, key, "confirm", body=CONFIRM))["status"] == "finished"


async def test_another_plan_than_the_one_that_waits_is_stale(api: Deciding, rig: StackRig) -> None:
    key = await waiting(rig)
    refused(await api.decide(rig, key, "confirm", 409, body={"planDigest": "cd" * 32}), "stale-plan", "waiting")
    assert await rig.trail(key) == ["created"]


async def test_a_plan_is_stale_once_a_variable_has_changed(api: Deciding, rig: StackRig) -> None:
    key = await waiting(rig)
    await rig.db.admin.execute(
        "insert into locktender.stack_variable (stack_id, kind, name, value, updated_by) "
        "values ($1, 'variable', 'region', 'eu-1', 'ada')",
        rig.stack_id,
    )
    answer = await api.decide(rig, key, "confirm", 409, body=CONFIRM)
    refused(answer, "stale-plan", "waiting")
    assert "variables" in answer["detail"]


async def test_what_does_not_wait_cannot_be_confirmed(api: Deciding, rig: StackRig) -> None:
    key = await rig.deploy()
    refused(await api.decide(rig, key, "confirm", 409, body=CONFIRM), "not-confirmable", "pending")


async def test_an_apply_that_failed_is_not_called_confirmed(api: Deciding, rig: StackRig) -> None:
    key = await waiting(rig)
    await api.decide(rig, key, "confirm", body=CONFIRM)
    await rig.take(key)
    run = await rig.open_run(key)
    assert run is not None
    await lose_run(rig.db.database, run["id"])
    refused(await api.decide(rig, key, "confirm", 409, body=CONFIRM), "not-confirmable", "failed")
    later = await waiting(rig)
    refused(await api.decide(rig, later, "confirm", 409, body=CONFIRM), "stack-uncertain", "waiting")


async def test_a_confirmation_names_the_plan(api: Deciding, rig: StackRig) -> None:
    answer = await api.decide(rig, await waiting(rig), "confirm", 400, body={})
    assert [each["pointer"] for each in answer["errors"]] == ["/planDigest"]


async def test_a_replan_is_another_run_and_is_not_doubled(api: Deciding, rig: StackRig) -> None:
    key = await waiting(rig)
    view = await api.decide(rig, key, "replan", body={"targets": ["aws_vpc.main"]})
    assert view["status"] == "pending"
    assert view["stages"][-1]["run"]["narrowing"]["targets"] == ["aws_vpc.main"]
    assert await api.decide(rig, key, "replan", body={"targets": ["aws_vpc.main"]}) == view
    assert await rig.trail(key) == ["created", "confirmed_replan"]
    refused(
        await api.decide(rig, key, "replan", 409, body={"targets": ["aws_vpc.other"]}), "not-confirmable", "pending"
    )
    assert (await api.decide(rig, key, "replan", 400, body={}))["errors"][0]["code"] == "nothing-named"


async def test_skipping_leaves_a_plan_and_what_has_not_begun(api: Deciding, rig: StackRig) -> None:
    first, second = await waiting(rig), await rig.deploy()
    assert (await api.decide(rig, second, "skip"))["status"] == "skipped"
    view = await api.decide(rig, first, "skip")
    assert (view["status"], view["stages"][-1]["decision"]) == ("skipped", "skip")
    assert await api.decide(rig, first, "skip") == view
    assert await rig.trail(first) == ["created", "confirmed_skip"]
    third = await rig.deploy()
    await rig.take(third)
    refused(await api.decide(rig, third, "skip", 409), "not-skippable", "planning")


async def test_a_running_deployment_is_told_to_stop_once_and_its_runner_hears_it(api: Deciding, rig: StackRig) -> None:
    key = await rig.deploy()
    run = await rig.take(key)
    heard = asyncio.Event()

    async def hear(message: Msg) -> None:
        if message.subject == subjects.cancel(run.lease.row_id):
            heard.set()

    await api.runner.subscribe(subjects.CANCELS, hear)
    await api.runner.client.flush()
    with capture_logs() as logs:
        view = await api.decide(rig, key, "cancel")
        assert (view["status"], view["cancelRequestedBy"]) == ("requested_cancellation", "admin")
        async with asyncio.timeout(5):
            await heard.wait()
        assert await api.decide(rig, key, "cancel") == view
    assert await rig.trail(key) == ["created", "cancellation_requested"]
    assert [line["kind"] for line in logs if line.get("logger") == "locktender.audit"] == ["cancellation_requested"]
    await rig.transact(lambda tx: acknowledge(tx, run.lease.row_id, run.lease.epoch, {}))
    assert (await api.decide(rig, key, "cancel"))["status"] == "cancelling"


async def test_a_cancel_ends_what_nobody_has_at_once(api: Deciding, rig: StackRig) -> None:
    first, second = await rig.deploy(), await rig.deploy()
    assert (await api.decide(rig, second, "cancel"))["status"] == "skipped"
    assert (await api.decide(rig, second, "cancel"))["status"] == "skipped"
    assert (await api.decide(rig, first, "cancel"))["status"] == "cancelled"
    assert (await api.decide(rig, first, "cancel"))["status"] == "cancelled"


async def test_what_has_ended_cannot_be_cancelled_or_put_first(api: Deciding, rig: StackRig) -> None:
    key = await rig.deploy()
    await rig.plan(key, planned(changes=False))
    refused(await api.decide(rig, key, "cancel", 409), "not-cancellable", "finished")
    refused(await api.decide(rig, key, "prioritize", 409), "not-prioritizable", "finished")
    refused(await api.decide(rig, key, "deprioritize", 409), "not-prioritizable", "finished")


async def test_a_priority_is_kept_until_it_is_taken_back(api: Deciding, rig: StackRig) -> None:
    await rig.deploy()
    key = await rig.deploy()
    view = await api.decide(rig, key, "prioritize")
    assert view["prioritizedBy"] == "admin"
    assert await api.decide(rig, key, "prioritize") == view
    assert (await api.decide(rig, key, "deprioritize"))["prioritizedAt"] is None
    assert await rig.trail(key) == ["created", "prioritized", "deprioritized"]


async def test_one_press_skips_all_of_a_stack_but_what_only_looks(api: Deciding, rig: StackRig) -> None:
    looks = await rig.deploy(DeploymentMode.PLAN_UNLOCKED)
    first, second = await waiting(rig), await rig.deploy()
    with capture_logs() as logs:
        answer = await api.post(f"/stacks/{(await rig.stack())['name']}/deployments:skip-all")
    assert answer == {"skipped": [str(second), str(first)], "more": False}
    assert await rig.status(looks) == "pending"
    audited = [line for line in logs if line.get("logger") == "locktender.audit"]
    assert [line["deployments"] for line in audited] == [[str(second), str(first)]]


async def test_clearing_the_queue_skips_what_waits_for_a_runner(api: Deciding, rig: StackRig) -> None:
    pending, queued = await rig.deploy(), await rig.deploy()
    answer = await api.post("/stack-queue:cancel-pending")
    assert str(pending) in answer["skipped"]
    assert str(queued) not in answer["skipped"]
    assert (await rig.status(pending), await rig.status(queued)) == ("skipped", "pending")


@pytest.mark.parametrize("verb", ["confirm", "replan", "skip", "cancel", "prioritize", "deprioritize"])
async def test_who_may_only_look_decides_nothing_and_strangers_find_nothing(
    api: Deciding, rig: StackRig, verb: str
) -> None:
    key = await rig.deploy()
    assert (await api.decide(rig, key, verb, 403, token=GUEST_TOKEN))["type"].endswith("forbidden")
    await api.decide(rig, key, verb, 404, token=ELSEWHERE_TOKEN)
    assert await rig.status(key) == "pending"


async def test_who_may_confirm_nowhere_clears_nothing(api: Deciding, rig: StackRig) -> None:
    key = await rig.deploy()
    await api.post("/stack-queue:cancel-pending", 403, token=GUEST_TOKEN)
    await api.post(f"/stacks/{(await rig.stack())['name']}/deployments:skip-all", 403, token=GUEST_TOKEN)
    assert await rig.status(key) == "pending"


@pytest.mark.parametrize("number", ["99", "0", "-1", "x", "9" * 30])
async def test_a_deployment_that_is_not_there_is_not_found(api: Deciding, rig: StackRig, number: str) -> None:
    await api.post(f"/stacks/{(await rig.stack())['name']}/deployments/{number}/cancel", 404)
    await api.post(f"/stacks/nobody-has-it/deployments/{number}/cancel", 404)


async def test_who_may_decide_in_some_projects_decides_there_and_nowhere_else(
    api: Deciding, module_db: TestDatabase
) -> None:
    lab, shop = await new_stack(module_db, project="lab-1"), await new_stack(module_db, project="shop")
    mine, theirs, pending = await lab.deploy(), await shop.deploy(), await new_stack(module_db, project="lab-2")
    waits = await pending.deploy()
    assert (await api.decide(lab, mine, "cancel", token=LAB_TOKEN))["status"] == "cancelled"
    await api.decide(shop, theirs, "cancel", 403, token=LAB_TOKEN)
    assert (await api.post("/stack-queue:cancel-pending", token=LAB_TOKEN))["skipped"] == [str(waits)]
    assert await shop.status(theirs) == "pending"


async def test_who_may_look_in_some_projects_sees_the_stacks_of_those(api: Deciding, module_db: TestDatabase) -> None:
    lab, shop = await new_stack(module_db, project="lab-1"), await new_stack(module_db, project="shop")
    mine, theirs = (await lab.stack())["name"], (await shop.stack())["name"]

    async def ask(method: str, rest: str, **sent: Any) -> int:
        headers = {"Authorization": f"Bearer {LAB_TOKEN}"}
        answer = await api.api.http.request(method, f"/v1/workspaces/acme{rest}", headers=headers, **sent)
        return answer.status_code

    for rest in ("", "/variables", "/deployments", "/resources", "/state/versions"):
        assert await ask("GET", f"/stacks/{mine}{rest}") == 200, rest
        assert await ask("GET", f"/stacks/{theirs}{rest}") == 403, rest
    assert await ask("GET", "/stacks/nobody-has-it") == 404
    assert [await ask("GET", "/stacks"), await ask("GET", "/stack-queue"), await ask("GET", "/runner-groups")] == [
        403
    ] * 3
    assert await ask("PATCH", f"/stacks/{mine}", json={"project": "lab-2"}) == 200
    assert await ask("PATCH", f"/stacks/{mine}", json={"project": "shop"}) == 403


async def test_whoever_follows_a_log_is_told_at_once_that_its_run_was_ended(api: Deciding, rig: StackRig) -> None:
    async def end_of(key: UUID, verb: str) -> None:
        row = await rig.deployment(key)
        [run] = await rig.runs(key)
        path = f"/v1/workspaces/acme/stacks/{(await rig.stack())['name']}/deployments/{row['number']}"
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            told = group.create_task(taken(api.api.stream(f"{path}/runs/{run['id']}/log/stream"), 1, 5))
            await eventually(lambda: api.api.api.stacks.streams[0].streams == 1)
            await api.decide(rig, key, verb)
        assert [event.name for event in told.result()] == ["end"]

    await end_of(await rig.deploy(), "skip")
    await end_of(await rig.deploy(), "cancel")
