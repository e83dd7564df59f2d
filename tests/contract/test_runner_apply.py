"""The direct executor against a cluster: what is applied, in which order, and what people are told."""

from typing import Any
from uuid import UUID

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import ApplyOptions, ApplyState, FailureReason
from locktender.contracts.deployments.plan import PlannedAction
from locktender.contracts.kernel.ids import new_id
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.recorded_run import RecordedRun, direct_executor, work_for
from locktender.testkit.runner import config_maps, deployment

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


async def deployed(
    cluster: SandboxCluster,
    manifests: str,
    *,
    epoch: int = 1,
    task_id: UUID | None = None,
    options: ApplyOptions | None = None,
    run: RecordedRun | None = None,
    **bounds: Any,
) -> RecordedRun:
    run = run or RecordedRun(epoch=epoch)
    work = work_for(manifests, cluster.kubeconfig, task_id=task_id, options=options)
    await run.carry_out(direct_executor(**bounds), work)
    return run


async def effects(cluster: SandboxCluster) -> list[str]:
    return [entry["name"] for entry in await cluster.ledger() if entry["task"] and not entry["dryRun"]]


def config_map(name: str, **data: str) -> str:
    lines = "".join(f"  {key}: {value!r}\n" for key, value in data.items())
    return f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n{lines}"


async def test_the_plan_is_recorded_and_told_before_anything_is_applied(cluster: SandboxCluster) -> None:
    first = await deployed(cluster, config_map("a", x="1") + config_map("b", x="1"))
    assert first.status == "completed", first.failure
    second = await deployed(cluster, config_map("a", x="1") + config_map("b", x="2") + config_map("c", x="1"))
    assert second.plan is not None
    assert [each.action for each in second.plan.documents] == [
        PlannedAction.UNCHANGED, PlannedAction.CHANGE, PlannedAction.CREATE,
    ]  # fmt: skip
    assert second.messages[0] == "planned: 1 to create, 1 to change, 1 unchanged"
    assert second.messages[1] == "applying ConfigMap a (1 of 3)"
    cards = [(card.planned, card.apply) for card in second.timeline.cards]
    assert cards == [
        (PlannedAction.UNCHANGED, ApplyState.UNCHANGED),
        (PlannedAction.CHANGE, ApplyState.APPLIED),
        (PlannedAction.CREATE, ApplyState.APPLIED),
    ]


async def test_every_applied_object_says_who_manages_it_and_which_run_applied_it(cluster: SandboxCluster) -> None:
    task = new_id()
    await deployed(cluster, config_maps(1) + deployment("web"), task_id=task, epoch=4)
    for path in (f"{CONFIG_MAPS}/c0", "/apis/apps/v1/namespaces/default/deployments/web"):
        _, found = await cluster.request("GET", path)
        assert found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "locktender"
        stamps = {"locktender.dev/task": str(task), "locktender.dev/epoch": "4"}
        assert found["metadata"]["annotations"].items() >= stamps.items()


async def test_one_document_that_would_be_refused_stops_the_run_before_anything_is_applied(
    cluster: SandboxCluster,
) -> None:
    refused = {"verb": "patch", "status": 422, "message": "no such colour"}
    await cluster.faults(refused | {"name": "c1"}, refused | {"name": "c3"})
    run = await deployed(cluster, config_maps(5))
    assert await effects(cluster) == []
    assert run.failure is not None
    reason, stage, message, _ = run.failure
    assert (reason, stage) == (FailureReason.INVALID_MANIFEST, "prepare")
    assert "no such colour" in message
    assert message.startswith("nothing was applied: ")
    assert message.endswith("and 1 more: ConfigMap default/c3")
    assert [card.apply for card in run.timeline.cards if card.apply is not ApplyState.PENDING] == [
        ApplyState.REFUSED, ApplyState.REFUSED,
    ]  # fmt: skip
    assert run.card("c1").status is CardStatus.FAILED
    assert "no such colour" in (run.card("c1").message or "")


