"""`watch`: what 500 deployments that wait at the same time cost the runner, and how soon it knows of a change."""

import asyncio
import json
import time
from collections.abc import Sequence

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.informing.hub import informer_hub
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.runner.executors.verify import Verifying
from locktender.runtime.clock import SystemClock
from locktender.testkit.cluster import sandbox_cluster
from locktender.testkit.waiting_run import WaitingRun
from tests.bench import cpu
from tests.bench.report import Figure, note, percentiles, rounded, scaled

_RUNS = 500
_KNOWN_SECONDS = 120.0
_SETTLE_SECONDS = 10.0
_SECONDS = 20.0
_CHANGES_PER_SECOND = 5.0
_MOST_OF_A_CORE = 0.2


async def measure() -> Figure:
    """The cluster is a process of its own; this process does what a runner does, and makes the changes."""
    count = int(scaled(_RUNS))
    async with sandbox_cluster(process=True, pace=1) as cluster:
        access = read_kubeconfig(cluster.kubeconfig)
        names = [f"web-{number}" for number in range(count)]
        async with _patient(access) as client:
            for name in names:
                await client.apply(_deployment(name))
        note(f"{count} deployments wait")
        runs = [
            WaitingRun([ObjectRef(api_version="apps/v1", kind="Deployment", namespace="default", name=name)])
            for name in names
        ]
        clock = SystemClock()
        async with informer_hub(clock=clock) as hub, asyncio.TaskGroup() as group, _patient(access) as client:
            # One client for all, which knows the kinds: what is measured is observation, and not 500 beginnings.
            for kind in ("Pod", "Event"):
                await client.resource_for("v1", kind)
            waits = [
                group.create_task(Verifying(client, run, clock=clock, seconds=3600, hub=hub).run()) for run in runs
            ]
            async with asyncio.timeout(_KNOWN_SECONDS):
                for run in runs:
                    await run.until(lambda card: card.status is not CardStatus.PENDING, seconds=_KNOWN_SECONDS)
            await asyncio.sleep(_SETTLE_SECONDS)
            records, used, began = _records(runs), cpu.own(), time.monotonic()
            lags = await _trickle(client, runs, scaled(_SECONDS))
            taken = time.monotonic() - began
            busy = (cpu.own() - used) / taken
            records = _records(runs) - records
            for wait in waits:
                wait.cancel()
    return Figure(
        "watch", busy, "cores", against=f"at most {_MOST_OF_A_CORE} for {_RUNS} deployments",
        ratio=_MOST_OF_A_CORE / busy,
        rest={"runs": count, "known_after": percentiles(lags), "records_per_second": rounded(records / taken)},
    )  # fmt: skip


async def _trickle(client: KubeClient, runs: Sequence[WaitingRun], seconds: float) -> list[float]:
    """Change one object after the other. Milliseconds from each change in the cluster to the run's knowledge of it."""
    lags: list[float] = []
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        run = runs[number * 7 % len(runs)]
        run.changed.clear()
        began = time.monotonic()
        await client.apply(_deployment(run.at().ref.name, paused=number // len(runs) % 2 == 0))
        answered = time.monotonic()
        async with asyncio.timeout(_KNOWN_SECONDS):
            await run.changed.wait()
        lags.append((time.monotonic() - answered) * 1000)
        number += 1
        await asyncio.sleep(max(1 / _CHANGES_PER_SECOND - (time.monotonic() - began), 0))
    return lags


def _patient(access: ClusterAccess) -> KubeClient:
    """A client that waits for a cluster that shares its cores with what is measured."""
    return KubeClient(access, connect_seconds=60, read_seconds=60)


def _records(runs: Sequence[WaitingRun]) -> int:
    return sum(len(run.writes) for run in runs)


def _deployment(name: str, *, paused: bool = False) -> dict[str, object]:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels, "annotations": {"sandbox.locktender.dev/behaviour": "never-ready"}},
        "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
    }
    spec = {"replicas": 1, "paused": paused, "selector": {"matchLabels": labels}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"}}
    return json.loads(json.dumps(body | {"spec": spec}))
