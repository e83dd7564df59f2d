"""The direct runner against a real database, a real bus and a sandbox cluster: how deployments end."""

import base64
import json
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import ApplyState, StepStatus
from locktender.contracts.deployments.policy import Deadlines
from locktender.runner.app import serve
from locktender.runner.settings import RunnerSettings
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.database import TestDatabase
from locktender.testkit.runner import QuickClock, Seen, TaskBench, config_maps, deployment, task_bench
from locktender.testkit.servers import NatsServer

[EXAMPLE] = list(Path(__file__).parents[2].glob("services/cli/src/**/online-boutique.yaml"))


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[TaskBench]:
    async with task_bench(db, nats_server) as made:
        yield made


def settings(bench: TaskBench, **stated: Any) -> RunnerSettings:
    plausible: dict[str, Any] = {
        "database_url": bench.db.dsn, "nats_url": bench.nats.url, "instance": "runner-1", "drain_seconds": 8,
        "apply_seconds": 5, "deadlines": Deadlines(readiness=20),
    }  # fmt: skip
    return RunnerSettings(**(plausible | stated))


async def deployed(bench: TaskBench, manifests: str, kubeconfig: str, **stated: Any) -> Seen:
    async with bench.service("runner", serve, settings(bench, **stated)):
        return await bench.ended(await bench.deploy(manifests, kubeconfig=kubeconfig))


