"""Runs that ask: parked, resumed and redeployed, against a real database, a real bus and a sandbox cluster."""

import base64
import json
from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from locktender.contracts.deployments.inputs import AskedCode
from locktender.contracts.deployments.models import ApplyState, StepStatus
from locktender.integrations.kube.secrets import WITHHELD
from locktender.runner.app import serve
from locktender.runner.settings import RunnerSettings
from locktender.testkit.canaries import Cage, Canary, awkward, token
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.database import TestDatabase
from locktender.testkit.nats_rig import eventually
from locktender.testkit.rows import new_task, told
from locktender.testkit.runner import CUSTODIAN, WORKSPACE, Held, TaskBench, config_maps, task_bench
from locktender.testkit.servers import NatsServer

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
TABLES = ("deployment_task", "deployment_event", "deployment_plan", "outbox")

SHOP = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: shop}
spec:
  defaults:
    app_name: {type: string, value: 'shop-${{ random(8) }}'}
    db_password: {type: string, value: '${{ random(20) }}'}
  inputs:
    admin_password: {type: password, required: true}
    colour: {type: string, default: red}
---
apiVersion: v1
kind: Secret
metadata: {name: '${{ defaults.app_name }}'}
stringData: {admin: '${{ inputs.admin_password }}', database: '${{ defaults.db_password }}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: '${{ defaults.app_name }}'}
data:
  colour: '${{ inputs.colour }}'
  url: 'db://admin:${{ inputs.admin_password }}@db'
"""
PASSWORD = {"admin_password": "open sesame"}


@pytest.fixture
async def bench(db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[TaskBench]:
    async with task_bench(db, nats_server) as made:
        yield made


def settings(bench: TaskBench, **stated: Any) -> RunnerSettings:
    plausible: dict[str, Any] = {
        "database_url": bench.db.dsn, "nats_url": bench.nats.url, "instance": "runner-1", "drain_seconds": 8,
        "apply_seconds": 5, "instance_key": "the key of all instances",
    }  # fmt: skip
    return RunnerSettings(**(plausible | stated))


async def identity(bench: TaskBench, task: UUID) -> dict[str, Any] | None:
    found = await bench.db.admin.fetchval("select identity from locktender.deployment_task where id = $1", task)
    return None if found is None else json.loads(found)


async def named(cluster: SandboxCluster, prefix: str = "shop-") -> list[str]:
    _, found = await cluster.request("GET", CONFIG_MAPS)
    names = [item["metadata"]["name"] for item in found["items"]]
    return [name for name in names if name.startswith(prefix)]


async def no_runs(bench: TaskBench) -> bool:
    return b'"runs": []' in await bench.bus.request("lt.ops.runner.status", b"", 2)


async def test_a_run_that_lacks_a_value_waits_and_goes_on_once_it_is_entered(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
        asked = await bench.blocked(task)
        assert (asked.code, [field.key for field in asked.inputs]) == (AskedCode.MISSING, ["admin_password", "colour"])
        assert await identity(bench, task) is None
        await eventually(lambda: no_runs(bench))
        parked = await bench.seen(task)
        assert {step.id: step.status for step in parked.timeline.steps} == {
            "prepare-template": StepStatus.BLOCKED, "create-resources": StepStatus.PENDING,
        }  # fmt: skip
        assert parked.last["payload"] == {
            "reason": "missing", "inputKeys": ["admin_password", "colour"], "redacted": True,
        }  # fmt: skip
        await bench.submit(task, PASSWORD, kubeconfig=cluster.kubeconfig)
        ended = await bench.ended(task)
    assert ended.status == "completed", ended.row
    assert ended.kinds == [
        "created", "started", "inputs-requested", "input-submitted", "resumed", "progressed", "identity-recorded",
        "applying", *["progressed"] * (len(ended.kinds) - 9), "completed",
    ]  # fmt: skip
    assert ended.row.task.lease_epoch == 2
    assert ended.row.task.instance == (await named(cluster))[0]


async def test_a_shutdown_leaves_a_parked_task_to_wait(bench: TaskBench, cluster: SandboxCluster) -> None:
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
        await bench.blocked(task)
    assert (await bench.seen(task)).status == "blocked"
    async with bench.service("runner", serve, settings(bench, instance="runner-2")):
        await bench.submit(task, PASSWORD, kubeconfig=cluster.kubeconfig)
        assert (await bench.ended(task)).status == "completed"


async def test_the_end_of_a_parked_run_leaves_the_run_that_goes_on_alone(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    """The same process takes the task up again while its first run has not quite ended."""
    held = Held("runner.after-park")
    async with bench.service("runner", serve, settings(bench), faults=held):
        task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
        await held.reached.wait()
        await bench.submit(task, PASSWORD, kubeconfig=cluster.kubeconfig)
        ended = await bench.ended(task)
        assert ended.status == "completed"
        held.released.set()
        await eventually(lambda: no_runs(bench))
    assert (await bench.seen(task)).row == ended.row


async def test_a_cancel_of_a_resumed_run_reaches_it_although_the_parked_one_has_not_ended(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    held = Held("runner.after-park")
    await cluster.faults({"verb": "patch", "resource": "secrets", "latency": 20})
    async with bench.service("runner", serve, settings(bench), faults=held):
        task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
        await held.reached.wait()
        await bench.submit(task, PASSWORD, kubeconfig=cluster.kubeconfig)
        await bench.until(task, lambda seen: "resumed" in seen.kinds)
        held.released.set()
        await bench.cancel(task)
        ended = await bench.ended(task, seconds=5)
    assert ended.status == "cancelled"
    assert await named(cluster) == []


async def test_values_that_got_lost_are_asked_again_and_nothing_else_is_lost(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
        first = await bench.blocked(task)
        await bench.submit(task, PASSWORD, kubeconfig=cluster.kubeconfig, held=False)
        again = await bench.until(task, lambda seen: seen.kinds.count("inputs-requested") == 2)
        assert again.status == "blocked"
        assert (again.asked.code, again.asked.inputs) == (AskedCode.VALUES_LOST, first.inputs)
        assert "enter them again" in again.asked.message
        await bench.submit(task, PASSWORD, kubeconfig=cluster.kubeconfig)
        assert (await bench.ended(task)).status == "completed"


async def test_a_value_that_cannot_be_used_asks_again_and_is_not_repeated(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
        await bench.blocked(task)
        await bench.submit(task, {"admin_password": "q\x07q"}, kubeconfig=cluster.kubeconfig)
        again = await bench.until(task, lambda seen: seen.kinds.count("inputs-requested") == 2)
    assert (again.asked.code, again.asked.key) == (AskedCode.REJECTED, "admin_password")
    assert again.last["payload"]["inputKey"] == "admin_password"
    assert "q\x07q" not in str(again.row)
    assert "q\\u0007q" not in str(again.row)


async def test_a_cancel_that_comes_while_the_run_parks_wins(bench: TaskBench, cluster: SandboxCluster) -> None:
    held = Held("runner.before-park")
    async with bench.service("runner", serve, settings(bench), faults=held):
        task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
        await held.reached.wait()
        await bench.cancel(task, poke=False)
        held.released.set()
        ended = await bench.ended(task)
    assert ended.status == "cancelled"
    assert ended.row.task.asked is None


async def test_a_redeploy_goes_on_under_the_recorded_name(bench: TaskBench, cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "patch", "resource": "configmaps", "status": 422, "message": "not now"})
    async with bench.service("runner", serve, settings(bench)):
        root = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=PASSWORD)
        assert (await bench.ended(root)).status == "failed"
        assert await identity(bench, root) is None, "the plan refused it, so nothing was named"
        await cluster.faults(*after_the_plan("configmaps"))
        first = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=PASSWORD, predecessor=root)
        failed = await bench.ended(first)
        kept = await identity(bench, first)
        assert failed.failure["stage"] == "apply"
        assert "cleanup-started" in failed.kinds
        assert kept is not None
        await cluster.faults()
        second = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=PASSWORD, predecessor=first)
        done = await bench.ended(second)
    assert done.status == "completed", done.row
    assert await identity(bench, second) == kept
    assert await named(cluster) == [kept["instance"]]
    assert "the identity is reused" in str(done.row.events)


def after_the_plan(resource: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Faults that let the dry run of the only object of a kind by."""
    return (
        {"verb": "patch", "resource": resource, "count": 1},
        {"verb": "patch", "resource": resource, "status": 422, "message": "no such colour"},
    )


async def test_a_cleanup_is_told_on_the_row_with_what_was_removed(bench: TaskBench, cluster: SandboxCluster) -> None:
    await cluster.faults(*after_the_plan("configmaps"))
    async with bench.service("runner", serve, settings(bench)):
        task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=PASSWORD)
        ended = await bench.ended(task)
    assert (ended.failure["reason"], ended.failure["stage"]) == ("invalid-manifest", "apply")
    assert [card.apply for card in ended.timeline.cards] == [ApplyState.REMOVED, ApplyState.REFUSED]
    assert ended.last["payload"]["removed"] == [str(ended.timeline.cards[0].ref)]
    _, found = await cluster.request("GET", SECRETS)
    assert [item for item in found["items"] if item["metadata"]["name"].startswith("shop-")] == []


