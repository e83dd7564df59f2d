"""Fields that cannot change, objects that may be replaced, and jobs that have run."""

from typing import Any
from uuid import UUID

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import ApplyOptions, ApplyState, FailureReason
from locktender.contracts.deployments.plan import PlannedAction
from locktender.contracts.kernel.ids import new_id
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.recorded_run import RecordedRun, direct_executor, work_for

JOBS = "/apis/batch/v1/namespaces/default/jobs"


def job(image: str = "tools:1", labels: str = "") -> str:
    return f"""---
apiVersion: batch/v1
kind: Job
metadata: {{name: migrate, labels: {{{labels}}}}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: "{image}"}}]
"""


def claim(size: str) -> str:
    return f"""---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data}}
spec: {{accessModes: [{size}], resources: {{requests: {{storage: 1Gi}}}}}}
"""


async def deployed(
    cluster: SandboxCluster,
    manifests: str,
    *,
    task_id: UUID | None = None,
    options: ApplyOptions | None = None,
    run: RecordedRun | None = None,
    **bounds: Any,
) -> RecordedRun:
    run = run or RecordedRun()
    work = work_for(manifests, cluster.kubeconfig, task_id=task_id, options=options)
    await run.carry_out(direct_executor(**bounds), work)
    return run


async def found(cluster: SandboxCluster, path: str) -> dict[str, Any]:
    code, body = await cluster.request("GET", path)
    assert code == 200, body
    return body


async def deletions(cluster: SandboxCluster) -> list[str]:
    return [entry["name"] for entry in await cluster.ledger() if entry["verb"] == "delete"]


async def test_a_field_that_cannot_change_is_named_and_nothing_is_deleted(cluster: SandboxCluster) -> None:
    assert (await deployed(cluster, job())).status == "completed"
    run = await deployed(cluster, job("tools:2"))
    assert run.failure is not None
    reason, stage, message, hint = run.failure
    assert (reason, stage) == (FailureReason.IMMUTABLE_FIELD, "prepare")
    assert "spec.template" in message
    assert "replace" in (hint or "")
    assert await deletions(cluster) == []


async def test_a_kind_that_may_be_replaced_is_deleted_and_created_anew(cluster: SandboxCluster) -> None:
    await deployed(cluster, job())
    before = await found(cluster, f"{JOBS}/migrate")
    run = await deployed(cluster, job("tools:2"), options=ApplyOptions(replace=("Job",)))
    assert run.status == "completed", run.failure
    after = await found(cluster, f"{JOBS}/migrate")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "tools:2"
    assert run.card("migrate").planned is PlannedAction.REPLACE
    assert run.card("migrate").apply is ApplyState.APPLIED
    assert any("Job migrate was deleted and created anew" in message for message in run.messages)
    [removal] = [entry for entry in await cluster.ledger() if entry["verb"] == "delete"]
    assert removal["name"] == "migrate"


async def test_kinds_that_hold_data_are_never_replaced_even_when_named(cluster: SandboxCluster) -> None:
    await deployed(cluster, claim("ReadWriteOnce"))
    options = ApplyOptions(replace=("PersistentVolumeClaim",))
    run = await deployed(cluster, claim("ReadWriteMany"), options=options)
    assert run.failure is not None
    assert run.failure[:2] == (FailureReason.IMMUTABLE_FIELD, "prepare")
    assert "its data would go with it" in (run.failure[3] or "")
    assert await deletions(cluster) == []


async def test_an_object_that_does_not_go_away_ends_the_replacement_in_time(cluster: SandboxCluster) -> None:
    await deployed(cluster, job())
    code, _ = await cluster.request(
        "PATCH", f"{JOBS}/migrate", {"metadata": {"finalizers": ["example.org/held"]}},
        content_type="application/merge-patch+json",
    )  # fmt: skip
    assert code == 200
    run = await deployed(cluster, job("tools:2"), options=ApplyOptions(replace=("Job",)), replacement=0.5)
    assert run.failure is not None
    assert "still being deleted after 0.5 s" in run.failure[2]
    assert "example.org/held" in (run.failure[3] or "")


async def test_a_job_that_has_run_is_left_as_it_is_by_a_retry(cluster: SandboxCluster) -> None:
    task = new_id()
    await deployed(cluster, job(), task_id=task)
    before = await found(cluster, f"{JOBS}/migrate")
    again = await deployed(cluster, job(), task_id=task, run=RecordedRun(epoch=2))
    after = await found(cluster, f"{JOBS}/migrate")
    assert again.status == "completed", again.failure
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert again.card("migrate").apply is ApplyState.UNCHANGED
    pods = await found(cluster, "/api/v1/namespaces/default/pods")
    assert len(pods["items"]) == 1


async def test_a_job_that_this_task_applied_and_that_is_gone_is_not_run_again(cluster: SandboxCluster) -> None:
    task = new_id()
    first = await deployed(cluster, job(), task_id=task)
    assert first.card("migrate").status is CardStatus.RUNNING
    await cluster.request("DELETE", f"{JOBS}/migrate")
    again = RecordedRun(epoch=2, timeline=first.timeline)
    await deployed(cluster, job(), task_id=task, run=again)
    assert again.status == "completed", again.failure
    code, _ = await cluster.request("GET", f"{JOBS}/migrate")
    assert code == 404
    assert again.card("migrate").apply is ApplyState.APPLIED
    assert "was not run again" in (again.card("migrate").message or "")
    # Another deployment of the same job is another wish.
    assert (await deployed(cluster, job())).card("migrate").apply is ApplyState.APPLIED
    assert (await cluster.request("GET", f"{JOBS}/migrate"))[0] == 200
