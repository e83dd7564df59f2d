"""What a template run removes again, and what it never does: only its own fresh objects, only when applying failed."""

import asyncio
from typing import Any

import pytest

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import ApplyState, FailureReason, Identity
from locktender.contracts.kernel.ids import new_id
from locktender.runtime.abort import AbortReason
from locktender.testkit.cluster import SandboxCluster
from locktender.testkit.nats_rig import eventually
from locktender.testkit.recorded_run import RecordedRun, template_executor, template_work
from locktender.testkit.runner import Held

CORE = "/api/v1/namespaces/default"
CONFIG_MAPS = f"{CORE}/configmaps"
CLAIMS = f"{CORE}/persistentvolumeclaims"
SETS = "/apis/apps/v1/namespaces/default/statefulsets"
INSTANCE = "locktender.dev/instance"

# A name without random letters, so that faults can be aimed at its objects.
HEAD = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: shop}
spec:
  defaults:
    app_name: {type: string, value: shop}
"""
STATEFUL = """\
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  serviceName: store
  replicas: 1
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: main, image: 'registry.example/db:1'}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
INGRESS = """\
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: door}
spec: {defaultBackend: {service: {name: store, port: {number: 80}}}}
"""


def config_map(name: str) -> str:
    return f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: b}}\n"


TWO = HEAD + config_map("one") + config_map("two")


async def failing(cluster: SandboxCluster, name: str, **fault: Any) -> None:
    """Let the dry run of an object by, and refuse every further write of it."""
    aimed = {"verb": "patch", "name": name}
    await cluster.faults(aimed | {"count": 1}, aimed | ({"status": 422, "message": "no such colour"} | fault))


async def deployed(
    cluster: SandboxCluster,
    template: str = TWO,
    *,
    run: RecordedRun | None = None,
    identity: Identity | None = None,
    executor: dict[str, Any] | None = None,
    **stated: Any,
) -> RecordedRun:
    run = run or RecordedRun()
    work = template_work(template, cluster.kubeconfig, identity=identity, **stated)
    await run.carry_out(template_executor(**(executor or {})), work)
    return run


async def exists(cluster: SandboxCluster, path: str) -> bool:
    code, _ = await cluster.request("GET", path)
    return code == 200


async def deletions(cluster: SandboxCluster) -> list[str]:
    """What the runner has deleted, in order."""
    entries = await cluster.ledger()
    return [f"{entry['resource']}/{entry['name']}" for entry in entries if entry["verb"] == "delete"]


async def test_what_a_fresh_run_has_made_is_removed_when_applying_fails(cluster: SandboxCluster) -> None:
    await failing(cluster, "two")
    run = await deployed(cluster)
    assert run.failure is not None
    assert run.failure[:2] == (FailureReason.INVALID_MANIFEST, "apply")
    assert "no such colour" in run.failure[2]
    assert not await exists(cluster, f"{CONFIG_MAPS}/one")
    one, two = run.timeline.cards
    assert (one.apply, one.reason, one.status) == (ApplyState.REMOVED, "removed", CardStatus.PENDING)
    assert (two.apply, two.status) == (ApplyState.REFUSED, CardStatus.FAILED)
    assert run.messages[-3:-1] == [
        "applying failed; what this run has made of shop is removed again", "removed 1 object",
    ]  # fmt: skip
    assert run.identity is not None


async def test_workloads_go_first_and_the_volume_claims_that_came_of_them_go_last(cluster: SandboxCluster) -> None:
    await failing(cluster, "door")
    held = Held("runner.during-cleanup")
    run = RecordedRun()
    template = HEAD + config_map("one") + STATEFUL + INGRESS
    async with asyncio.TaskGroup() as group:
        group.create_task(deployed(cluster, template, run=run, executor={"faults": held}))
        await held.reached.wait()
        await eventually(lambda: exists(cluster, f"{CLAIMS}/data-store-0"), 10)
        held.released.set()
    assert await deletions(cluster) == ["statefulsets/store", "configmaps/one", "persistentvolumeclaims/data-store-0"]
    assert not await exists(cluster, f"{CLAIMS}/data-store-0")
    assert not await exists(cluster, f"{SETS}/store")
    assert "removed 2 objects and 1 volume claim" in run.messages


