"""`apply`: what the runner adds to a document, over the cluster's own time for it.

The cluster is a sandbox in a process of its own that takes a fixed moment for every write. First the same documents
are sent by the bare client, in the same groups and as many at once; then by the executor, with its record in memory.
Both are timed from the first write to the last answer. The difference, divided by the number of documents, is the
figure; the dry runs of the plan are told beside it.
"""

import asyncio
import statistics
import time

from locktender.integrations.kube.client import ABSENT, KubeClient
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.runner.executors.documents import documents
from locktender.runner.executors.grouping import groups
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.recorded_run import RecordedRun, direct_executor, work_for
from locktender.testkit.runner import config_maps
from tests.bench.report import Figure, note, rounded, scaled

_DOCUMENTS = 200
_LATENCY = 0.02
_ROUNDS = 3
_AT_ONCE = 8


async def measure() -> Figure:
    """Alternate between the bare client and the executor, and take the median of each."""
    count = max(10, int(scaled(_DOCUMENTS)))
    bare: list[float] = []
    whole: list[float] = []
    plans: list[float] = []
    async with sandbox_cluster(process=True) as cluster:
        for turn in range(_ROUNDS):
            note(f"round {turn + 1} of {_ROUNDS}")
            await _fresh(cluster)
            bare.append(await _bare(cluster, count))
            await _fresh(cluster)
            planned, applied = await _executed(cluster, count)
            plans.append(planned)
            whole.append(applied)
    own, ours = statistics.median(bare) / count * 1e3, statistics.median(whole) / count * 1e3
    return Figure(
        "apply", ours - own, "ms",
        against="the same requests by the bare client", ratio=own / ours,
        rest={
            "documents": count, "latency_ms": _LATENCY * 1e3, "at_once": _AT_ONCE,
            "cluster_ms_per_document": rounded(own), "executor_ms_per_document": rounded(ours),
            "plan_ms_per_document": rounded(statistics.median(plans) / count * 1e3),
        },
    )  # fmt: skip


async def _fresh(cluster: SandboxCluster) -> None:
    await cluster.reset()
    await cluster.faults({"verb": "patch", "latency": _LATENCY})


async def _bare(cluster: SandboxCluster, count: int) -> float:
    work = work_for(config_maps(count), cluster.kubeconfig)
    found = documents(work.source, {}, work.task_id)
    async with KubeClient(read_kubeconfig(cluster.kubeconfig)) as client:
        await client.resource_for("v1", "ConfigMap")
        began = time.perf_counter()
        for group in groups(found):
            async with asyncio.TaskGroup() as senders:
                for document in group:
                    senders.create_task(client.apply(document.body, namespace="default", known=ABSENT))
        return time.perf_counter() - began


async def _executed(cluster: SandboxCluster, count: int) -> tuple[float, float]:
    """Seconds for the plan, and from the first announcement to the last answer."""
    run, work = RecordedRun(), work_for(config_maps(count), cluster.kubeconfig)
    moments: dict[str, float] = {}

    def noted(message: str) -> None:
        # The first write of each sort counts; what follows the last document is its first other line.
        moments.setdefault(message.partition(" ")[0], time.perf_counter())

    run.on_write = noted
    began = time.perf_counter()
    await run.carry_out(direct_executor(at_once=_AT_ONCE), work)
    if run.status != "completed":
        raise RuntimeError(f"the run ended as {run.status}: {run.failure}")
    return moments["planned:"] - began, moments["all"] - moments["applying"]
