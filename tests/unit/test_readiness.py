# ruff: noqa: E501 - one row a line reads as the table it is
"""The truth table of readiness: what a cluster says, and what a person is told."""

from typing import Any

import pytest

from locktender.contracts.deployments.readiness import (
    CardStatus,
    assess,
    is_required,
    pod_selector,
    settled,
    watches_pods,
)

PENDING, CREATING, RUNNING = CardStatus.PENDING, CardStatus.CREATING, CardStatus.RUNNING
BLOCKED, FAILED = CardStatus.BLOCKED, CardStatus.FAILED

TEMPLATE = {"spec": {"containers": [{"name": "app", "image": "shop:2"}]}}


def obj(kind: str, api: str, spec: Any = None, status: Any = None, generation: int = 2) -> dict[str, Any]:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "web", "generation": generation},
        "spec": spec or {},
        "status": status or {},
    }


def cond(kind: str, status: str = "True", reason: str = "R", message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def deployment(*conditions: Any, spec: Any = None, observed: int = 2, **status: Any) -> dict[str, Any]:
    spec = {"replicas": 3, "template": TEMPLATE} | (spec or {})
    return obj("Deployment", "apps/v1", spec, {"observedGeneration": observed, "conditions": [*conditions], **status})


def full(updated: int = 3, total: int = 3, available: int = 3) -> dict[str, int]:
    return {"updatedReplicas": updated, "replicas": total, "availableReplicas": available}


def stateful(spec: Any = None, **status: Any) -> dict[str, Any]:
    return obj("StatefulSet", "apps/v1", {"replicas": 3} | (spec or {}), {"observedGeneration": 2, **status})


def daemon(spec: Any = None, observed: int = 2, **status: Any) -> dict[str, Any]:
    return obj("DaemonSet", "apps/v1", spec, {"observedGeneration": observed, **status})


def job(*conditions: Any, spec: Any = None, **status: Any) -> dict[str, Any]:
    return obj("Job", "batch/v1", spec, {"conditions": [*conditions], **status})


def core(kind: str, spec: Any = None, **status: Any) -> dict[str, Any]:
    return obj(kind, "v1", spec, status)


def lost(reason: str, message: str) -> dict[str, Any]:
    return {"type": "Warning", "reason": reason, "message": message}


INGRESS = {"ingress": [{"ip": "10.0.0.1"}]}
ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}
PARTITION = {"updateStrategy": {"rollingUpdate": {"partition": 2}}}
CUSTOM = "example.com/v1"

