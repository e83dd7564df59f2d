"""What becomes of verdicts in time: patience, progress, doubt, and what a deployment waits for."""

from typing import Any

import pytest

from locktender.contracts.deployments.cards import CardStatus, Grace, Readiness, Trouble, troubled
from locktender.contracts.deployments.observed import NOTHING, Related
from locktender.contracts.deployments.patience import Patience
from locktender.contracts.deployments.readiness import (
    READINESS_ANNOTATION,
    Reads,
    assess,
    is_required,
    pod_selector,
    progress_mark,
    reads,
    settled,
    watches_pods,
)
from locktender.testkit.verdicts import Body, cond, event, obj, pod, running, waiting

CREATING, RUNNING, BLOCKED, FAILED = CardStatus.CREATING, CardStatus.RUNNING, CardStatus.BLOCKED, CardStatus.FAILED
USUAL = Patience()
EXPANDING = {"observedGeneration": 2, "replicas": 1, "desiredNumberScheduled": 1, "startTime": "t", "active": 1}
WORKLOADS = [
    obj("apps/v1", "Deployment", {"template": {"spec": {"containers": []}}}, EXPANDING),
    obj("apps/v1", "StatefulSet", {}, EXPANDING),
    obj("apps/v1", "DaemonSet", {}, EXPANDING),
    obj("apps/v1", "ReplicaSet", {}, EXPANDING),
    obj("v1", "ReplicationController", {}, EXPANDING),
    obj("batch/v1", "Job", {}, EXPANDING),
]


def now(verdict: Readiness, troubled_for: float = 0.0, still_for: float = 0.0) -> Readiness:
    return settled(verdict, troubled_for=troubled_for, still_for=still_for, patience=USUAL)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda body: body["kind"])
def test_a_bad_image_fails_every_kind_of_workload_within_a_minute(workload: Body) -> None:
    began, key = 0.0, None
    for second in range(61):
        # Pulls fail for the first time after a few seconds, and are called by two names in turn from then on.
        reason = "ContainerCreating" if second < 10 else ("ErrImagePull" if second % 7 < 2 else "ImagePullBackOff")
        verdict = assess(workload, Related([pod("web-1", waiting(reason))]))
        if verdict.trouble is None or verdict.trouble.key != key:
            began, key = second, verdict.trouble.key if verdict.trouble else None
        if now(verdict, troubled_for=second - began).status is FAILED:
            break
    else:
        pytest.fail("a minute has passed")
    assert "shop:2" in verdict.message


def test_a_bad_image_of_a_pod_by_itself_fails_within_a_minute() -> None:
    alone = pod("web-1", waiting("ImagePullBackOff"))
    assert now(assess(obj("v1", "Pod", alone["spec"], alone["status"])), troubled_for=45).status is FAILED


@pytest.mark.parametrize("grace", list(Grace))
def test_trouble_counts_once_it_lasted_for_the_patience_of_its_class(grace: Grace) -> None:
    verdict, limit = troubled(Trouble("X", "something", "do something", grace)), USUAL.of(grace)
    assert now(verdict, troubled_for=limit - 0.1).status is BLOCKED
    failed = now(verdict, troubled_for=limit)
    assert (failed.status, failed.message, failed.hint) == (FAILED, "something", "do something")


def test_a_pod_without_a_node_has_more_patience_than_the_others_because_nodes_may_be_on_their_way() -> None:
    assert all(USUAL.schedule > USUAL.of(grace) for grace in Grace if grace is not Grace.SCHEDULE)


def test_the_same_trouble_on_the_pod_that_replaced_the_first_is_the_same_trouble() -> None:
    [first, second] = [assess(WORKLOADS[3], Related([pod(name, waiting("ErrImagePull"))])).trouble for name in "ab"]
    assert first is not None
    assert second is not None
    assert first.key == second.key


@pytest.mark.parametrize(("restarts", "status"), [(1, BLOCKED), (4, BLOCKED), (5, FAILED), (50, FAILED)])
def test_a_crash_loop_counts_by_its_restarts_before_it_counts_by_time(restarts: int, status: CardStatus) -> None:
    verdict = assess(WORKLOADS[0], Related([pod("web-1", waiting("CrashLoopBackOff", restarts=restarts, exitCode=1))]))
    assert now(verdict).status is status
    assert now(verdict, troubled_for=60).status is FAILED