async def test_a_cancel_that_nobody_heard_of_keeps_the_cleanup_from_deleting_anything(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    held = Held("runner.before-apply", after=1)
    await cluster.faults(*after_the_plan("configmaps"))
    async with bench.service("runner", serve, settings(bench), faults=held):
        task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=PASSWORD)
        await held.reached.wait()
        await bench.cancel(task, poke=False)
        held.released.set()
        ended = await bench.ended(task)
    assert ended.status == "cancelled"
    assert [entry for entry in await cluster.ledger() if entry["verb"] == "delete"] == []
    assert [card.apply for card in ended.timeline.cards] == [ApplyState.APPLIED, ApplyState.REFUSED]


async def test_secret_inputs_reach_the_cluster_and_nothing_that_is_stored_or_logged(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    first, second = Canary("parked", awkward("pw")), Canary("given", token("pw"))
    said = f"the value {first.value} or {second.value} is not wanted"
    with capture_logs() as logs:
        async with bench.service("runner", serve, settings(bench, log_level="debug")):
            task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
            await bench.blocked(task)
            await bench.submit(task, {"admin_password": first.value}, kubeconfig=cluster.kubeconfig)
            assert (await bench.ended(task)).status == "completed"
            await cluster.faults(*after_the_plan("configmaps")[:1], after_the_plan("configmaps")[1] | {"message": said})
            given = {"admin_password": second.value}
            broken = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=given)
            failed = await bench.ended(broken)
    assert "[withheld]" in failed.failure["message"]
    instance = (await bench.seen(task)).row.task.instance
    _, stored = await cluster.request("GET", f"{SECRETS}/{instance}")
    assert base64.b64decode(stored["data"]["admin"]).decode() == first.value
    drawn = Canary("drawn", base64.b64decode(stored["data"]["database"]).decode())
    cage = Cage([second, drawn, first])
    found = cage.text("logs", str(logs))
    for table in TABLES:
        query = f"select t::text as line from locktender.{table} t"  # noqa: S608 - names of ours
        for row in await bench.db.admin.fetch(query):
            found += cage.text(table, row["line"])
    assert found == []


