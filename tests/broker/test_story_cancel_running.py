"""The stories of cancelling a deployment that runs: through HTTP, with a real runner and a sandbox cluster."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

import pytest

from locktender.contracts.deployments.policy import Deadlines
from locktender.reaper.app import serve as serve_reaper
from locktender.reaper.settings import ReaperSettings
from locktender.runner.app import serve
from locktender.runner.settings import RunnerSettings
from locktender.testkit.api import GUEST_TOKEN, RunningApi, running_api
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.runner import Held, Seen, TaskBench, config_maps, deployment, task_bench
from locktender.testkit.servers import NatsServer

NEVER = deployment("web", behaviour="never-ready")
RENEWAL = 20.0
"""Seconds between two renewals of a runner with the settings that ship."""


@dataclass(frozen=True)
class Rig:
    api: RunningApi
    bench: TaskBench
    cluster: SandboxCluster
    tasks: list[str] = field(default_factory=list[str])

    async def deploy(self, manifests: str) -> UUID:
        """A deployment, asked for as a person does, and on its way to a runner."""
        made = await self.api.create(
            source={"kind": "manifests", "manifests": manifests}, kubeconfig=self.cluster.kubeconfig,
            target={"project": "shop", "namespace": "default"},
        )  # fmt: skip
        task = UUID(made["task"]["id"])
        self.tasks.append(str(task))
        await self.bench.hint(task, "direct")
        return task

    async def cancel(self, task: UUID) -> dict[str, Any]:
        answer = await self.api.http.post(self.api.path(f"/{task}/cancel"))
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def shown(self, task: UUID, **headers: str) -> dict[str, Any]:
        return (await self.api.http.get(self.api.path(f"/{task}"), headers=headers)).json()

    async def ended(self, task: UUID, seconds: float = 30) -> dict[str, Any]:
        await self.bench.ended(task, seconds)
        return await self.shown(task)

    async def reached(self, held: Held, task: UUID, seconds: float = 30) -> None:
        """Return when the run of `task` is held."""
        try:
            async with asyncio.timeout(seconds):
                await held.reached.wait()
        except TimeoutError:
            raise AssertionError(f"the run never got there: {await self.shown(task)}") from None

    async def effects(self) -> list[str]:
        """What was really changed in the cluster, in order.

        By the runs of this test: a request that an earlier one gave up may still be carried out, much later.
        """
        return [
            f"{entry['verb']} {entry['name']}"
            for entry in await self.cluster.ledger()
            if entry["task"] in self.tasks and not entry["dryRun"]
        ]


@pytest.fixture
async def rig(db: TestDatabase, nats_server: NatsServer, cluster: SandboxCluster) -> AsyncGenerator[Rig]:
    async with task_bench(db, nats_server) as bench, running_api(db, nats_server) as api:
        yield Rig(api, bench, cluster)


def settings(rig: Rig, **stated: Any) -> RunnerSettings:
    plausible: dict[str, Any] = {
        "database_url": rig.bench.db.dsn, "nats_url": rig.bench.nats.url, "instance": "runner-1", "drain_seconds": 8,
        "lease_ttl_seconds": RENEWAL * 3, "renew_seconds": RENEWAL,
    }  # fmt: skip
    return RunnerSettings(**(plausible | stated))


def verifying(seen: Seen) -> bool:
    return seen.row.task.phase == "verify"


def after_the_plan(**fault: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fault that lets the dry run of its object by."""
    return {"verb": fault["verb"], "name": fault["name"], "count": 1}, fault