def test_a_crash_loop_that_is_seen_while_the_container_runs_keeps_its_age_and_fails_nothing() -> None:
    down = assess(WORKLOADS[0], Related([pod("web-1", waiting("CrashLoopBackOff", restarts=2, exitCode=1))]))
    up = assess(WORKLOADS[0], Related([pod("web-1", running(restarts=3, ready=False, exitCode=1))]))
    assert down.trouble is not None
    assert up.trouble is not None
    assert up.trouble.key == down.trouble.key
    assert now(up, troubled_for=1e6).status is CREATING
    assert now(down, troubled_for=61).status is FAILED


COMPLETE = obj("apps/v1", "ReplicaSet", {"replicas": 1}, EXPANDING | {"availableReplicas": 1})


def test_what_crashed_lately_is_ready_only_after_it_stayed_up_for_a_while() -> None:
    verdict = assess(COMPLETE, Related([pod("web-1", running(restarts=9, exitCode=1))]))
    early = now(verdict, still_for=USUAL.steady - 0.1)
    assert (early.status, early.reason) == (CREATING, "CrashLoopBackOff")
    assert "9 restarts" in early.message
    assert now(verdict, still_for=USUAL.steady).status is RUNNING
    assert now(assess(COMPLETE, Related([pod("web-1", running())]))).status is RUNNING


def test_an_object_that_no_controller_answered_is_ready_after_a_moment_of_silence() -> None:
    verdict = assess(obj("example.com/v1", "Widget"))
    assert now(verdict).reason == "unanswered"
    assert now(verdict, still_for=USUAL.silence).status is RUNNING


DEADLINE = {"progressDeadlineSeconds": 600}
PROGRESS: list[tuple[str, Body, CardStatus]] = [
    ("Deployment without a deadline", WORKLOADS[0], FAILED),
    ("Deployment with its own", obj("apps/v1", "Deployment", DEADLINE, EXPANDING), CREATING),
    ("Deployment that nobody sees", obj("apps/v1", "Deployment", DEADLINE), FAILED),
    ("Deployment that is paused", obj("apps/v1", "Deployment", DEADLINE | {"paused": True}, EXPANDING), FAILED),
    ("StatefulSet", WORKLOADS[1], FAILED),
    ("DaemonSet", WORKLOADS[2], FAILED),
    ("ReplicaSet", WORKLOADS[3], FAILED),
    ("Job", WORKLOADS[5], FAILED),
    ("Job with its own", obj("batch/v1", "Job", {"activeDeadlineSeconds": 60}, EXPANDING), CREATING),
    ("Pod", obj("v1", "Pod", {}, {"phase": "Running"}), FAILED),
    ("LoadBalancer", obj("v1", "Service", {"type": "LoadBalancer"}), FAILED),
    ("custom", obj("example.com/v1", "Widget", {}, {"conditions": [cond("Ready", "False")]}), FAILED),
    ("Ingress, which may wait for ever", obj("networking.k8s.io/v1", "Ingress"), CREATING),
    ("claim, which may wait for ever", obj("v1", "PersistentVolumeClaim"), CardStatus.PENDING),
]


@pytest.mark.parametrize(("body", "status"), [row[1:] for row in PROGRESS], ids=[row[0] for row in PROGRESS])
def test_what_makes_no_progress_and_has_no_deadline_of_its_own_gets_ours(body: Body, status: CardStatus) -> None:
    late = now(assess(body), still_for=USUAL.progress)
    assert late.status is status
    assert now(assess(body), still_for=USUAL.progress - 1).status is not FAILED
    if status is FAILED:
        assert late.reason == "no-progress"
        assert late.message.startswith("no progress for 600 s: ")


def mark(status: Body, *pods: Body) -> Any:
    return progress_mark(obj("apps/v1", "StatefulSet", {}, status), Related([*pods]))


def test_progress_is_what_brings_an_object_further() -> None:
    start = mark({"replicas": 1}, pod("a", waiting("ContainerCreating")))
    assert mark({"replicas": 2}, pod("a", waiting("ContainerCreating"))) != start
    assert mark({"replicas": 1}, pod("a", running(ready=False))) != start
    assert mark({"replicas": 1}, pod("a", waiting("ContainerCreating")), pod("b")) != start
    assert mark({"replicas": 1, "conditions": [cond("Ready")]}, pod("a", waiting("ContainerCreating"))) != start
    assert mark({"replicas": 1}, pod("a", waiting("ContainerCreating", restarts=1))) != start