TABLE: list[tuple[str, dict[str, Any], CardStatus, str]] = [
    ("nothing known yet", obj("Deployment", "apps/v1"), PENDING, "not-observed"),
    ("an older generation", deployment(observed=1, **full()), PENDING, "not-observed"),
    ("an older failure", deployment(cond("Progressing", "False", "ProgressDeadlineExceeded"), observed=1), PENDING, "not-observed"),
    ("all there", deployment(**full()), RUNNING, "ready"),
    ("default of one replica", deployment(spec={"replicas": None}, **full(1, 1, 1)), RUNNING, "ready"),
    ("scaled to zero", deployment(spec={"replicas": 0}), RUNNING, "ready"),
    ("not all updated", deployment(**full(updated=1)), CREATING, "progressing"),
    ("old ones remain", deployment(**full(total=4)), CREATING, "progressing"),
    ("not all available", deployment(**full(available=2)), CREATING, "progressing"),
    ("old ones are available, new ones are not", deployment(**full(updated=0)), CREATING, "progressing"),
    ("paused", deployment(spec={"paused": True}, **full(updated=1)), BLOCKED, "paused"),
    ("no progress", deployment(cond("Progressing", "False", "ProgressDeadlineExceeded")), FAILED, "ProgressDeadlineExceeded"),
    ("quota", deployment(cond("ReplicaFailure", reason="FailedCreate", message="exceeded quota")), BLOCKED, "FailedCreate"),
    ("an old refusal", deployment(cond("ReplicaFailure", reason="FailedCreate"), **full()), RUNNING, "ready"),
    ("set: ready", stateful(updatedReplicas=3, availableReplicas=3, replicas=3), RUNNING, "ready"),
    ("set: old server", stateful(updatedReplicas=3, readyReplicas=3, replicas=3), RUNNING, "ready"),
    ("set: not available", stateful(updatedReplicas=3, readyReplicas=3, availableReplicas=2, replicas=3), CREATING, "progressing"),
    ("set: not updated", stateful(updatedReplicas=1, availableReplicas=3, replicas=3), CREATING, "progressing"),
    ("set: scaling down", stateful(updatedReplicas=3, availableReplicas=4, replicas=4), CREATING, "progressing"),
    ("set: on delete", stateful(ON_DELETE, updatedReplicas=0, availableReplicas=3, replicas=3), RUNNING, "ready"),
    ("set: partition", stateful(PARTITION, updatedReplicas=1, availableReplicas=3, replicas=3), RUNNING, "ready"),
    ("set: partition not reached", stateful(PARTITION, updatedReplicas=0, availableReplicas=3), CREATING, "progressing"),
    ("set: unobserved", obj("StatefulSet", "apps/v1"), PENDING, "not-observed"),
    ("daemon: everywhere", daemon(desiredNumberScheduled=2, updatedNumberScheduled=2, numberAvailable=2), RUNNING, "ready"),
    ("daemon: nowhere to go", daemon(desiredNumberScheduled=0), RUNNING, "ready"),
    ("daemon: not updated", daemon(desiredNumberScheduled=2, updatedNumberScheduled=1, numberAvailable=2), CREATING, "progressing"),
    ("daemon: not available", daemon(desiredNumberScheduled=2, updatedNumberScheduled=2), CREATING, "progressing"),
    ("daemon: on delete", daemon(ON_DELETE, desiredNumberScheduled=2, numberAvailable=2), RUNNING, "ready"),
    ("daemon: unobserved", daemon(observed=1, desiredNumberScheduled=0), PENDING, "not-observed"),
    ("replica set", obj("ReplicaSet", "apps/v1", {"replicas": 1}, {"observedGeneration": 2, "replicas": 1, "availableReplicas": 1}),
     RUNNING, "ready"),
    ("replica set: waiting", obj("ReplicaSet", "apps/v1", {}, {"observedGeneration": 2, "replicas": 1}), CREATING, "progressing"),
    ("job: complete", job(cond("Complete")), RUNNING, "completed"),
    ("job: failed", job(cond("Failed", reason="BackoffLimitExceeded", message="too often")), FAILED, "BackoffLimitExceeded"),
    ("job: suspended", job(spec={"suspend": True}), RUNNING, "suspended"),
    ("job: unseen", job(), PENDING, "not-observed"),
    ("job: under way", job(startTime="t", active=1), CREATING, "progressing"),
    ("cron job", obj("CronJob", "batch/v1", {"suspend": True}), RUNNING, "applied"),
    ("claim: bound", core("PersistentVolumeClaim", phase="Bound"), RUNNING, "bound"),
    ("claim: pending", core("PersistentVolumeClaim", phase="Pending"), PENDING, "unbound"),
    ("claim: lost", core("PersistentVolumeClaim", phase="Lost"), FAILED, "Lost"),
    ("volume: available", core("PersistentVolume", phase="Available"), RUNNING, "ready"),
    ("volume: failed", core("PersistentVolume", phase="Failed"), FAILED, "Failed"),
    ("volume: new", core("PersistentVolume"), PENDING, "not-observed"),
    ("service", core("Service", {"type": "ClusterIP", "selector": {"a": "b"}}), RUNNING, "ready"),
    ("service: external name", core("Service", {"type": "ExternalName"}), RUNNING, "ready"),
    ("service: no selector", core("Service", {}), RUNNING, "ready"),
    ("service: no address", core("Service", {"type": "LoadBalancer"}), CREATING, "no-address"),
    ("service: address", core("Service", {"type": "LoadBalancer"}, loadBalancer=INGRESS), RUNNING, "ready"),
    ("ingress: no address", obj("Ingress", "networking.k8s.io/v1"), CREATING, "no-address"),
    ("ingress: address", obj("Ingress", "networking.k8s.io/v1", {}, {"loadBalancer": INGRESS}), RUNNING, "ready"),
    ("autoscaler: new", obj("HorizontalPodAutoscaler", "autoscaling/v2"), PENDING, "not-observed"),
    ("autoscaler: active", obj("HorizontalPodAutoscaler", "autoscaling/v2", {}, {"conditions": [cond("ScalingActive")]}), RUNNING, "ready"),
    ("autoscaler: no metrics",
     obj("HorizontalPodAutoscaler", "autoscaling/v2", {}, {"conditions": [cond("ScalingActive", "False", "FailedGet")]}),
     BLOCKED, "FailedGet"),
    ("autoscaler: target at zero",
     obj("HorizontalPodAutoscaler", "autoscaling/v2", {}, {"conditions": [cond("ScalingActive", "False", "ScalingDisabled")]}),
     RUNNING, "ready"),
    ("budget: seen", obj("PodDisruptionBudget", "policy/v1", {}, {"observedGeneration": 2}), RUNNING, "ready"),
    ("budget: unseen", obj("PodDisruptionBudget", "policy/v1"), PENDING, "not-observed"),
    ("definition: new", obj("CustomResourceDefinition", "apiextensions.k8s.io/v1"), CREATING, "progressing"),
    ("definition: established",
     obj("CustomResourceDefinition", "apiextensions.k8s.io/v1", {}, {"conditions": [cond("Established")]}), RUNNING, "ready"),
    ("definition: names taken",
     obj("CustomResourceDefinition", "apiextensions.k8s.io/v1", {}, {"conditions": [cond("NamesAccepted", "False", "Taken")]}),
     FAILED, "Taken"),
    ("namespace: active", core("Namespace", phase="Active"), RUNNING, "ready"),
    ("namespace: going", core("Namespace", phase="Terminating"), BLOCKED, "Terminating"),
    ("namespace: new", core("Namespace"), PENDING, "not-observed"),
    ("pod: ready", core("Pod", phase="Running", conditions=[cond("Ready")]), RUNNING, "ready"),
    ("pod: completed", core("Pod", phase="Succeeded"), RUNNING, "completed"),
    ("pod: failed", core("Pod", phase="Failed", reason="Evicted", message="low on disk"), FAILED, "Evicted"),
    ("pod: starting", core("Pod", phase="Running", conditions=[cond("Ready", "False")]), CREATING, "progressing"),
    ("pod: new", core("Pod"), PENDING, "not-observed"),
    ("pod: no node", core("Pod", phase="Pending", conditions=[cond("PodScheduled", "False", "Unschedulable", "0/3 nodes")]),
     BLOCKED, "Unschedulable"),
    ("config map", core("ConfigMap"), RUNNING, "applied"),
    ("secret", core("Secret"), RUNNING, "applied"),
    ("role", obj("Role", "rbac.authorization.k8s.io/v1"), RUNNING, "applied"),
    ("storage class", obj("StorageClass", "storage.k8s.io/v1"), RUNNING, "applied"),
    ("api service: available", obj("APIService", "apiregistration.k8s.io/v1", {}, {"conditions": [cond("Available")]}), RUNNING, "ready"),
    ("api service: new", obj("APIService", "apiregistration.k8s.io/v1"), CREATING, "progressing"),
    ("custom: silent", obj("Widget", CUSTOM), RUNNING, "applied"),
    ("custom: ready", obj("Widget", CUSTOM, {}, {"conditions": [cond("Ready")]}), RUNNING, "ready"),
    ("custom: not ready", obj("Widget", CUSTOM, {}, {"conditions": [cond("Ready", "False", "Waiting")]}), CREATING, "Waiting"),
    ("custom: unknown", obj("Widget", CUSTOM, {}, {"conditions": [cond("Ready", "Unknown")]}), CREATING, "R"),
    ("custom: ready for an older generation",
     obj("Widget", CUSTOM, {}, {"observedGeneration": 1, "conditions": [cond("Ready")]}), PENDING, "not-observed"),
    ("custom: reconciling", obj("Widget", CUSTOM, {}, {"conditions": [cond("Ready"), cond("Reconciling")]}), CREATING, "R"),
    ("custom: stalled", obj("Widget", CUSTOM, {}, {"conditions": [cond("Stalled", reason="Broken")]}), FAILED, "Broken"),
    ("custom with a familiar name", obj("Deployment", CUSTOM), RUNNING, "applied"),
    ("gateway: not ready", obj("Gateway", "gateway.networking.k8s.io/v1", {}, {"conditions": [cond("Ready", "False")]}), CREATING, "R"),
]  # fmt: skip