class Deaf(Held):
    """Fault points of which one holds a run that pays no attention to being told to stop, until released.

    As a context manager it releases the run whatever becomes of the test, which would else wait for it for ever.
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.released.set()

    async def reach(self, name: str) -> None:
        try:
            await super().reach(name)
        except asyncio.CancelledError:
            # Once: who insists, as the end of the process does, is heard.
            await super().reach(name)


async def no_runs(rig: Rig) -> bool:
    return b'"runs": []' in await rig.bench.bus.request("lt.ops.runner.status", b"", 2)


@pytest.mark.story(3)
async def test_a_running_deployment_that_is_cancelled_really_stops_within_seconds(rig: Rig) -> None:
    await rig.cluster.faults(*after_the_plan(verb="patch", name="c2", latency=0.5))
    async with rig.bench.service("runner", serve, settings(rig)):
        task = await rig.deploy(config_maps(6))
        await rig.bench.until(task, lambda seen: "applying ConfigMap c2" in seen.last["message"])
        asked = await rig.cancel(task)
        ended = await rig.ended(task, seconds=5)
    assert asked["task"]["cancelRequestedAt"] is not None
    assert ended["task"]["status"] == "cancelled"
    assert await rig.effects() == ["patch c0", "patch c1", "patch c2"]


async def test_a_cancel_aborts_a_waiting_run_within_milliseconds_of_its_message(rig: Rig) -> None:
    async with rig.bench.service("runner", serve, settings(rig)):
        task = await rig.deploy(NEVER)
        await rig.bench.until(task, verifying)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await rig.cancel(task)
        await rig.bench.ended(task)
        took = loop.time() - begun
    # On an idle machine this takes some ten milliseconds; the next renewal would have come only after 20 s.
    assert took < 2


async def test_a_cancel_that_no_message_tells_of_reaches_the_run_within_one_renewal(rig: Rig) -> None:
    renewal = 1.0
    async with rig.bench.service("runner", serve, settings(rig, lease_ttl_seconds=6, renew_seconds=renewal)):
        task = await rig.deploy(NEVER)
        await rig.bench.until(task, verifying)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        # As a lost message: the request is on the row, and nobody says a word about it.
        await rig.bench.db.admin.execute(
            "update locktender.deployment_task set cancel_requested_at = locktender.now(), "
            "cancel_requested_by = 'ada', revision = revision + 1 where id = $1",
            task,
        )
        ended = await rig.ended(task)
        took = loop.time() - begun
    assert ended["task"]["status"] == "cancelled"
    assert took < renewal + 2


@pytest.mark.story(4)
async def test_a_deployment_that_waits_for_readiness_is_cancelled_instead_of_sitting_out_the_wait(rig: Rig) -> None:
    async with rig.bench.service("runner", serve, settings(rig, deadlines=Deadlines(readiness=600))):
        task = await rig.deploy(NEVER)
        waiting = await rig.bench.until(task, verifying)
        assert waiting.row.task.wait_until is not None
        await rig.cancel(task)
        ended = await rig.ended(task, seconds=5)
    assert (ended["task"]["status"], ended["task"]["deadlineAt"]) == ("cancelled", None)
    assert ended["events"][-1]["payload"]["applied"] == ["Deployment default/web"]


@pytest.mark.story(5)
async def test_cancelling_neither_deletes_nor_rolls_back_what_was_applied(rig: Rig) -> None:
    async with rig.bench.service("runner", serve, settings(rig)):
        task = await rig.deploy(config_maps(3) + NEVER)
        await rig.bench.until(task, verifying)
        await rig.cancel(task)
        await rig.ended(task)
    assert not [entry for entry in await rig.cluster.ledger() if "delete" in entry["verb"]]
    for path in ("/api/v1/namespaces/default/configmaps/c0", "/apis/apps/v1/namespaces/default/deployments/web"):
        status, _ = await rig.cluster.request("GET", path)
        assert status == 200


@pytest.mark.story(6)
async def test_the_outcome_of_a_cancel_is_typed_and_itemises_what_was_applied_what_was_not_and_what_is_unknown(
    rig: Rig,
) -> None:
    await rig.cluster.faults(*after_the_plan(verb="patch", name="c1", latency=30))
    async with rig.bench.service("runner", serve, settings(rig)):
        task = await rig.deploy(config_maps(4))
        await rig.bench.until(task, lambda seen: "applying ConfigMap c1" in seen.last["message"])
        await rig.cancel(task)
        ended = await rig.ended(task)
    last = ended["events"][-1]
    assert (ended["task"]["status"], ended["task"]["failure"]) == ("cancelled", None)
    assert (last["kind"], last["actor"], last["payload"]["reason"]) == ("cancelled", "runner", "cancelled")
    assert last["payload"]["applied"] == ["ConfigMap default/c0"]
    assert last["payload"]["unknown"] == ["ConfigMap c1"]
    assert last["payload"]["notApplied"] == ["ConfigMap c2", "ConfigMap c3"]
    assert last["payload"]["counts"] == {"applied": 1, "unknown": 1, "notApplied": 2}
    assert [card["apply"] for card in ended["timeline"]["cards"]] == ["applied", "applying"] + ["not-applied"] * 2
    kinds = {event["kind"] for event in ended["events"]}
    assert not kinds & {"failed", "cleanup-started", "engine-resolved"}


async def test_a_cancel_while_the_plan_is_made_applies_nothing_at_all(rig: Rig) -> None:
    await rig.cluster.faults({"verb": "patch", "name": "c1", "latency": 20})
    async with rig.bench.service("runner", serve, settings(rig)):
        task = await rig.deploy(config_maps(3))
        await rig.bench.until(task, lambda seen: seen.status == "running")
        await rig.cancel(task)
        ended = await rig.ended(task, seconds=10)
    assert ended["events"][-1]["message"] == "cancelled; nothing was applied"
    assert ended["events"][-1]["payload"]["counts"]["applied"] == 0
    assert await rig.effects() == []


@pytest.mark.story(7)
async def test_cancelling_is_shown_to_everybody_until_the_run_has_stopped(rig: Rig) -> None:
    deaf = Deaf("runner.after-effect")
    async with rig.bench.service("runner", serve, settings(rig), faults=deaf), deaf:
        task = await rig.deploy(config_maps(3))
        await rig.reached(deaf, task)
        mine = await rig.cancel(task)
        teammates = await rig.shown(task, Authorization=f"Bearer {GUEST_TOKEN}")
        assert teammates == mine == await rig.cancel(task)
        assert teammates["task"]["status"] == "applying"
        assert teammates["task"]["blockedBy"]["kind"] == "cancel"
        deaf.released.set()
        ended = await rig.ended(task)
    assert (ended["task"]["status"], ended["task"]["blockedBy"]) == ("cancelled", None)
    assert await rig.effects() == ["patch c0"]


@pytest.mark.story(8)
async def test_a_cancel_that_a_live_runner_does_not_hear_still_ends_in_time_and_its_later_writes_change_nothing(
    rig: Rig,
) -> None:
    deaf = Deaf("runner.after-effect")
    reaper = ReaperSettings(
        database_url=rig.bench.db.dsn, nats_url=rig.bench.nats.url, reaper_sweep_seconds=0.1, renew_seconds=0.1,
        deadlines={"cancel_ack": 0.5},
    )  # fmt: skip
    async with rig.bench.service("runner", serve, settings(rig, renew_seconds=0.2), faults=deaf), deaf:
        task = await rig.deploy(config_maps(4))
        await rig.reached(deaf, task)
        async with rig.bench.service("reaper", serve_reaper, reaper):
            await rig.cancel(task)
            forced = await rig.ended(task, seconds=10)
        assert not await no_runs(rig)
        deaf.released.set()
        await eventually(lambda: no_runs(rig))
    last = forced["events"][-1]
    assert (forced["task"]["status"], forced["task"]["failure"]) == ("cancelled", None)
    assert (last["kind"], last["payload"]["reason"]) == ("engine-resolved", "cancel-ack-deadline")
    assert await rig.shown(task) == forced
    # The run that would not listen found its lease gone before it touched another document.
    assert await rig.effects() == ["patch c0"]


async def test_a_shutdown_with_a_pending_cancel_ends_as_cancelled_and_not_as_failed(rig: Rig) -> None:
    deaf = Deaf("runner.after-effect")
    async with rig.bench.service("runner", serve, settings(rig), faults=deaf) as running, deaf:
        task = await rig.deploy(config_maps(3))
        await rig.reached(deaf, task)
        # The end of the process is what the run hears of first.
        running.stop.request()
        await eventually(lambda: aborting(rig, "shutdown"))
        await rig.cancel(task)
        deaf.released.set()
    ended = await rig.shown(task)
    assert (ended["task"]["status"], ended["task"]["failure"]) == ("cancelled", None)
    assert ended["events"][-1]["payload"]["counts"] == {"applied": 1, "unknown": 0, "notApplied": 2}


async def aborting(rig: Rig, reason: str) -> bool:
    said = json.loads(await rig.bench.bus.request("lt.ops.runner.status", b"", 2))
    return [run["aborting"] for run in said["runs"]] == [reason]


@pytest.mark.parametrize("asked", [False, True], ids=["alone", "with a cancel"])
async def test_a_run_that_is_launched_after_the_shutdown_began_is_ended_honestly(
    rig: Rig,
    asked: bool,  # noqa: FBT001 - a parameter
) -> None:
    held = Held("runner.after-claim")
    async with rig.bench.service("runner", serve, settings(rig), faults=held) as running:
        task = await rig.deploy(config_maps(2))
        await rig.reached(held, task)
        running.stop.request()
        if asked:
            await rig.cancel(task)
        held.released.set()
    ended = await rig.shown(task)
    if asked:
        assert (ended["task"]["status"], ended["task"]["failure"]) == ("cancelled", None)
    else:
        assert ended["task"]["status"] == "failed"
        assert (ended["task"]["failure"]["reason"], ended["task"]["failure"]["detail"]) == ("interrupted", "shutdown")
    assert ended["events"][-1]["payload"]["counts"]["notApplied"] == 2
    assert await rig.effects() == []


async def test_a_deployment_cancelled_between_its_claim_and_its_first_step_applies_nothing(rig: Rig) -> None:
    held = Held("runner.after-claim")
    async with rig.bench.service("runner", serve, settings(rig), faults=held):
        task = await rig.deploy(config_maps(2))
        await rig.reached(held, task)
        # The message comes before the runner knows of the run, and the next renewal would come only after 20 s.
        await rig.cancel(task)
        held.released.set()
        ended = await rig.ended(task, seconds=10)
    assert ended["task"]["status"] == "cancelled"
    assert await rig.effects() == []


@pytest.mark.parametrize("ending", ["complete", "fail"])
async def test_a_cancel_that_comes_before_the_outcome_is_written_is_the_outcome(rig: Rig, ending: str) -> None:
    held = Held("runner.before-outcome")
    if ending == "fail":
        await rig.cluster.faults(*after_the_plan(verb="patch", name="c1", status=422))
    async with rig.bench.service("runner", serve, settings(rig), faults=held):
        task = await rig.deploy(config_maps(2))
        await rig.reached(held, task)
        asked = await rig.cancel(task)
        held.released.set()
        ended = await rig.ended(task)
    assert (ended["task"]["status"], ended["task"]["failure"]) == ("cancelled", None)
    assert ended["task"]["cancelRequestedAt"] == asked["task"]["cancelRequestedAt"]
    assert [event["kind"] for event in ended["events"]][-2:] == ["cancel-requested", "cancelled"]


async def test_a_cancel_that_comes_after_the_outcome_is_told_of_it(rig: Rig) -> None:
    held = Held("runner.after-outcome")
    async with rig.bench.service("runner", serve, settings(rig), faults=held):
        task = await rig.deploy(config_maps(2))
        await rig.reached(held, task)
        answer = await rig.api.http.post(rig.api.path(f"/{task}/cancel"))
        held.released.set()
    assert answer.status_code == 409
    assert answer.json()["snapshot"] == await rig.shown(task)
    assert answer.json()["snapshot"]["task"]["status"] == "completed"
