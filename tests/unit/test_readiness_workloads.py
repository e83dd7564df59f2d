# ruff: noqa: E501 - one row a line reads as the table it is
"""The truth table of readiness, workloads: what the cluster says about them, and what a person is told."""

from typing import Any

import pytest

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.observed import Related
from locktender.contracts.deployments.readiness import assess
from locktender.testkit.verdicts import Body, Row, cond, ended, event, obj, pod, running, waiting

PENDING, CREATING, RUNNING = CardStatus.PENDING, CardStatus.CREATING, CardStatus.RUNNING
BLOCKED, FAILED = CardStatus.BLOCKED, CardStatus.FAILED

TEMPLATE = {"spec": {"containers": [{"name": "app", "image": "shop:2"}]}}
ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}
TOO_LATE = cond("Progressing", "False", "ProgressDeadlineExceeded", 'ReplicaSet "web-7d9" has timed out progressing.')


def deployment(*conditions: Body, spec: Any = None, seen: int = 2, **status: Any) -> Body:
    spec = {"replicas": 3, "template": TEMPLATE} | (spec or {})
    return obj("apps/v1", "Deployment", spec, {"observedGeneration": seen, "conditions": [*conditions], **status})


def counts(updated: int = 3, total: int = 3, available: int = 3) -> dict[str, int]:
    return {"updatedReplicas": updated, "replicas": total, "availableReplicas": available}


def stateful(spec: Any = None, *, seen: int = 2, **status: Any) -> Body:
    return obj("apps/v1", "StatefulSet", {"replicas": 3} | (spec or {}), {"observedGeneration": seen, **status})


def partition(at: int, **more: Any) -> dict[str, Any]:
    return {"updateStrategy": {"rollingUpdate": {"partition": at}}, **more}


def daemon(spec: Any = None, *, seen: int = 2, wanted: int = 2, updated: int = 2, available: int = 2) -> Body:
    numbers = {"desiredNumberScheduled": wanted, "currentNumberScheduled": wanted, "updatedNumberScheduled": updated}
    return obj("apps/v1", "DaemonSet", spec, {"observedGeneration": seen, "numberAvailable": available, **numbers})


def replica_set(*conditions: Body, total: int = 2, available: int = 2, seen: int = 2) -> Body:
    status = {
        "observedGeneration": seen,
        "replicas": total,
        "availableReplicas": available,
        "conditions": [*conditions],
    }
    return obj("apps/v1", "ReplicaSet", {"replicas": 2}, status)


OLD_BROKEN = pod("web-0", waiting("ErrImagePull", "not found"))
OLD_BROKEN["metadata"]["labels"] = {"controller-revision-hash": "web-a"}

YOUNG = pod("web-0", waiting("ContainerCreating"))
YOUNG["metadata"]["creationTimestamp"] = "2026-01-01T00:00:09Z"

NO_SUCH_CLASS = {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"storageClassName": "nope"}}]}
HOMELESS = pod(
    "web-0", conditions=[cond("PodScheduled", "False", "Unschedulable", "pod has unbound immediate claims.")]
)