async def test_a_volume_claim_that_was_there_before_is_kept_although_it_bears_the_name(
    cluster: SandboxCluster,
) -> None:
    old = {
        "metadata": {"name": "data-store-0", "labels": {INSTANCE: "shop"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    other = {**old, "metadata": {"name": "elsewhere", "labels": {INSTANCE: "shop"}}}
    for claim in (old, other):
        code, _ = await cluster.request("POST", CLAIMS, claim)
        assert code == 201
    await failing(cluster, "door")
    run = await deployed(cluster, HEAD + STATEFUL + INGRESS)
    assert run.cleaned
    assert await deletions(cluster) == ["statefulsets/store"]
    for name in ("data-store-0", "elsewhere"):
        _, found = await cluster.request("GET", f"{CLAIMS}/{name}")
        assert "deletionTimestamp" not in found["metadata"]


async def test_an_object_that_was_there_before_is_kept_although_the_run_has_changed_it(cluster: SandboxCluster) -> None:
    await cluster.request("POST", CONFIG_MAPS, {"metadata": {"name": "one"}, "data": {"mine": "x"}})
    await failing(cluster, "two")
    run = await deployed(cluster)
    assert run.failure is not None
    _, found = await cluster.request("GET", f"{CONFIG_MAPS}/one")
    assert found["data"] == {"mine": "x", "a": "b"}
    assert await deletions(cluster) == []
    assert run.card("one").apply is ApplyState.APPLIED


async def test_a_reused_identity_preserves_everything(cluster: SandboxCluster) -> None:
    await failing(cluster, "two")
    identity = Identity(instance="shop", seed=new_id(), defaults={"app_name": "shop"})
    run = await deployed(cluster, identity=identity)
    assert run.failure is not None
    assert run.failure[1] == "apply"
    assert not run.cleaned
    assert await exists(cluster, f"{CONFIG_MAPS}/one")
    assert run.card("one").apply is ApplyState.APPLIED


async def test_a_readiness_timeout_preserves_everything(cluster: SandboxCluster) -> None:
    template = (
        HEAD
        + config_map("one")
        + STATEFUL.replace(
            "{labels: {app: store}}",
            "{labels: {app: store}, annotations: {sandbox.locktender.dev/behaviour: never-ready}}",
        )
    )
    run = await deployed(cluster, template, executor={"readiness_seconds": 0.5})
    assert run.failure is not None
    assert run.failure[0] is FailureReason.READINESS_TIMEOUT
    assert not run.cleaned
    assert await deletions(cluster) == []
    assert await exists(cluster, f"{SETS}/store")


async def test_what_the_plan_refuses_leaves_nothing_to_remove(cluster: SandboxCluster) -> None:
    await cluster.faults({"verb": "patch", "name": "two", "status": 422, "message": "no such colour"})
    run = await deployed(cluster)
    assert run.failure is not None
    assert run.failure[1] == "prepare"
    assert not run.cleaned
    assert run.identity is None
    assert not await exists(cluster, f"{CONFIG_MAPS}/one")


@pytest.mark.parametrize("reason", [AbortReason.CANCELLED, AbortReason.SHUTDOWN, AbortReason.SUPERSEDED])
async def test_a_run_that_is_aborted_while_it_applies_preserves_everything(
    cluster: SandboxCluster, reason: AbortReason
) -> None:
    run = RecordedRun()

    def abort_at_the_second(message: str) -> None:
        if message.startswith("applying ConfigMap two"):
            run.signal.trip(reason)

    run.on_write = abort_at_the_second
    await deployed(cluster, run=run)
    assert run.status == "aborted"
    assert not run.cleaned
    assert await deletions(cluster) == []
    assert await exists(cluster, f"{CONFIG_MAPS}/one")


async def test_a_cancel_amid_the_cleanup_deletes_no_further_and_every_card_stays_true(cluster: SandboxCluster) -> None:
    await failing(cluster, "three")
    held = Held("runner.during-cleanup", after=1)
    run = RecordedRun()
    template = TWO + config_map("three")
    async with asyncio.TaskGroup() as group:
        group.create_task(deployed(cluster, template, run=run, executor={"faults": held}))
        await held.reached.wait()
        during = {card.ref.name: card.apply for card in run.timeline.cards}
        run.signal.trip(AbortReason.CANCELLED)
        held.released.set()
    # What an interruption at this moment would leave on the row claims nothing.
    assert during == {"one": ApplyState.APPLYING, "two": ApplyState.APPLYING, "three": ApplyState.REFUSED}
    assert run.status == "aborted"
    gone = await deletions(cluster)
    assert len(gone) == 1
    for name in ("one", "two"):
        there = await exists(cluster, f"{CONFIG_MAPS}/{name}")
        assert there == (f"configmaps/{name}" not in gone)
        # The answer to the deletion came, and nobody has looked whether the object is gone.
        assert run.card(name).apply is ApplyState.APPLIED
        assert (run.card(name).reason == "removing") == (not there)


async def test_what_cannot_be_removed_is_told_by_name(cluster: SandboxCluster) -> None:
    rules = ({"effect": "deny", "verbs": ["delete"], "resources": ["configmaps"]},)
    token = await cluster.add_token("dev", rules=rules)
    await failing(cluster, "two")
    run = RecordedRun()
    await run.carry_out(template_executor(), template_work(TWO, cluster.kubeconfig_for(token)))
    assert run.failure is not None
    assert "no such colour" in run.failure[2]
    assert "removed 0 objects; these stay, or are not known to be gone: ConfigMap default/one" in run.messages
    card = run.card("one")
    assert card.apply is ApplyState.APPLIED
    assert (card.message or "").startswith("not removed: ")


async def test_a_cluster_that_is_away_bounds_the_cleanup_and_leaves_the_original_failure(
    cluster: SandboxCluster,
) -> None:
    aimed = {"verb": "patch", "name": "two"}
    await cluster.faults(
        aimed | {"count": 1}, aimed | {"status": 503}, {"verb": "list", "resource": "configmaps", "status": 503}
    )
    async with asyncio.timeout(15):
        run = await deployed(cluster, executor={"document": 0.3, "clean_up": 0.5})
    assert run.failure is not None
    assert run.failure[0] is FailureReason.CLUSTER_UNREACHABLE
    assert run.card("one").apply is ApplyState.APPLIED
    assert any("not known to be gone: ConfigMap default/one" in said for said in run.messages)


async def test_namespaces_and_definitions_stay_and_are_told(cluster: SandboxCluster) -> None:
    namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: annex}\n"
    await failing(cluster, "two")
    run = await deployed(cluster, TWO + namespace)
    assert await exists(cluster, "/api/v1/namespaces/annex")
    assert await deletions(cluster) == ["configmaps/one"]
    assert "removed 1 object; these stay, or are not known to be gone: Namespace annex" in run.messages


async def test_an_object_that_somebody_changes_meanwhile_is_looked_at_again(cluster: SandboxCluster) -> None:
    await failing(cluster, "two")
    held = Held("runner.during-cleanup")
    run = RecordedRun()
    async with asyncio.TaskGroup() as group:
        group.create_task(deployed(cluster, run=run, executor={"faults": held}))
        await held.reached.wait()
        taken = {"metadata": {"annotations": {"locktender.dev/task": str(new_id())}}}
        code, _ = await cluster.request(
            "PATCH", f"{CONFIG_MAPS}/one", taken, content_type="application/merge-patch+json"
        )
        assert code == 200
        held.released.set()
    # By now another deployment has applied it, so it is not this run's to delete.
    assert await exists(cluster, f"{CONFIG_MAPS}/one")
    assert run.card("one").apply is ApplyState.APPLIED
    assert any("not known to be gone: ConfigMap default/one" in said for said in run.messages)


async def test_an_object_that_another_run_created_a_moment_before_is_not_removed(cluster: SandboxCluster) -> None:
    """Two deployments of a template without random letters: each sees nothing, one creates, the other writes over."""
    await failing(cluster, "two")
    earlier = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "labels": {INSTANCE: "shop"}},
        "data": {"a": "b"},
    }  # fmt: skip
    codes: list[int] = []

    class Between:
        async def reach(self, name: str) -> None:
            if name == "runner.before-apply" and not codes:
                path = f"{CONFIG_MAPS}/one?fieldManager=locktender"
                code, _ = await cluster.request("PATCH", path, earlier, content_type="application/apply-patch+yaml")
                codes.append(code)

    run = await deployed(cluster, executor={"faults": Between()})
    assert codes == [201]
    assert run.failure is not None
    assert await exists(cluster, f"{CONFIG_MAPS}/one")
    assert await deletions(cluster) == []


