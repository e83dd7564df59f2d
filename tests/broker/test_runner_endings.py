"""Runs that end before their work is done: cancelled, superseded, overdue, or cut short by the end of the process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from locktender.contracts.deployments.models import ApplyState
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.kernel import subjects
from locktender.runner.app import serve
from locktender.runner.settings import RunnerSettings
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.proxy import TcpProxy
from locktender.testkit.runner import Held, Seen, TaskBench, config_maps, deployment, task_bench
from locktender.testkit.servers import NatsServer

NEVER = deployment("web", behaviour="never-ready")


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[TaskBench]:
    async with task_bench(db, nats_server) as made:
        yield made


def settings(bench: TaskBench, **stated: Any) -> RunnerSettings:
    plausible: dict[str, Any] = {
        "database_url": bench.db.dsn, "nats_url": bench.nats.url, "instance": "runner-1", "drain_seconds": 8,
    }  # fmt: skip
    return RunnerSettings(**(plausible | stated))


def verifying(seen: Seen) -> bool:
    return seen.row.task.phase == "verify"


async def effects(cluster: SandboxCluster) -> list[str]:
    return [entry["name"] for entry in await cluster.ledger() if entry["task"] and not entry["dryRun"]]


def after_the_plan(**fault: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fault that lets the dry run of its object by."""
    return {"verb": fault["verb"], "name": fault["name"], "count": 1}, fault


async def deletions(cluster: SandboxCluster) -> list[Any]:
    return [entry for entry in await cluster.ledger() if "delete" in entry["verb"]]


async def test_a_cancel_stops_before_the_next_document_and_itemises(bench: TaskBench, cluster: SandboxCluster) -> None:
    await cluster.faults(*after_the_plan(verb="patch", name="c2", latency=0.5))
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy(config_maps(6), kubeconfig=cluster.kubeconfig)
        await bench.until(task, lambda seen: "applying ConfigMap c2" in seen.last["message"])
        await bench.cancel(task)
        ended = await bench.ended(task)
    assert ended.status == "cancelled"
    assert await effects(cluster) == ["c0", "c1", "c2"]
    payload = ended.last["payload"]
    # The document under way when the cancel came was given the moment that its answer took.
    assert payload["applied"] == [f"ConfigMap default/c{number}" for number in range(3)]
    assert payload["notApplied"] == ["ConfigMap c3", "ConfigMap c4", "ConfigMap c5"]
    assert ended.last["message"] == "cancelled; 3 of 6 documents were applied and stay in the cluster"
    assert [card.apply for card in ended.timeline.cards][2:4] == [ApplyState.APPLIED, ApplyState.NOT_APPLIED]
    assert await deletions(cluster) == []


async def test_a_document_without_an_answer_is_itemised_as_unknown(bench: TaskBench, cluster: SandboxCluster) -> None:
    await cluster.faults(*after_the_plan(verb="patch", name="c1", latency=30))
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy(config_maps(3), kubeconfig=cluster.kubeconfig)
        await bench.until(task, lambda seen: "applying ConfigMap c1" in seen.last["message"])
        await bench.cancel(task)
        ended = await bench.ended(task)
    assert ended.status == "cancelled"
    assert ended.last["payload"]["unknown"] == ["ConfigMap c1"]