async def test_every_document_of_a_real_application_is_applied_and_ready(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    ended = await deployed(bench, EXAMPLE.read_text(), cluster.kubeconfig)
    assert ended.status == "completed", ended.row
    assert {card.status for card in ended.timeline.cards} == {CardStatus.RUNNING}
    assert {card.apply for card in ended.timeline.cards} == {ApplyState.APPLIED}
    assert {step.status for step in ended.timeline.steps} == {StepStatus.COMPLETED}
    assert ended.kinds[:4] == ["created", "started", "progressed", "applying"]
    assert ended.kinds[-1] == "completed"
    applied = [entry for entry in await cluster.ledger() if entry["task"] and not entry["dryRun"]]
    assert {entry["verb"] for entry in applied} == {"patch"}
    assert len(applied) == len(ended.timeline.cards)
    assert {(entry["task"], entry["epoch"], entry["fieldManager"]) for entry in applied} == {
        (str(ended.row.task.id), "1", "locktender")
    }


async def test_an_image_that_cannot_be_pulled_fails_the_run_and_names_pod_and_reason(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    manifests = deployment("good") + deployment("bad", image="registry.example/does-not-exist:1")
    async with bench.service(
        "runner", serve, settings(bench, deadlines=Deadlines(readiness=600)), clock=QuickClock(20)
    ):
        ended = await bench.ended(await bench.deploy(manifests, kubeconfig=cluster.kubeconfig))
    assert ended.failure["reason"] == "resource-failed"
    assert "Deployment default/bad failed: pod bad-" in ended.failure["message"]
    card = ended.card("Deployment", "bad")
    assert (card.status, card.reason) == (CardStatus.FAILED, "ImagePullBackOff")
    assert card.hint is not None
    assert ended.card("Deployment", "good").status is CardStatus.RUNNING


async def test_a_crash_loop_fails_the_run_long_before_its_deadline(bench: TaskBench, cluster: SandboxCluster) -> None:
    manifests = deployment("crashing", behaviour="crash-loop")
    ended = await deployed(bench, manifests, cluster.kubeconfig, deadlines=Deadlines(readiness=600))
    assert ended.failure["reason"] == "resource-failed"
    assert "keeps ending with exit code" in ended.failure["message"]
    assert "kubectl logs" in ended.failure["detail"]


async def test_what_never_gets_ready_fails_at_the_deadline_by_name(bench: TaskBench, cluster: SandboxCluster) -> None:
    manifests = deployment("slow", behaviour="never-ready")
    ended = await deployed(bench, manifests, cluster.kubeconfig, deadlines=Deadlines(readiness=1))
    assert ended.failure["reason"] == "readiness-timeout"
    assert "Deployment default/slow (0 of 1 replicas available" in ended.failure["message"]
    assert ended.card("Deployment", "slow").status is CardStatus.UNKNOWN


async def test_what_the_plan_says_would_be_refused_ends_the_run_before_anything_is_applied(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    await cluster.faults({"verb": "patch", "name": "c2", "status": 422, "message": "no such colour"})
    ended = await deployed(bench, config_maps(4), cluster.kubeconfig)
    assert (ended.failure["reason"], ended.failure["stage"]) == ("invalid-manifest", "prepare")
    assert "no such colour" in ended.failure["message"]
    assert ended.last["payload"]["counts"] == {"applied": 0, "unknown": 0, "notApplied": 4}
    assert ended.timeline.plan is not None
    assert (ended.timeline.plan.create, ended.timeline.plan.refused) == (3, 1)


async def test_the_first_refused_document_ends_the_run_and_the_others_are_accounted_for(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    await cluster.faults(*after_the_plan(verb="patch", name="c2", status=422, message="no such colour"))
    ended = await deployed(bench, config_maps(4), cluster.kubeconfig)
    assert ended.failure["reason"] == "invalid-manifest"
    assert ended.failure["stage"] == "apply"
    assert "no such colour" in ended.failure["message"]
    assert [card.apply for card in ended.timeline.cards] == [
        ApplyState.APPLIED, ApplyState.APPLIED, ApplyState.REFUSED, ApplyState.NOT_APPLIED,
    ]  # fmt: skip
    assert ended.last["payload"]["counts"] == {"applied": 2, "unknown": 0, "notApplied": 2}
    assert "no such colour" in (ended.card("ConfigMap", "c2").message or "")


def after_the_plan(**fault: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fault that lets the dry run of its object by."""
    return {"verb": fault["verb"], "name": fault["name"], "count": 1}, fault


async def test_a_busy_cluster_is_asked_again(bench: TaskBench, cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "patch", "name": "c1", "status": 503, "count": 2})
    ended = await deployed(bench, config_maps(2), cluster.kubeconfig)
    assert ended.status == "completed"


async def test_a_document_whose_answer_was_lost_is_told_as_unknown(bench: TaskBench, cluster: SandboxCluster) -> None:
    await cluster.faults(*after_the_plan(verb="patch", name="c1", drop=True, after=True))
    ended = await deployed(bench, config_maps(3), cluster.kubeconfig, apply_seconds=0.3)
    assert ended.failure["reason"] == "cluster-unreachable"
    assert ended.card("ConfigMap", "c1").apply is ApplyState.APPLYING
    assert ended.last["payload"]["unknown"] == ["ConfigMap c1"]


async def test_a_missing_right_is_told_with_verb_and_kind(bench: TaskBench, cluster: SandboxCluster) -> None:
    token = await cluster.add_token(
        "dev", rules=({"effect": "deny", "verbs": ["patch"], "resources": ["deployments"]},)
    )
    manifests = config_maps(1) + deployment("web")
    ended = await deployed(bench, manifests, cluster.kubeconfig_for(token))
    assert ended.failure["reason"] == "denied"
    assert "may not patch deployments.apps in namespace default" in ended.failure["message"]
    assert ended.card("ConfigMap", "c0").apply is ApplyState.NOT_APPLIED


async def test_an_account_that_may_not_list_is_served_object_by_object(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    token = await cluster.add_token("dev", rules=({"effect": "deny", "verbs": ["list"]},))
    ended = await deployed(bench, deployment("one") + deployment("two"), cluster.kubeconfig_for(token))
    assert ended.status == "completed"


async def test_an_account_that_may_not_look_at_its_objects_fails_soon(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    unseen = {"effect": "deny", "verbs": ["get", "list", "watch"], "resources": ["deployments"]}
    token = await cluster.add_token("dev", rules=(unseen,))
    ended = await deployed(bench, deployment("web"), cluster.kubeconfig_for(token))
    assert (ended.failure["reason"], ended.failure["stage"]) == ("denied", "verify")
    assert ended.card("Deployment", "web").apply is ApplyState.APPLIED


async def test_an_expired_token_fails_before_anything_is_applied(bench: TaskBench, cluster: SandboxCluster) -> None:
    token = await cluster.add_token("dev", expires_in=0)
    ended = await deployed(bench, config_maps(2), cluster.kubeconfig_for(token))
    assert (ended.failure["reason"], ended.failure["stage"]) == ("unauthorized", "prepare")
    assert ended.last["payload"]["counts"] == {"applied": 0, "unknown": 0, "notApplied": 2}


async def test_an_unreachable_cluster_fails_within_its_bound(bench: TaskBench, cluster: SandboxCluster) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        kubeconfig = cluster.kubeconfig.replace(cluster.server, f"https://127.0.0.1:{nobody.getsockname()[1]}")
        ended = await deployed(bench, config_maps(1), kubeconfig, apply_seconds=0.5)
    assert ended.failure["reason"] == "cluster-unreachable"


async def test_an_unknown_kind_fails_before_anything_is_applied(bench: TaskBench, cluster: SandboxCluster) -> None:
    widget = "---\napiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w}\n"
    ended = await deployed(bench, config_maps(1) + widget, cluster.kubeconfig)
    assert ended.failure["reason"] == "unknown-kind"
    assert ended.card("ConfigMap", "c0").apply is ApplyState.NOT_APPLIED


async def test_a_missing_namespace_is_not_made_silently(bench: TaskBench, cluster: SandboxCluster) -> None:
    async with bench.service("runner", serve, settings(bench)):
        ended = await bench.ended(
            await bench.deploy(config_maps(1), kubeconfig=cluster.kubeconfig, namespace="nowhere")
        )
    assert "the namespace nowhere does not exist" in ended.failure["message"]


async def test_lost_credentials_end_the_run_at_once(bench: TaskBench, cluster: SandboxCluster) -> None:
    async with bench.service("runner", serve, settings(bench)):
        ended = await bench.ended(await bench.deploy(config_maps(1), kubeconfig=cluster.kubeconfig, held=False))
    assert (ended.failure["reason"], ended.failure["detail"]) == ("credentials-lost", "never started")
    assert "nothing was applied" in ended.failure["message"]


async def test_secret_values_reach_the_cluster_and_nothing_that_is_stored(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    value = "canary-3f9c2a71"
    secret = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"},
        "data": {"password": base64.b64encode(value.encode()).decode()},
    }  # fmt: skip
    said = f"the value {value} and the token {cluster.token} are not wanted"
    await cluster.faults(*after_the_plan(verb="patch", name="c0", status=422, message=said))
    ended = await deployed(bench, f"---\n{json.dumps(secret)}\n{config_maps(1)}", cluster.kubeconfig)
    assert "[withheld]" in ended.failure["message"]
    _, stored = await cluster.request("GET", "/api/v1/namespaces/default/secrets/key")
    assert stored["data"] == secret["data"]
    for table in ("deployment_task", "deployment_event", "outbox"):
        query = f"select t::text as line from locktender.{table} t"  # noqa: S608 - names of ours
        for row in await bench.db.admin.fetch(query):
            for canary in (value, secret["data"]["password"], cluster.token):
                assert canary not in row["line"]