@pytest.mark.parametrize(("observed", "status", "reason"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_the_truth_table(observed: dict[str, Any], status: CardStatus, reason: str) -> None:
    verdict = assess(observed)
    assert (verdict.status, verdict.reason) == (status, reason)
    assert verdict.message


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_nothing_that_is_being_deleted_is_ready(row: tuple[str, dict[str, Any], CardStatus, str]) -> None:
    leaving = row[1] | {"metadata": {**row[1]["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert assess(leaving).reason == "Terminating"
    assert assess(leaving).status is BLOCKED


def pod(name: str = "web-1", image: str = "shop:2", labels: Any = None, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"containers": [{"name": "app", "image": image}]},
        "status": {"phase": "Pending", **status},
    }


def waiting(reason: str, message: str = "", restarts: int = 0, **last: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": "app",
            "image": "shop:2",
            "restartCount": restarts,
            "state": {"waiting": {"reason": reason, "message": message}},
            "lastState": {"terminated": last} if last else {},
        }
    ]


ON_THE_WAY = deployment(**full(available=0))


@pytest.mark.parametrize("field", ["containerStatuses", "initContainerStatuses"])
@pytest.mark.parametrize(
    ("reason", "message", "hint"),
    [
        ("ErrImagePull", "manifest unknown: not found", "name and tag"),
        ("ImagePullBackOff", "unauthorized: authentication required", "pull secret"),
        ("InvalidImageName", "couldn't parse image", "registry/repository:tag"),
        ("CreateContainerConfigError", 'secret "db" not found', "create the Secret or ConfigMap"),
        ("CreateContainerError", "no command specified", "check command"),
    ],
)
def test_trouble_of_a_container_is_told_with_pod_container_and_hint(
    field: str, reason: str, message: str, hint: str
) -> None:
    verdict = assess(ON_THE_WAY, [pod(**{field: waiting(reason, message)})])
    assert verdict.status is BLOCKED
    trouble = verdict.trouble
    assert trouble is not None
    assert (trouble.reason, trouble.pod, trouble.container) == (reason, "web-1", "app")
    assert message in verdict.message
    assert hint in (verdict.hint or "")
    assert 0 < trouble.grace_seconds <= 40


def test_trouble_counts_once_it_lasted_longer_than_its_grace() -> None:
    verdict = assess(ON_THE_WAY, [pod(containerStatuses=waiting("ImagePullBackOff"))])
    assert verdict.trouble is not None
    grace = verdict.trouble.grace_seconds
    assert settled(verdict, troubled_for=grace - 0.1).status is BLOCKED
    assert settled(verdict, troubled_for=grace).status is FAILED
    assert settled(verdict, troubled_for=grace).message == verdict.message
    assert settled(assess(ON_THE_WAY), troubled_for=1e9).status is CREATING


def test_the_same_trouble_on_the_pod_that_replaced_the_first_is_the_same_trouble() -> None:
    first = assess(ON_THE_WAY, [pod("web-1", containerStatuses=waiting("ErrImagePull"))]).trouble
    second = assess(ON_THE_WAY, [pod("web-2", containerStatuses=waiting("ErrImagePull"))]).trouble
    assert first is not None
    assert second is not None
    assert first.key == second.key


@pytest.mark.parametrize(("restarts", "status"), [(0, CREATING), (2, CREATING), (3, BLOCKED), (9, BLOCKED)])
def test_a_crash_loop_counts_after_three_restarts(restarts: int, status: CardStatus) -> None:
    verdict = assess(ON_THE_WAY, [pod(containerStatuses=waiting("CrashLoopBackOff", restarts=restarts, exitCode=1))])
    assert verdict.status is status
    if status is BLOCKED:
        assert settled(verdict, troubled_for=0).status is FAILED
        assert "exit code 1" in verdict.message
        assert "kubectl logs web-1 -c app --previous" in (verdict.hint or "")


def test_running_out_of_memory_is_told_as_such() -> None:
    statuses = waiting("CrashLoopBackOff", restarts=5, exitCode=137)
    statuses[0]["lastState"]["terminated"]["reason"] = "OOMKilled"
    assert "memory limit" in (assess(ON_THE_WAY, [pod(containerStatuses=statuses)]).hint or "")


def test_a_ready_workload_is_ready_whatever_a_pod_says() -> None:
    assert assess(deployment(**full()), [pod(containerStatuses=waiting("ErrImagePull"))]).status is RUNNING


def test_pods_of_an_earlier_deployment_say_nothing_about_this_one() -> None:
    old = pod(image="shop:1", containerStatuses=waiting("CrashLoopBackOff", restarts=50))
    rolling = deployment(**full(updated=1, total=4, available=0))
    assert assess(rolling, [old]).status is CREATING
    assert assess(rolling, [old, pod(containerStatuses=waiting("ErrImagePull"))]).reason == "ErrImagePull"


def test_the_replica_set_named_by_the_rollout_decides_whose_pods_count() -> None:
    rolling = deployment(
        cond("Progressing", message='ReplicaSet "web-new" is progressing.'), **full(updated=1, total=4)
    )
    old = pod("web-old-1", containerStatuses=waiting("CrashLoopBackOff", restarts=50))
    new = pod("web-new-1", image="mirror/shop:2")
    old["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web-old"}]
    new["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web-new"}]
    assert assess(rolling, [old, new]).status is CREATING
    new["status"]["containerStatuses"] = waiting("ErrImagePull")
    assert assess(rolling, [old, new]).reason == "ErrImagePull"


def test_pods_of_an_earlier_revision_say_nothing_about_a_stateful_set() -> None:
    rolling = stateful(updateRevision="web-2", replicas=3)
    old = pod(labels={"controller-revision-hash": "web-1"}, containerStatuses=waiting("ErrImagePull"))
    new = pod(labels={"controller-revision-hash": "web-2"}, containerStatuses=waiting("ErrImagePull"))
    assert assess(rolling, [old]).status is CREATING
    assert assess(rolling, [new]).reason == "ErrImagePull"


def test_a_pod_that_is_leaving_is_no_trouble() -> None:
    leaving = pod(containerStatuses=waiting("ErrImagePull"))
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert assess(ON_THE_WAY, [leaving]).status is CREATING


def test_missing_progress_is_explained_by_the_pods() -> None:
    stuck = deployment(cond("Progressing", "False", "ProgressDeadlineExceeded"), **full(available=0))
    verdict = assess(stuck, [pod(containerStatuses=waiting("ErrImagePull", "not found"))])
    assert verdict.status is FAILED
    assert "shop:2" in verdict.message


@pytest.mark.parametrize("workload", [stateful(), daemon(desiredNumberScheduled=1), job(startTime="t")])
def test_pods_that_cannot_be_created_are_told_from_events(workload: dict[str, Any]) -> None:
    verdict = assess(workload, [], [lost("FailedCreate", "exceeded quota: pods=3")])
    assert (verdict.status, verdict.reason) == (BLOCKED, "FailedCreate")
    assert "quota" in (verdict.hint or "")


def test_a_pod_without_a_node_blocks_and_may_still_proceed() -> None:
    verdict = assess(ON_THE_WAY, [pod(conditions=[cond("PodScheduled", "False", "Unschedulable", "0/3 nodes")])])
    assert (verdict.status, verdict.reason, verdict.trouble) == (BLOCKED, "Unschedulable", None)
    assert "0/3 nodes" in verdict.message


def test_a_claim_that_waits_for_a_pod_is_no_failure_and_not_required() -> None:
    claim = core("PersistentVolumeClaim", phase="Pending")
    assert assess(claim, [], [lost("WaitForFirstConsumer", "")]).reason == "WaitForFirstConsumer"
    assert assess(claim, [], [lost("ProvisioningFailed", "no class")]).status is BLOCKED
    assert not is_required(claim)


def test_what_depends_on_others_is_not_required_and_everything_else_is() -> None:
    optional = {row[1]["kind"] for row in TABLE if not is_required(row[1])}
    assert optional == {
        "PersistentVolumeClaim",
        "PersistentVolume",
        "Ingress",
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
    }


def test_selectors_find_the_pods_of_workloads() -> None:
    expressions = [
        {"key": "a", "operator": "In", "values": ["x", "z"]},
        {"key": "b", "operator": "NotIn", "values": ["x"]},
        {"key": "c", "operator": "Exists"},
        {"key": "d", "operator": "DoesNotExist"},
    ]
    selector = {"matchLabels": {"app": "web", "tier": "front"}, "matchExpressions": expressions}
    web = obj("Deployment", "apps/v1", {"selector": selector})
    assert pod_selector(web) == "app=web,tier=front,a in (x,z),b notin (x),c,!d"
    assert pod_selector(core("ReplicationController", {"selector": {"app": "web"}})) == "app=web"
    assert pod_selector(job()) == "batch.kubernetes.io/job-name=web"
    assert pod_selector(core("Service", {"selector": {"app": "web"}})) is None
    assert pod_selector(obj("Deployment", "apps/v1")) is None
    assert watches_pods("Deployment")
    assert not watches_pods("Service")


NONSENSE: list[object] = [None, 7, "text", [], [None], {"conditions": 7}, {"conditions": [7]}, {"phase": {}}]


@pytest.mark.parametrize("kind", sorted({row[1]["kind"] for row in TABLE}))
@pytest.mark.parametrize("broken", NONSENSE, ids=repr)
def test_nonsense_from_a_cluster_never_raises(kind: str, broken: object) -> None:
    api = next(row[1]["apiVersion"] for row in TABLE if row[1]["kind"] == kind)
    assess(
        {"apiVersion": api, "kind": kind, "metadata": broken, "spec": broken, "status": broken},
        [{"status": broken}],
        [{}],
    )
    assess({}, [{}], [{}])