async def test_a_cancel_while_waiting_for_readiness_ends_the_wait_at_once(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy(NEVER, kubeconfig=cluster.kubeconfig)
        waiting = await bench.until(task, verifying)
        assert waiting.row.task.wait_until is not None
        assert waiting.row.task.wait_until > waiting.row.task.updated_at
        await bench.cancel(task)
        # Far below the 20 s after which a renewal would bring the request.
        ended = await bench.ended(task, seconds=3)
    assert ended.status == "cancelled"
    assert ended.last["payload"]["applied"] == ["Deployment default/web"]
    assert await deletions(cluster) == []


async def test_a_cancel_whose_message_was_lost_comes_with_the_next_renewal(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    async with bench.service("runner", serve, settings(bench, lease_ttl_seconds=6, renew_seconds=0.2)):
        task = await bench.deploy(NEVER, kubeconfig=cluster.kubeconfig)
        await bench.until(task, verifying)
        await bench.cancel(task, poke=False)
        assert (await bench.ended(task)).status == "cancelled"


async def test_a_message_without_a_request_on_the_row_cancels_nothing(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy(deployment("web", behaviour="slow:1"), kubeconfig=cluster.kubeconfig)
        await bench.until(task, verifying)
        await bench.bus.publish(subjects.cancel(task), b"")
        assert (await bench.ended(task)).status == "completed"


@pytest.mark.parametrize("ending", ["complete", "fail"])
async def test_a_late_outcome_never_overwrites_a_cancel(bench: TaskBench, cluster: SandboxCluster, ending: str) -> None:
    held = Held("runner.before-outcome")
    if ending == "fail":
        await cluster.faults(*after_the_plan(verb="patch", name="c1", status=422))
    async with bench.service("runner", serve, settings(bench), faults=held):
        task = await bench.deploy(config_maps(2), kubeconfig=cluster.kubeconfig)
        await held.reached.wait()
        await bench.cancel(task, poke=False)
        held.released.set()
        ended = await bench.ended(task)
    assert ended.status == "cancelled"
    assert ended.kinds[-2:] == ["cancel-requested", "cancelled"]
    assert ended.failure == {}


async def test_a_superseded_run_writes_and_applies_nothing_more(bench: TaskBench, cluster: SandboxCluster) -> None:
    held = Held("runner.after-effect", after=1)
    async with bench.service("runner", serve, settings(bench), faults=held):
        task = await bench.deploy(config_maps(5), kubeconfig=cluster.kubeconfig)
        await held.reached.wait()
        assert await bench.writes.sweep("timeout", 10, 0.0) == [task]
        judged = await bench.seen(task)
        held.released.set()
        await eventually(lambda: no_runs(bench))
    after = await bench.seen(task)
    assert after.row == judged.row
    assert await effects(cluster) == ["c0", "c1"]


async def test_a_run_that_cannot_renew_its_lease_stops_in_time_and_leaves_the_verdict_to_others(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    async with database_behind_a_proxy(bench) as (proxy, dsn):
        stated = settings(bench, database_url=dsn, lease_ttl_seconds=3, renew_seconds=0.3)
        async with bench.service("runner", serve, stated):
            task = await bench.deploy(NEVER, kubeconfig=cluster.kubeconfig)
            await bench.until(task, verifying)
            proxy.blackhole()
            await eventually(lambda: no_runs(bench), 8)
            await eventually(lambda: swept(bench), 8)
            await proxy.heal()
    ended = await bench.seen(task)
    assert ended.failure["reason"] == "interrupted"
    assert ended.last["kind"] == "engine-resolved"


async def swept(bench: TaskBench) -> bool:
    return bool(await bench.writes.sweep("interrupted", 10))


@asynccontextmanager
async def database_behind_a_proxy(bench: TaskBench) -> AsyncGenerator[tuple[TcpProxy, str]]:
    where = urlsplit(bench.db.dsn)
    async with TcpProxy(where.hostname or "", where.port or 5432) as proxy:
        netloc = f"{where.username}:{where.password}@127.0.0.1:{proxy.port}"
        yield proxy, where._replace(netloc=netloc).geturl()


async def no_runs(bench: TaskBench) -> bool:
    return b'"runs": []' in await bench.bus.request("lt.ops.runner.status", b"", 2)


async def test_a_run_that_takes_too_long_is_ended_by_its_own_process(bench: TaskBench, cluster: SandboxCluster) -> None:
    async with bench.service("runner", serve, settings(bench, deadlines=Deadlines(run=1.5))):
        task = await bench.deploy(NEVER, kubeconfig=cluster.kubeconfig)
        ended = await bench.ended(task)
    assert ended.failure["reason"] == "timeout"
    assert ended.last["actor"] == "runner"


async def test_the_end_of_the_process_is_told_as_an_interruption(bench: TaskBench, cluster: SandboxCluster) -> None:
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy(NEVER, kubeconfig=cluster.kubeconfig)
        await bench.until(task, verifying)
    ended = await bench.seen(task)
    assert (ended.status, ended.failure["reason"], ended.failure["detail"]) == ("failed", "interrupted", "shutdown")
    assert "stays in the cluster" in ended.failure["message"]


async def test_a_document_that_was_announced_and_not_yet_sent_counts_as_not_applied(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    held = Held("runner.after-effect")
    async with bench.service("runner", serve, settings(bench), faults=held) as running:
        task = await bench.deploy(config_maps(3), kubeconfig=cluster.kubeconfig)
        await held.reached.wait()
        async with bench.db.admin.transaction():
            await bench.db.admin.execute("select 1 from locktender.deployment_task for update")
            held.released.set()
            await waiting_for_a_lock(bench)
            running.stop.request()
            await eventually(lambda: aborting(bench))
    ended = await bench.seen(task)
    assert ended.failure["reason"] == "interrupted"
    assert ended.last["payload"]["notApplied"] == ["ConfigMap c1", "ConfigMap c2"]
    assert await effects(cluster) == ["c0"]


async def aborting(bench: TaskBench) -> bool:
    return b'"aborting": "shutdown"' in await bench.bus.request("lt.ops.runner.status", b"", 2)


async def waiting_for_a_lock(bench: TaskBench) -> None:
    query = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    await eventually(lambda: bench.db.admin.fetchval(query))


async def test_the_end_of_the_process_acknowledges_a_cancel_that_it_had_not_heard_of(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy(NEVER, kubeconfig=cluster.kubeconfig)
        await bench.until(task, verifying)
        await bench.cancel(task, poke=False)
    assert (await bench.seen(task)).status == "cancelled"


async def test_a_task_that_was_cancelled_before_its_hint_arrived_is_left_alone(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    task = await bench.deploy(config_maps(1), kubeconfig=cluster.kubeconfig, hint=False)
    async with asyncio.timeout(20), bench.service("runner", serve, settings(bench)):
        await bench.db.admin.execute(
            "update locktender.deployment_task set status = 'cancelled', completed_at = now(), "
            "cancel_requested_at = now() where id = $1",
            task,
        )
        await bench.hint(task, "direct")
        await eventually(lambda: nothing_waits(bench))
    assert (await bench.seen(task)).status == "cancelled"
    assert await effects(cluster) == []


async def nothing_waits(bench: TaskBench) -> bool:
    info = await bench.bus.jetstream.consumer_info(subjects.COMMANDS_STREAM, "runner-direct")
    return not info.num_pending and not info.num_ack_pending