DEPLOYMENTS = [
    Row("nothing known yet", obj("apps/v1", "Deployment"), PENDING, "not-observed", "waiting for the controller"),
    Row("all there, for the generation before", deployment(seen=1, **counts()), PENDING, "not-observed"),
    Row("the failure of the generation before", deployment(TOO_LATE, seen=1), PENDING, "not-observed"),
    Row("all there", deployment(**counts()), RUNNING, "ready", "3 of 3 replicas available"),
    Row("no replicas said means one", deployment(spec={"replicas": None}, **counts(1, 1, 1)), RUNNING, "ready", "1 of 1"),
    Row("scaled to zero", deployment(spec={"replicas": 0}), RUNNING, "ready", "0 of 0"),
    Row("scaled to zero, the pods are still there", deployment(spec={"replicas": 0}, **counts(0, 2, 2)), CREATING, "progressing", "2 old replicas have yet to end"),
    Row("not all updated", deployment(**counts(updated=1)), CREATING, "progressing", "1 of 3 replicas updated"),
    Row("old ones remain", deployment(**counts(total=4)), CREATING, "progressing", "1 old replicas have yet to end"),
    Row("not all available", deployment(**counts(available=2)), CREATING, "progressing", "2 of 3 replicas available"),
    Row("ready for less than minReadySeconds", deployment(readyReplicas=3, **counts(available=0)), CREATING, "progressing", "0 of 3"),
    Row("the old ones are available, the new ones are not", deployment(**counts(updated=0)), CREATING, "progressing", "0 of 3 replicas updated"),
    Row("as many as maxUnavailable allows is not all", deployment(cond("Available"), spec={"strategy": {"rollingUpdate": {"maxUnavailable": 1}}}, **counts(available=2)), CREATING, "progressing"),
    Row("paused on the way", deployment(spec={"paused": True}, **counts(updated=1)), BLOCKED, "paused", "paused", "spec.paused"),
    Row("paused, and complete", deployment(spec={"paused": True}, **counts()), RUNNING, "ready"),
    Row("its progress deadline passed", deployment(TOO_LATE), FAILED, "ProgressDeadlineExceeded", "timed out", "kubectl describe"),
    Row("its progress deadline passed, and a pod says why", deployment(TOO_LATE), FAILED, "ProgressDeadlineExceeded", "the image shop:2 of container app", "image name", Related([pod("web-1", waiting("ErrImagePull", "manifest unknown"))])),
    Row("a quota refuses its pods", deployment(cond("ReplicaFailure", reason="FailedCreate", message="exceeded quota: pods=3")), BLOCKED, "FailedCreate", "exceeded quota", "raise the quota"),
    Row("admission refuses its pods", deployment(cond("ReplicaFailure", reason="FailedCreate", message='admission webhook "policy" denied the request')), BLOCKED, "FailedCreate", "denied", "policy objects"),
    Row("pod security refuses its pods", deployment(cond("ReplicaFailure", reason="FailedCreate", message='violates PodSecurity "restricted:latest"')), BLOCKED, "FailedCreate", "PodSecurity", "securityContext"),
    Row("its service account is missing", deployment(cond("ReplicaFailure", reason="FailedCreate", message='serviceaccount "web" not found')), BLOCKED, "FailedCreate", "", "create the service account"),
    Row("a refusal that has passed", deployment(cond("ReplicaFailure", reason="FailedCreate"), **counts()), RUNNING, "ready"),
    Row("being deleted", obj("apps/v1", "Deployment", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["a/b"]), BLOCKED, "Terminating", "finalizer a/b"),
]  # fmt: skip

