"""Waiting for readiness over shared watches, against a sandbox cluster: what people are told, and when."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import pytest

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import Card, FailureReason
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.ids import new_id
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeError, KubeUnauthorized
from locktender.integrations.kube.informing.hub import InformerHub, informer_hub
from locktender.integrations.kube.informing.pace import InformerPace
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.stamps import Stamp, stamped
from locktender.runner.executors.verify import Verifying
from locktender.runtime.clock import SystemClock
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.proxy import TcpProxy
from locktender.testkit.runner import QuickClock
from locktender.testkit.waiting_run import WaitingRun

pytestmark = pytest.mark.takes(seconds=25)

APPS = "/apis/apps/v1/namespaces/default"
CORE = "/api/v1/namespaces/default"
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
QUICK = InformerPace(level=1.0, silence=2.0, connect=1.0, read=1.0, linger=0.1)


def workload(kind: str, name: str, *, behaviour: str = "", image: str = "registry.example/web:1") -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "main", "image": image}
    template: dict[str, Any] = {
        "metadata": {"labels": labels, "annotations": {"sandbox.locktender.dev/behaviour": behaviour}},
        "spec": {"containers": [container]},
    }
    body: dict[str, Any] = {"kind": kind, "metadata": {"name": name, "namespace": "default"}}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        return body | {"apiVersion": "batch/v1", "spec": {"template": template, "backoffLimit": 1}}
    return body | {"apiVersion": "apps/v1", "spec": {"selector": {"matchLabels": labels}, "template": template}}


class Waiting:
    """One run that waits for readiness."""

    def __init__(self, run: WaitingRun, task: asyncio.Task[bool | KubeError]) -> None:
        self.run = run
        self._task = task

    async def ended(self, seconds: float = 30.0) -> bool:
        async with asyncio.timeout(seconds):
            outcome = await self._task
        if isinstance(outcome, KubeError):
            raise outcome
        return outcome

    async def until(self, status: CardStatus, index: int = 0, *, seconds: float = 15.0) -> Card:
        return await self.run.until(lambda card: card.status is status, index, seconds=seconds)


@asynccontextmanager
async def waiting(
    kubeconfig: str,
    bodies: Sequence[dict[str, Any]],
    *,
    seconds: float = 600.0,
    clock: Clock | None = None,
    hub: InformerHub | None = None,
    pace: InformerPace = QUICK,
    apply_with: str | None = None,
    stamp: Stamp | None = None,
) -> AsyncGenerator[Waiting]:
    """Apply, and wait for as long as the block lasts."""
    clock = clock or SystemClock()
    access = read_kubeconfig(kubeconfig)
    async with KubeClient(read_kubeconfig(apply_with or kubeconfig)) as client:
        for body in bodies:
            await client.apply(body if stamp is None else stamped(body, stamp))
    refs = [
        ObjectRef(api_version=body["apiVersion"], kind=body["kind"], namespace="default", name=body["metadata"]["name"])
        for body in bodies
    ]
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(KubeClient(access))
        shared = hub or await stack.enter_async_context(informer_hub(clock=clock, pace=pace))
        run = WaitingRun(refs)

        async def wait() -> bool | KubeError:
            try:
                return await Verifying(client, run, clock=clock, seconds=seconds, hub=shared, stamp=stamp).run()
            except KubeError as error:
                return error

        async with asyncio.TaskGroup() as group:
            task = group.create_task(wait())
            yield Waiting(run, task)
            task.cancel()


def behind(cluster: SandboxCluster, proxy: TcpProxy) -> str:
    return cluster.kubeconfig.replace(cluster.server, f"https://127.0.0.1:{proxy.port}")


def proxy_of(cluster: SandboxCluster) -> TcpProxy:
    where = urlsplit(cluster.server)
    return TcpProxy(where.hostname or "", where.port or 0)


async def held_back(cluster: SandboxCluster) -> None:
    """Nothing gets ready until the faults are cleared, so that a slow machine does not miss the time before."""
    await cluster.faults(images={"registry.example/web": "never-ready"})


async def test_all_kinds_of_workloads_become_ready(cluster: SandboxCluster) -> None:
    bodies = [workload(kind, kind.lower()) for kind in WORKLOADS]
    async with waiting(cluster.kubeconfig, bodies) as wait:
        assert await wait.ended()
    assert {card.status for card in wait.run.timeline.cards} == {CardStatus.RUNNING}
    assert "5 of 5 required resources are ready" not in wait.run.messages[0]


async def test_twenty_runs_in_one_namespace_make_one_watch_of_each_kind(cluster: SandboxCluster) -> None:
    rules = [{"verb": "watch", "resource": plural} for plural in ("deployments", "pods", "events")]
    await cluster.faults(*rules)
    async with informer_hub(clock=SystemClock()) as hub, AsyncExitStack() as stack:
        waits = [
            await stack.enter_async_context(
                waiting(cluster.kubeconfig, [workload("Deployment", f"web{number}", behaviour="never-ready")], hub=hub)
            )
            for number in range(20)
        ]
        for wait in waits:
            # Only its pods say that: each run sees its own, by the watches of all.
            await wait.run.until(lambda card: card.message is not None and "0 of 1 replicas available" in card.message)
        assert hub.status()["watches"] <= 3
    table = await cluster.fault_table()
    # While the first is alone, its watch is narrowed to its own object; the second makes it everybody's.
    assert all(1 <= rule["hits"] <= 2 for rule in table["rules"]), table


@pytest.mark.parametrize("kind", WORKLOADS)
async def test_a_bad_image_is_flagged_within_a_minute_whatever_the_kind(cluster: SandboxCluster, kind: str) -> None:
    body = workload(kind, f"bad-{kind.lower()}", image="registry.example/does-not-exist:1")
    clock = QuickClock(20)
    began = clock.monotonic()
    async with waiting(cluster.kubeconfig, [body], clock=clock) as wait:
        assert not await wait.ended()
        assert clock.monotonic() - began < 60
    assert wait.run.failure is not None
    reason, stage, message, hint = wait.run.failure
    assert (reason, stage) == (FailureReason.RESOURCE_FAILED, "verify")
    assert "cannot be pulled" in message
    assert "container main" in message
    assert hint


async def test_a_crash_loop_is_noticed_although_each_run_of_the_container_is_short(cluster: SandboxCluster) -> None:
    clock = QuickClock(20)
    body = workload("Deployment", "crashing", behaviour="crash-loop")
    async with waiting(cluster.kubeconfig, [body], clock=clock) as wait:
        assert not await wait.ended()
    assert wait.run.failure is not None
    assert "keeps ending" in wait.run.failure[2]


async def test_an_object_that_somebody_deletes_is_told_as_gone(cluster: SandboxCluster) -> None:
    async with waiting(cluster.kubeconfig, [workload("Deployment", "web", behaviour="never-ready")]) as wait:
        await wait.until(CardStatus.CREATING)
        await cluster.request("DELETE", f"{APPS}/deployments/web")
        card = await wait.run.until(lambda card: card.reason == "gone")
    assert (card.status, card.hint) == (CardStatus.UNKNOWN, "deploy again to create it anew")


async def test_a_lost_cluster_makes_cards_unknown_and_the_run_ends_well_once_it_is_back(
    cluster: SandboxCluster,
) -> None:
    await held_back(cluster)
    async with (
        proxy_of(cluster) as proxy,
        waiting(behind(cluster, proxy), [workload("Deployment", "web")], apply_with=cluster.kubeconfig) as wait,
    ):
        await wait.until(CardStatus.CREATING)
        await proxy.cut()
        card = await wait.until(CardStatus.UNKNOWN)
        assert card.reason == "cluster-lost"
        assert "does not answer since" in (card.message or "")
        await proxy.heal()
        await cluster.faults()
        assert await wait.ended()
    assert CardStatus.FAILED not in wait.run.seen[0]
    assert wait.run.failure is None


async def test_a_cluster_that_swallows_every_byte_is_lost_too(cluster: SandboxCluster) -> None:
    await held_back(cluster)
    async with (
        proxy_of(cluster) as proxy,
        waiting(behind(cluster, proxy), [workload("Deployment", "web")], apply_with=cluster.kubeconfig) as wait,
    ):
        await wait.until(CardStatus.CREATING)
        proxy.blackhole()
        await wait.until(CardStatus.UNKNOWN)
        await proxy.heal()
        await cluster.faults()
        assert await wait.ended()


async def test_a_cluster_that_stays_away_is_a_timeout_that_says_so_and_no_failed_resource(
    cluster: SandboxCluster,
) -> None:
    async with (
        proxy_of(cluster) as proxy,
        waiting(
            behind(cluster, proxy),
            [workload("Deployment", "web", image="registry.example/does-not-exist:1")],
            seconds=4,
            apply_with=cluster.kubeconfig,
        ) as wait,
    ):
        await wait.until(CardStatus.BLOCKED)
        await proxy.cut()
        assert not await wait.ended()
    assert wait.run.failure is not None
    reason, _, message, _ = wait.run.failure
    assert reason is FailureReason.READINESS_TIMEOUT
    assert "was not reachable" in message
    assert wait.run.at().status is CardStatus.UNKNOWN


async def test_streams_that_break_all_the_time_only_cost_time(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "watch", "cut": True})
    bodies = [workload("Deployment", "one", behaviour="slow:20"), workload("StatefulSet", "two", behaviour="slow:20")]
    async with waiting(cluster.kubeconfig, bodies) as wait:
        assert await wait.ended()
    assert not {CardStatus.FAILED, CardStatus.UNKNOWN} & {status for seen in wait.run.seen.values() for status in seen}


@pytest.mark.parametrize("ready", [False, True], ids=["still on its way", "ready"])
async def test_a_run_whose_object_another_deployment_has_applied_since_is_not_told_as_complete(
    cluster: SandboxCluster, *, ready: bool
) -> None:
    mine, other = Stamp(new_id(), 1), Stamp(new_id(), 1)
    body = workload("Deployment", "web", behaviour="slow:20")
    async with waiting(cluster.kubeconfig, [body], stamp=mine) as wait:
        await wait.until(CardStatus.CREATING)
        async with KubeClient(read_kubeconfig(cluster.kubeconfig)) as client:
            theirs = workload("Deployment", "web", behaviour="" if ready else "never-ready")
            await client.apply(stamped(theirs, other))
        assert not await wait.ended()
    assert wait.run.failure is not None
    reason, stage, message, hint = wait.run.failure
    assert (reason, stage) == (FailureReason.OVERTAKEN, "verify")
    assert f"another deployment ({other.task_id})" in message
    assert hint


async def test_a_run_that_applied_over_another_deployment_is_not_overtaken_by_it(cluster: SandboxCluster) -> None:
    earlier, mine = Stamp(new_id(), 1), Stamp(new_id(), 1)
    async with KubeClient(read_kubeconfig(cluster.kubeconfig)) as client:
        await client.apply(stamped(workload("Deployment", "web"), earlier))
    async with waiting(cluster.kubeconfig, [workload("Deployment", "web", behaviour="slow:2")], stamp=mine) as wait:
        assert await wait.ended()


async def test_nothing_is_ready_before_a_fresh_look_has_found_it_so(cluster: SandboxCluster) -> None:
    async with waiting(cluster.kubeconfig, [workload("Deployment", "web", behaviour="slow:20")]) as wait:
        await wait.until(CardStatus.CREATING)
        await cluster.faults({"verb": "get", "resource": "deployments", "status": 503, "count": 3})
        assert await wait.ended()
    table = await cluster.fault_table()
    assert table["rules"][0]["hits"] == 3


async def test_an_account_that_may_not_list_is_served_object_by_object(cluster: SandboxCluster) -> None:
    token = await cluster.add_token("dev", rules=({"effect": "deny", "verbs": ["list", "watch"]},))
    bodies = [workload("Deployment", "one"), workload("Deployment", "two"), workload("StatefulSet", "three")]
    async with waiting(cluster.kubeconfig_for(token), bodies) as wait:
        assert await wait.ended()


async def test_an_account_whose_rights_end_fails_soon(cluster: SandboxCluster) -> None:
    body = workload("Deployment", "web", behaviour="never-ready")
    async with waiting(cluster.kubeconfig, [body]) as wait:
        await wait.until(CardStatus.CREATING)
        await cluster.faults({"verb": "get", "status": 401}, {"verb": "list", "status": 401})
        with pytest.raises(KubeUnauthorized):
            await wait.ended()


async def test_however_much_happens_the_record_is_written_at_most_twice_a_second(cluster: SandboxCluster) -> None:
    bodies = [workload("Deployment", f"web{number}", behaviour=f"slow:{number % 20}") for number in range(40)]
    async with waiting(cluster.kubeconfig, bodies) as wait:
        assert await wait.ended()
    moments = wait.run.moments
    assert all(after - before > 0.45 for before, after in pairwise(moments))


async def test_why_nothing_comes_is_told_by_the_events_of_the_cluster(cluster: SandboxCluster) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "default"},
        "spec": {"hard": {"pods": "0"}},
    }
    await cluster.request("POST", f"{CORE}/resourcequotas", json.loads(json.dumps(quota)))
    async with waiting(cluster.kubeconfig, [workload("StatefulSet", "web")], clock=QuickClock(20)) as wait:
        assert not await wait.ended()
    assert wait.run.failure is not None
    assert "quota" in wait.run.failure[2]