def test_what_repeats_the_same_for_ever_is_no_progress() -> None:
    start = mark(
        {"replicas": 1, "conditions": [cond("Ready", "False", message="try 1")]}, pod("a", waiting("ErrImagePull"))
    )
    again = {"replicas": 1, "conditions": [cond("Ready", "False", message="try 2") | {"lastUpdateTime": "now"}]}
    assert mark(again, pod("b", waiting("ImagePullBackOff"))) == start


OPTIONAL = [
    ("v1", "PersistentVolumeClaim"),
    ("v1", "PersistentVolume"),
    ("networking.k8s.io/v1", "Ingress"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("policy/v1", "PodDisruptionBudget"),
    ("gateway.networking.k8s.io/v1", "GatewayClass"),
    ("gateway.networking.k8s.io/v1", "Gateway"),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"),
    ("certificates.k8s.io/v1", "CertificateSigningRequest"),
]
REQUIRED = [
    ("apps/v1", "Deployment"),
    ("batch/v1", "Job"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("example.com/v1", "Widget"),
    ("cert-manager.io/v1", "Certificate"),
    ("example.com/v1", "Ingress"),
]


@pytest.mark.parametrize(("api", "kind"), OPTIONAL)
def test_what_depends_on_somebody_outside_of_the_deployment_is_shown_and_not_waited_for(api: str, kind: str) -> None:
    assert not is_required(obj(api, kind))
    assert is_required(obj(api, kind, annotations={READINESS_ANNOTATION: "required"}))


@pytest.mark.parametrize(("api", "kind"), REQUIRED)
def test_everything_else_is_waited_for(api: str, kind: str) -> None:
    assert is_required(obj(api, kind))
    assert not is_required(obj(api, kind, annotations={READINESS_ANNOTATION: "optional"}))
    assert is_required(obj(api, kind, annotations={READINESS_ANNOTATION: "whatever"}))


def test_an_ingress_that_is_required_gets_a_deadline_and_an_optional_workload_loses_it() -> None:
    ingress = obj("networking.k8s.io/v1", "Ingress", annotations={READINESS_ANNOTATION: "required"})
    assert now(assess(ingress), still_for=USUAL.progress).status is FAILED
    stateful = obj("apps/v1", "StatefulSet", {}, EXPANDING, annotations={READINESS_ANNOTATION: "optional"})
    assert now(assess(stateful), still_for=USUAL.progress).status is CREATING


def test_readiness_that_nobody_asks_for_is_not_looked_at() -> None:
    ignored = obj("apps/v1", "Deployment", annotations={READINESS_ANNOTATION: "ignore"})
    assert (assess(ignored).status, assess(ignored).reason) == (RUNNING, "ignored")
    assert not is_required(ignored)


def test_selectors_find_the_pods_of_workloads() -> None:
    expressions = [
        {"key": "a", "operator": "In", "values": ["x", "z"]},
        {"key": "b", "operator": "NotIn", "values": ["x"]},
        {"key": "c", "operator": "Exists"},
        {"key": "d", "operator": "DoesNotExist"},
    ]
    selector = {"matchLabels": {"app": "web", "tier": "front"}, "matchExpressions": expressions}
    web = obj("apps/v1", "Deployment", {"selector": selector})
    assert pod_selector(web) == "app=web,tier=front,a in (x,z),b notin (x),c,!d"
    assert pod_selector(obj("v1", "ReplicationController", {"selector": {"app": "web"}})) == "app=web"
    assert pod_selector(obj("batch/v1", "Job")) == "batch.kubernetes.io/job-name=web"
    assert pod_selector(obj("v1", "Service", {"selector": {"app": "web"}})) is None
    assert pod_selector(obj("apps/v1", "Deployment")) is None


def test_what_else_is_worth_reading_is_declared_by_kind() -> None:
    assert watches_pods("Deployment")
    assert not watches_pods("Service")
    assert reads(obj("v1", "PersistentVolumeClaim")) == {Reads.EVENTS, Reads.STORAGE_CLASSES}
    assert reads(obj("v1", "ConfigMap")) == frozenset()


def test_patience_is_a_setting() -> None:
    hasty = Patience(image=1, crashes=1)
    verdict = assess(WORKLOADS[3], Related([pod("web-1", waiting("ErrImagePull"))]))
    assert settled(verdict, troubled_for=1, still_for=0, patience=hasty).status is FAILED
    assert settled(assess(WORKLOADS[3], NOTHING), troubled_for=1, still_for=0, patience=hasty).status is CREATING
    refused = Related(events=[event("FailedCreate", "quota", kind="ReplicaSet", name="web")])
    assert assess(WORKLOADS[3], refused).status is CREATING