STATEFUL_SETS = [
    Row("nothing known yet", obj("apps/v1", "StatefulSet"), PENDING, "not-observed"),
    Row("an older generation", stateful(seen=1, updatedReplicas=3, availableReplicas=3, replicas=3), PENDING, "not-observed"),
    Row("a pod without a node, and no such class", stateful(NO_SUCH_CLASS, updatedReplicas=3, replicas=3), BLOCKED, "StorageClassNotFound", "no storage class nope", "fast", Related(pods=(HOMELESS,), storage_classes={"fast": {}})),
    Row("no such class, and nobody has looked", stateful(NO_SUCH_CLASS, updatedReplicas=3, replicas=3), BLOCKED, "Unschedulable", "unbound", None, Related(pods=(HOMELESS,))),
    Row("no such class, and its pods run all the same", stateful(NO_SUCH_CLASS, updatedReplicas=3, availableReplicas=3, replicas=3), RUNNING, "ready", "", None, Related(storage_classes={"fast": {}})),
    Row("all there", stateful(updatedReplicas=3, availableReplicas=3, replicas=3), RUNNING, "ready", "3 of 3"),
    Row("a server that counts ready ones only", stateful(updatedReplicas=3, readyReplicas=3, replicas=3), RUNNING, "ready"),
    Row("ready, and not yet available", stateful(updatedReplicas=3, readyReplicas=3, availableReplicas=2, replicas=3), CREATING, "progressing", "2 of 3 replicas available"),
    Row("not updated", stateful(updatedReplicas=1, availableReplicas=3, replicas=3), CREATING, "progressing", "1 of 3 replicas updated"),
    Row("scaling down", stateful(updatedReplicas=3, availableReplicas=4, replicas=4), CREATING, "progressing", "1 replicas have yet to end"),
    Row("scaled to zero", stateful({"replicas": 0}), RUNNING, "ready"),
    Row("on delete: nothing is updated by itself", stateful(ON_DELETE, updatedReplicas=0, availableReplicas=3, replicas=3), RUNNING, "ready", "updated when deleted"),
    Row("on delete: all have to be available", stateful(ON_DELETE, updatedReplicas=0, availableReplicas=2, replicas=3), CREATING, "progressing"),
    Row("partition: those above it are updated", stateful(partition(2), updatedReplicas=1, availableReplicas=3, replicas=3), RUNNING, "ready", "down to the partition"),
    Row("partition: not reached", stateful(partition(2), updatedReplicas=0, availableReplicas=3, replicas=3), CREATING, "progressing", "0 of 1"),
    Row("partition: above all", stateful(partition(9), updatedReplicas=0, availableReplicas=3, replicas=3), RUNNING, "ready"),
    Row("partition: counted from the first ordinal", stateful(partition(1, ordinals={"start": 5}), updatedReplicas=2, availableReplicas=3, replicas=3), RUNNING, "ready"),
    Row("parallel", stateful({"podManagementPolicy": "Parallel"}, updatedReplicas=3, availableReplicas=1, replicas=3), CREATING, "progressing"),
    Row("currentRevision lags behind after a partition", stateful(currentRevision="web-a", updateRevision="web-b", updatedReplicas=3, availableReplicas=3, replicas=3), RUNNING, "ready"),
    Row("a broken pod of an earlier revision is waited for", stateful(updateRevision="web-b", updatedReplicas=0, availableReplicas=0, replicas=3), BLOCKED, "StuckRevision", "pod web-0 of an earlier revision", "kubectl delete pod web-0", Related([OLD_BROKEN])),
    Row("its pods cannot be created", stateful(replicas=1, updatedReplicas=1), BLOCKED, "FailedCreate", "exceeded quota", "quota", Related(events=[event("FailedCreate", "exceeded quota: pods=1", kind="StatefulSet", name="web")])),
    Row("one could not be created, and a later one was", stateful(replicas=1, updatedReplicas=1), CREATING, "progressing", "", None, Related([YOUNG], [event("FailedCreate", "quota", kind="StatefulSet", name="web", lastTimestamp="2026-01-01T00:00:00Z")])),
    Row("they could not be created once, and now are", stateful(replicas=3, updatedReplicas=3), CREATING, "progressing", "", None, Related([pod()], [event("FailedCreate", "quota", kind="StatefulSet", name="web")])),
]  # fmt: skip

