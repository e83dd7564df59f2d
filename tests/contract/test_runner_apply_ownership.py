"""Conflicts, force, ownership that passes from client-side apply, and replicas that an autoscaler owns."""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

from locktender.contracts.deployments.models import ApplyOptions, ApplyState, FailureReason
from locktender.contracts.deployments.plan import PlannedAction
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.recorded_run import RecordedRun, direct_executor, work_for
from locktender.testkit.runner import deployment

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl") or "kubectl"
WEB = "/apis/apps/v1/namespaces/default/deployments/web"
SETTINGS = "/api/v1/namespaces/default/configmaps/settings"


async def deployed(cluster: SandboxCluster, manifests: str, options: ApplyOptions | None = None) -> RecordedRun:
    run = RecordedRun()
    await run.carry_out(direct_executor(), work_for(manifests, cluster.kubeconfig, options=options))
    return run


async def effects(cluster: SandboxCluster) -> list[str]:
    return [entry["name"] for entry in await cluster.ledger() if entry["task"] and not entry["dryRun"]]


def web(replicas: int | None) -> str:
    text = deployment("web")
    return (
        text if replicas is None else text.replace("spec:\n  selector", f"spec:\n  replicas: {replicas}\n  selector", 1)
    )


def settings(**data: str) -> str:
    lines = "".join(f"  {key}: '{value}'\n" for key, value in data.items())
    return f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata:\n{lines}"


async def edited(cluster: SandboxCluster, path: str, patch: dict[str, Any], manager: str) -> None:
    code, said = await cluster.request(
        "PATCH", f"{path}?fieldManager={manager}", patch, content_type="application/merge-patch+json"
    )
    assert code == 200, said


async def owners(cluster: SandboxCluster, path: str) -> dict[tuple[str, str], Any]:
    _, found = await cluster.request("GET", path)
    entries = found["metadata"]["managedFields"]
    return {(each["manager"], each["operation"]): each["fieldsV1"] for each in entries if not each.get("subresource")}


async def test_a_conflict_names_manager_and_field_and_nothing_is_applied(cluster: SandboxCluster) -> None:
    await deployed(cluster, web(2))
    await edited(cluster, WEB, {"spec": {"replicas": 5}}, "kubectl-edit")
    before = await effects(cluster)
    run = await deployed(cluster, settings(a="1") + web(3))
    assert run.failure is not None
    reason, stage, message, hint = run.failure
    assert (reason, stage) == (FailureReason.APPLY_CONFLICT, "prepare")
    assert "kubectl-edit owns spec.replicas of Deployment default/web" in message
    assert "force" in (hint or "")
    assert run.card("web").planned is PlannedAction.CONFLICT
    assert await effects(cluster) == before


async def test_force_takes_the_field_over_and_says_from_whom(cluster: SandboxCluster) -> None:
    await deployed(cluster, web(2))
    await edited(cluster, WEB, {"spec": {"replicas": 5}}, "kubectl-edit")
    run = await deployed(cluster, web(3), ApplyOptions(force=True))
    assert run.status == "completed", run.failure
    _, found = await cluster.request("GET", WEB)
    assert found["spec"]["replicas"] == 3
    told = [
        message for message in run.messages if "took over spec.replicas from kubectl-edit of Deployment web" in message
    ]
    assert told, run.messages


async def test_a_conflict_that_arises_after_the_plan_is_told_the_same_way(cluster: SandboxCluster) -> None:
    await deployed(cluster, web(2))
    run = RecordedRun()
    steps = asyncio.Event()
    run.on_write = lambda message: steps.set() if message.startswith("planned") else None
    work = work_for(web(3), cluster.kubeconfig)
    await cluster.faults(
        {"verb": "patch", "name": "web", "count": 1}, {"verb": "patch", "name": "web", "latency": 0.4, "count": 1}
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(run.carry_out(direct_executor(), work))
        await steps.wait()
        await edited(cluster, WEB, {"spec": {"replicas": 5}}, "kubectl-edit")
    assert run.failure is not None
    assert run.failure[0] is FailureReason.APPLY_CONFLICT
    assert "kubectl-edit owns spec.replicas of Deployment web" in run.failure[2]


async def kubectl(cluster: SandboxCluster, folder: Path, *words: str) -> str:
    config = folder / "kubeconfig"
    await asyncio.to_thread(config.write_text, cluster.kubeconfig)
    child = await asyncio.create_subprocess_exec(
        KUBECTL, "--kubeconfig", str(config), *words,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env={"HOME": str(folder)},
    )  # fmt: skip
    output, _ = await child.communicate()
    assert child.returncode == 0, output.decode()
    return output.decode()


async def test_what_client_side_apply_had_set_and_the_manifest_no_longer_says_goes_away(
    cluster: SandboxCluster, tmp_path: Path
) -> None:
    file = tmp_path / "settings.yaml"
    await asyncio.to_thread(file.write_text, settings(a="1", b="2"))
    await kubectl(cluster, tmp_path, "apply", "--validate=false", "-f", str(file))
    assert ("kubectl-client-side-apply", "Update") in await owners(cluster, SETTINGS)
    run = await deployed(cluster, settings(a="1"))
    assert run.status == "completed", run.failure
    _, found = await cluster.request("GET", SETTINGS)
    assert found["data"] == {"a": "1"}
    assert "kubectl.kubernetes.io/last-applied-configuration" not in found["metadata"]["annotations"]
    assert set(await owners(cluster, SETTINGS)) == {("locktender", "Apply")}
    assert any("kubectl-client-side-apply" in message for message in run.messages), run.messages
    assert run.card("settings").apply is ApplyState.APPLIED


async def test_fields_of_managers_that_are_not_named_stay_theirs(cluster: SandboxCluster) -> None:
    await deployed(cluster, settings(a="1"))
    await edited(cluster, SETTINGS, {"data": {"b": "2"}}, "helm")
    run = await deployed(cluster, settings(a="2"), ApplyOptions(migrate_from=()))
    assert run.status == "completed", run.failure
    _, found = await cluster.request("GET", SETTINGS)
    assert found["data"] == {"a": "2", "b": "2"}


async def test_replicas_that_an_autoscaler_owns_are_left_alone(cluster: SandboxCluster) -> None:
    scaler = """---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
"""
    await deployed(cluster, web(2))
    scale = {
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 6},
    }  # fmt: skip
    code, said = await cluster.request("PUT", f"{WEB}/scale?fieldManager=kube-controller-manager", scale)
    assert code == 200, said
    run = RecordedRun()
    executor = direct_executor(readiness_seconds=0.5)
    await run.carry_out(executor, work_for(web(2) + scaler, cluster.kubeconfig))
    assert run.card("web").apply in {ApplyState.APPLIED, ApplyState.UNCHANGED}, run.failure
    _, found = await cluster.request("GET", WEB)
    assert found["spec"]["replicas"] == 6
    assert any("left spec.replicas of Deployment web to web" in message for message in run.messages), run.messages
