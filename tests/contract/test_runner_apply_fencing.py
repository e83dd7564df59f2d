"""Late writes, newer deployments and objects that keep moving: who may still write."""

import asyncio
from typing import Any
from uuid import UUID

from locktender.contracts.deployments.models import ApplyOptions, ApplyState, FailureReason
from locktender.contracts.kernel.ids import new_id
from locktender.runtime.abort import AbortReason
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.nats_rig import eventually
from locktender.testkit.recorded_run import RecordedRun, direct_executor, work_for

SETTINGS = "/api/v1/namespaces/default/configmaps/settings"


def settings(**data: str) -> str:
    lines = "".join(f"  {key}: '{value}'\n" for key, value in data.items())
    return f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata:\n{lines}"


async def deployed(
    cluster: SandboxCluster,
    manifests: str,
    task_id: UUID,
    *,
    epoch: int = 1,
    options: ApplyOptions | None = None,
) -> RecordedRun:
    run = RecordedRun(epoch=epoch)
    await run.carry_out(direct_executor(), work_for(manifests, cluster.kubeconfig, task_id=task_id, options=options))
    return run


async def written(cluster: SandboxCluster) -> list[dict[str, Any]]:
    return [entry for entry in await cluster.ledger() if entry["task"] and not entry["dryRun"]]


async def hits(cluster: SandboxCluster, rule: int) -> int:
    return (await cluster.fault_table())["rules"][rule]["hits"]


async def test_the_late_write_of_a_fenced_run_is_refused_by_the_cluster(cluster: SandboxCluster) -> None:
    await deployed(cluster, settings(a="old"), new_id())
    task = new_id()
    patch = {"verb": "patch", "name": "settings"}
    # The dry run passes, the write itself is on its way for a second.
    await cluster.faults(patch | {"count": 1}, patch | {"latency": 1.0, "count": 1})
    late = RecordedRun(epoch=1)
    async with asyncio.TaskGroup() as group:
        work = work_for(settings(a="late"), cluster.kubeconfig, task_id=task)
        group.create_task(late.carry_out(direct_executor(), work))
        await eventually(lambda: hits(cluster, 1), 10)
        newer = await deployed(cluster, settings(a="newer"), task, epoch=2)
        assert newer.status == "completed", newer.failure
        # The process that was fenced is frozen: its request goes on, and nobody takes it back.
    _, found = await cluster.request("GET", SETTINGS)
    assert found["data"] == {"a": "newer"}
    decided = [(entry["epoch"], entry["code"]) for entry in await written(cluster) if entry["task"] == str(task)]
    assert decided[-2:] == [("2", 200), ("1", 409)]
    assert late.failure is not None
    assert late.failure[0] is FailureReason.OVERTAKEN
    assert "a newer run of this deployment" in late.failure[2]


async def test_a_superseded_run_lets_go_of_its_request_and_sends_no_other(cluster: SandboxCluster) -> None:
    patch = {"verb": "patch", "name": "settings"}
    await cluster.faults(patch | {"count": 1}, patch | {"latency": 5.0, "count": 1})
    run = RecordedRun()
    async with asyncio.TaskGroup() as group:
        group.create_task(run.carry_out(direct_executor(), work_for(settings(a="1"), cluster.kubeconfig)))
        await eventually(lambda: hits(cluster, 1), 10)
        run.signal.trip(AbortReason.SUPERSEDED)
    assert run.status == "aborted"
    assert run.card("settings").apply is ApplyState.APPLYING


async def test_a_later_deployment_is_not_overwritten_by_an_earlier_one(cluster: SandboxCluster) -> None:
    earlier, later = new_id(), new_id()
    await deployed(cluster, settings(a="later"), later)
    run = await deployed(cluster, settings(a="earlier"), earlier)
    assert run.failure is not None
    assert run.failure[:2] == (FailureReason.OVERTAKEN, "prepare")
    assert "a newer deployment" in run.failure[2]
    assert [entry["task"] for entry in await written(cluster)] == [str(later)]
    forced = await deployed(cluster, settings(a="earlier"), earlier, options=ApplyOptions(force=True))
    assert forced.status == "completed", forced.failure


async def test_force_does_not_let_a_run_win_over_a_newer_run_of_its_own_task(cluster: SandboxCluster) -> None:
    task = new_id()
    await deployed(cluster, settings(a="2"), task, epoch=2)
    run = await deployed(cluster, settings(a="1"), task, epoch=1, options=ApplyOptions(force=True))
    assert run.failure is not None
    assert run.failure[0] is FailureReason.OVERTAKEN


async def test_an_object_that_moved_on_is_looked_at_and_written_again(cluster: SandboxCluster) -> None:
    await deployed(cluster, settings(a="1"), new_id())
    patch = {"verb": "patch", "name": "settings"}
    await cluster.faults(patch | {"count": 1}, patch | {"latency": 0.5, "count": 1})
    run = RecordedRun()
    async with asyncio.TaskGroup() as group:
        group.create_task(run.carry_out(direct_executor(), work_for(settings(a="2"), cluster.kubeconfig)))
        await eventually(lambda: hits(cluster, 1), 10)
        code, _ = await cluster.request(
            "PATCH", f"{SETTINGS}?fieldManager=other", {"data": {"b": "theirs"}},
            content_type="application/merge-patch+json",
        )  # fmt: skip
        assert code == 200
    assert run.status == "completed", run.failure
    _, found = await cluster.request("GET", SETTINGS)
    assert found["data"] == {"a": "2", "b": "theirs"}


async def test_a_write_that_is_not_answered_within_its_time_is_given_up(cluster: SandboxCluster) -> None:
    patch = {"verb": "patch", "name": "settings"}
    await cluster.faults(patch | {"count": 1}, patch | {"latency": 30.0})
    run = RecordedRun()
    executor = direct_executor(document=0.5, fenced_write=0.2)
    async with asyncio.timeout(10):
        await run.carry_out(executor, work_for(settings(a="1"), cluster.kubeconfig))
    assert run.failure is not None
    assert run.failure[0] is FailureReason.CLUSTER_UNREACHABLE
    assert run.card("settings").apply is ApplyState.APPLYING