DAEMON_SETS = [
    Row("nothing known yet", obj("apps/v1", "DaemonSet"), PENDING, "not-observed"),
    Row("an older generation", daemon(seen=1, wanted=0), PENDING, "not-observed"),
    Row("everywhere", daemon(), RUNNING, "ready", "available on 2 of 2 nodes"),
    Row("no node matches", daemon(wanted=0, updated=0, available=0), RUNNING, "ready", "no node matches"),
    Row("not updated", daemon(updated=1), CREATING, "progressing", "updated on 1 of 2 nodes"),
    Row("not available", daemon(available=0), CREATING, "progressing", "available on 0 of 2 nodes"),
    Row("as many as maxUnavailable allows is not all", daemon({"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}}, available=1), CREATING, "progressing"),
    Row("on delete: nothing is updated by itself", daemon(ON_DELETE, updated=0), RUNNING, "ready", "updated when deleted"),
    Row("on delete: all have to be available", daemon(ON_DELETE, updated=0, available=1), CREATING, "progressing"),
]  # fmt: skip

REPLICA_SETS = [
    Row("all there", replica_set(), RUNNING, "ready"),
    Row("waiting", replica_set(available=1), CREATING, "progressing", "1 of 2"),
    Row("too many", replica_set(total=3, available=3), CREATING, "progressing", "1 replicas have yet to end"),
    Row("an older generation", replica_set(seen=1), PENDING, "not-observed"),
    Row("its pods cannot be created", replica_set(cond("ReplicaFailure", reason="FailedCreate", message="quota"), total=0), BLOCKED, "FailedCreate"),
    Row("a replication controller", obj("v1", "ReplicationController", {"replicas": 1}, {"observedGeneration": 2, "replicas": 1, "availableReplicas": 1}), RUNNING, "ready"),
    Row("a replication controller on its way", obj("v1", "ReplicationController", {}, {"observedGeneration": 2, "replicas": 1}), CREATING, "progressing"),
]  # fmt: skip


@pytest.mark.parametrize("row", DEPLOYMENTS, ids=str)
def test_deployments(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", STATEFUL_SETS, ids=str)
def test_stateful_sets(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", DAEMON_SETS, ids=str)
def test_daemon_sets(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", REPLICA_SETS, ids=str)
def test_replica_sets_and_replication_controllers(row: Row) -> None:
    row.check()


ON_THE_WAY = deployment(**counts(available=0))


def test_pods_of_an_earlier_deployment_say_nothing_about_this_one() -> None:
    old = pod("web-0", waiting("CrashLoopBackOff", restarts=50, exitCode=1))
    old["spec"]["containers"][0]["image"] = "shop:1"
    rolling = deployment(**counts(updated=1, total=4, available=0))
    assert assess(rolling, Related([old])).status is CREATING
    assert assess(rolling, Related([old, pod("web-1", waiting("ErrImagePull"))])).reason == "ErrImagePull"


def test_the_replica_set_named_by_the_rollout_decides_whose_pods_count() -> None:
    named = cond("Progressing", message='ReplicaSet "web-new" is progressing.')
    rolling = deployment(named, **counts(updated=1, total=4))
    old = pod("web-old-1", waiting("CrashLoopBackOff", restarts=50, exitCode=1))
    new = pod("web-new-1", running(ready=False))
    old["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web-old"}]
    new["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web-new"}]
    assert assess(rolling, Related([old, new])).status is CREATING
    new["status"]["containerStatuses"] = [waiting("ErrImagePull")]
    assert assess(rolling, Related([old, new])).reason == "ErrImagePull"


def test_pods_of_an_earlier_revision_say_nothing_about_a_stateful_set_that_goes_on() -> None:
    rolling = stateful({"podManagementPolicy": "Parallel"}, updateRevision="web-b", replicas=3)
    new = pod("web-2", waiting("ContainerCreating"))
    new["metadata"]["labels"] = {"controller-revision-hash": "web-b"}
    assert assess(rolling, Related([OLD_BROKEN, new])).status is CREATING
    new["status"]["containerStatuses"] = [waiting("ErrImagePull")]
    assert assess(rolling, Related([OLD_BROKEN, new])).reason == "ErrImagePull"


def test_the_trouble_of_a_new_pod_counts_before_the_one_of_an_old_pod_that_is_waited_for() -> None:
    rolling = stateful(updateRevision="web-b", replicas=3)
    new = pod("web-2", waiting("ContainerCreating"))
    new["metadata"]["labels"] = {"controller-revision-hash": "web-b"}
    assert assess(rolling, Related([OLD_BROKEN, new])).reason == "StuckRevision"
    new["status"]["containerStatuses"] = [waiting("ErrImagePull")]
    assert assess(rolling, Related([OLD_BROKEN, new])).reason == "ErrImagePull"


def test_a_pod_that_was_evicted_or_has_ended_is_no_trouble_of_a_complete_workload() -> None:
    over = pod("web-0", ended(137), phase="Failed", reason="Evicted")
    verdict = assess(deployment(**counts()), Related([over]))
    assert (verdict.status, verdict.doubt) == (RUNNING, None)


def test_a_pod_that_is_leaving_is_no_trouble() -> None:
    leaving = pod("web-1", waiting("ErrImagePull"))
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert assess(ON_THE_WAY, Related([leaving])).status is CREATING