async def test_a_document_that_is_refused_all_the_same_ends_the_run_there(cluster: SandboxCluster) -> None:
    refused = {"verb": "patch", "name": "c2"}
    await cluster.faults(refused | {"count": 1}, refused | {"status": 422, "message": "no such colour"})
    run = await deployed(cluster, config_maps(4))
    assert run.failure is not None
    assert run.failure[:2] == (FailureReason.INVALID_MANIFEST, "apply")
    assert [card.apply for card in run.timeline.cards] == [
        ApplyState.APPLIED, ApplyState.APPLIED, ApplyState.REFUSED, ApplyState.PENDING,
    ]  # fmt: skip


async def test_an_object_without_a_name_gets_the_same_one_from_every_run_of_its_task(cluster: SandboxCluster) -> None:
    manifest = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: settings-}\ndata: {a: '1'}\n"
    task = new_id()
    for epoch in (1, 2):
        assert (await deployed(cluster, manifest, task_id=task, epoch=epoch)).status == "completed"
    _, listed = await cluster.request("GET", CONFIG_MAPS)
    found = [item["metadata"]["name"] for item in listed["items"] if item["metadata"]["name"].startswith("settings-")]
    assert len(found) == 1
    await deployed(cluster, manifest)
    _, listed = await cluster.request("GET", CONFIG_MAPS)
    assert len([item for item in listed["items"] if item["metadata"]["name"].startswith("settings-")]) == 2


async def test_a_busy_cluster_is_asked_again_when_it_says(cluster: SandboxCluster) -> None:
    write = {"verb": "patch", "name": "c0", "count": 1}
    await cluster.faults(write, write | {"status": 429, "retry_after": 1})
    run = await deployed(cluster, config_maps(1))
    assert run.status == "completed", run.failure
    [_, busy] = (await cluster.fault_table())["rules"]
    assert busy["hits"] == 1


async def test_a_change_whose_answer_was_lost_is_still_told_as_a_change(cluster: SandboxCluster) -> None:
    await deployed(cluster, config_map("a", x="1"))
    lost = {"verb": "patch", "name": "a"}
    await cluster.faults(lost | {"count": 1}, lost | {"drop": True, "after": True, "count": 1})
    run = await deployed(cluster, config_map("a", x="2"))
    assert run.status == "completed", run.failure
    assert run.card("a").apply is ApplyState.APPLIED


async def test_an_account_that_may_write_and_not_read_still_applies(cluster: SandboxCluster) -> None:
    token = await cluster.add_token("dev", rules=({"effect": "deny", "verbs": ["get", "list", "watch"]},))
    run = RecordedRun()
    await run.carry_out(direct_executor(), work_for(config_maps(2), cluster.kubeconfig_for(token)))
    assert [card.apply for card in run.timeline.cards] == [ApplyState.APPLIED, ApplyState.APPLIED]


async def test_a_missing_namespace_is_told_before_anything_is_applied(cluster: SandboxCluster) -> None:
    run = RecordedRun()
    await run.carry_out(direct_executor(), work_for(config_maps(2), cluster.kubeconfig, namespace="nowhere"))
    assert run.failure is not None
    assert "the namespace nowhere does not exist" in run.failure[2]
    assert "create it" in (run.failure[3] or "")
    assert await effects(cluster) == []


async def test_options_that_are_stored_in_a_way_nobody_knows_are_not_guessed(cluster: SandboxCluster) -> None:
    work = work_for(config_maps(1), cluster.kubeconfig)
    odd = type(work)(work.task_id, work.namespace, work.source[:-1] + ', "apply": {"colour": 1}}', work.credentials)
    run = RecordedRun()
    await run.carry_out(direct_executor(), odd)
    assert run.failure is not None
    assert run.failure[0] is FailureReason.RUNNER_ERROR
    assert await effects(cluster) == []