async def test_an_object_whose_answer_got_lost_is_left_alone_and_told(cluster: SandboxCluster) -> None:
    await failing(cluster, "two", status=0, drop=True, after=True)
    run = await deployed(cluster, executor={"document": 0.3})
    assert run.failure is not None
    assert run.failure[0] is FailureReason.CLUSTER_UNREACHABLE
    assert await deletions(cluster) == ["configmaps/one"]
    assert run.card("two").apply is ApplyState.APPLYING
    assert any("not known to be gone: ConfigMap two" in said for said in run.messages)


async def test_a_run_that_has_made_nothing_has_nothing_to_remove(cluster: SandboxCluster) -> None:
    await failing(cluster, "one")
    run = await deployed(cluster)
    assert run.failure is not None
    assert run.failure[1] == "apply"
    assert not run.cleaned


def definition(plural: str) -> str:
    return f"""---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.example.org}}
spec:
  group: example.org
  scope: Namespaced
  names: {{kind: Widget, plural: {plural}, singular: widget, listKind: WidgetList}}
  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]
"""


async def test_a_definition_that_is_not_served_once_everything_was_applied_removes_nothing(
    cluster: SandboxCluster,
) -> None:
    first = await deployed(cluster, HEAD + definition("widgets"))
    assert first.status == "completed"
    # The kind is taken by the other definition, so its names are not accepted.
    run = await deployed(cluster, HEAD + definition("gadgets"), executor={"definition": 0.3})
    assert run.failure is not None
    assert run.failure[1] == "apply"
    assert "cannot be used after 0.3 s" in run.failure[2]
    assert not run.cleaned
    assert await deletions(cluster) == []