async def manifests_redeploy(bench: TaskBench, cluster: SandboxCluster, *bodies: dict[str, Any]) -> UUID:
    """A task whose stored source lacks its secret values, and whose custodian has only the kubeconfig."""
    documents = [{"index": index, "line": 1, "body": body} for index, body in enumerate(bodies)]
    task = new_task(
        workspace=WORKSPACE, runner="direct", namespace="default", custodian=CUSTODIAN,
        source=json.dumps({"kind": "manifests", "documents": documents}),
    )  # fmt: skip
    bench.custodian.hold(task.id, json.dumps({"kubeconfig": cluster.kubeconfig, "secrets": {}}).encode(), 60)
    assert await bench.writes.create(task)
    await bench.hint(task.id, "direct")
    return task.id


KEY = {
    "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"},
    "data": {"binary": WITHHELD}, "stringData": {"text": WITHHELD},
}  # fmt: skip
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "b"}}


async def test_withheld_values_of_manifests_are_asked_for_one_by_one(bench: TaskBench, cluster: SandboxCluster) -> None:
    canary = Canary("entered", token("key"))
    async with bench.service("runner", serve, settings(bench)):
        task = await manifests_redeploy(bench, cluster, KEY, MAP)
        asked = await bench.blocked(task)
        keys = [field.key for field in asked.inputs]
        assert keys == ["Secret//key/data/binary", "Secret//key/stringData/text"]
        assert all(field.sensitive and field.required for field in asked.inputs)
        values = {keys[0]: canary.value, keys[1]: "plain text"}
        await bench.submit(task, values, kubeconfig=cluster.kubeconfig, runner="direct")
        ended = await bench.ended(task)
    assert ended.status == "completed", ended.row
    _, stored = await cluster.request("GET", f"{SECRETS}/key")
    assert {key: base64.b64decode(value).decode() for key, value in stored["data"].items()} == {
        "binary": canary.value, "text": "plain text",
    }  # fmt: skip
    assert Cage([canary]).text("row", str(ended.row)) == []


async def test_manifests_that_lack_more_than_values_of_secrets_need_the_whole_source(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    repeated = MAP | {"data": {"url": WITHHELD}}
    async with bench.service("runner", serve, settings(bench)):
        ended = await bench.ended(await manifests_redeploy(bench, cluster, KEY, repeated))
    assert ended.failure["reason"] == "credentials-lost"
    assert "deploy again with the whole source" in ended.failure["message"]
    assert await cluster.ledger() == []


async def test_a_runner_without_a_key_says_so_once(bench: TaskBench, cluster: SandboxCluster) -> None:
    with capture_logs() as logs:
        async with bench.service("runner", serve, settings(bench, instance_key=None)):
            task = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig, given=PASSWORD)
            assert (await bench.ended(task)).status == "completed"
    assert [entry["log_level"] for entry in logs if "LOCKTENDER_INSTANCE_KEY" in entry["event"]] == ["warning"]


async def test_a_parked_task_holds_nobody_up_and_a_late_hint_finds_nothing_to_go_on_with(
    bench: TaskBench, cluster: SandboxCluster
) -> None:
    async with bench.service("runner", serve, settings(bench)):
        parked = await bench.deploy_template(SHOP, kubeconfig=cluster.kubeconfig)
        await bench.blocked(parked)
        other = await bench.deploy(config_maps(1), kubeconfig=cluster.kubeconfig)
        assert (await bench.ended(other)).status == "completed"
        await bench.writes.cancel(parked, "ada", told("cancelled", actor="api"))
        await bench.hint(parked, "template")
        await eventually(lambda: no_runs(bench))
    assert (await bench.seen(parked)).status == "cancelled"
