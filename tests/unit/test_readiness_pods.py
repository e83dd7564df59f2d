# ruff: noqa: E501 - one row a line reads as the table it is
"""The truth table of readiness, pods: why one is not ready, in words that name pod and container, with a hint."""

from typing import Any

import pytest

from locktender.contracts.deployments.cards import CardStatus, Grace
from locktender.contracts.deployments.observed import Related
from locktender.contracts.deployments.readiness import assess
from locktender.testkit.verdicts import Body, Row, cond, container, ended, event, obj, pod, running, waiting

PENDING, CREATING, RUNNING = CardStatus.PENDING, CardStatus.CREATING, CardStatus.RUNNING
BLOCKED, FAILED, UNKNOWN = CardStatus.BLOCKED, CardStatus.FAILED, CardStatus.UNKNOWN

NO_NODE = cond("PodScheduled", "False", "Unschedulable", "0/3 nodes are available: ")
WIDE = {"finishedAt": "2026-01-01T02:00:00Z", "startedAt": "2026-01-01T01:00:00Z"}


def bare(
    *statuses: Body, init: tuple[Body, ...] = (), conditions: tuple[Body, ...] = (), phase: str = "Running", **spec: Any
) -> Body:
    found = pod("web", *statuses, init=init, phase=phase, conditions=[*conditions])
    return obj("v1", "Pod", found["spec"] | spec, found["status"])


PODS = [
    Row("new", obj("v1", "Pod"), PENDING, "not-observed"),
    Row("ready", bare(running(), conditions=(cond("Ready"),)), RUNNING, "ready"),
    Row("starting", bare(running(ready=False), conditions=(cond("Ready", "False"),)), CREATING, "progressing", "running and not ready"),
    Row("completed", bare(ended(0), phase="Succeeded"), RUNNING, "completed"),
    Row("failed, and how", bare(ended(2), phase="Failed"), FAILED, "PodFailed", "container app of pod web ended with exit code 2", "kubectl logs web"),
    Row("evicted", obj("v1", "Pod", {}, {"phase": "Failed", "reason": "Evicted", "message": "low on disk"}), FAILED, "Evicted", "low on disk", "requests"),
    Row("its node is lost", obj("v1", "Pod", {}, {"phase": "Unknown"}), UNKNOWN, "NodeLost"),
    Row("a readiness gate is closed", bare(running(), conditions=(cond("ContainersReady"), cond("Ready", "False"), cond("lb/ok", "False")), readinessGates=[{"conditionType": "lb/ok"}]), CREATING, "progressing", "readiness gate lb/ok", "sets this condition"),
    Row("a scheduling gate holds it", bare(phase="Pending", conditions=(cond("PodScheduled", "False", "SchedulingGated"),)), CREATING, "progressing", "scheduling gate", "schedulingGates"),
    Row("one container failed and is not started again", bare(ended(3), running(name="side"), restartPolicy="Never"), BLOCKED, "ContainerFailed", "container app ended with exit code 3", "kubectl logs web -c app"),
    Row("no node", bare(phase="Pending", conditions=(NO_NODE | {"message": "0/3 nodes are available: 3 Insufficient cpu."},)), BLOCKED, "Unschedulable", "no node takes pod web: 0/3 nodes", "CPU requests"),
]  # fmt: skip


@pytest.mark.parametrize("row", PODS, ids=str)
def test_pods_by_themselves(row: Row) -> None:
    row.check()


def on_the_way(*pods: Body, events: tuple[Body, ...] = ()) -> tuple[Body, Related]:
    spec = {"replicas": 3, "template": {"spec": {"containers": [{"name": "app", "image": "shop:2"}]}}}
    status = {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 0}
    return obj("apps/v1", "Deployment", spec, status), Related([*pods], [*events])


def of(id: str, reason: str, words: str, hint: str, *pods: Body, events: tuple[Body, ...] = ()) -> Row:  # noqa: A002 - as the field
    body, related = on_the_way(*pods, events=events)
    return Row(id, body, BLOCKED, reason, words, hint, related)


def starting(*events: Body) -> dict[str, Any]:
    return {"events": events}


CREATING_POD = pod("web-1", waiting("ContainerCreating"))
SIDECAR = pod(
    "web-1", waiting("PodInitializing"), init=(waiting("CrashLoopBackOff", restarts=2, name="proxy", exitCode=1),)
)
SIDECAR["spec"]["initContainers"] = [{"name": "proxy", "restartPolicy": "Always"}]

TROUBLE = [
    of("no such tag", "ErrImagePull", "pod web-1: the image shop:2 of container app cannot be pulled: manifest unknown", "name and tag", pod("web-1", waiting("ErrImagePull", "manifest unknown: not found"))),
    of("backing off", "ImagePullBackOff", "(ImagePullBackOff)", "name and tag", pod("web-1", waiting("ImagePullBackOff"))),
    of("no right to the image", "ErrImagePull", "unauthorized", "pull secret", pod("web-1", waiting("ErrImagePull", "unauthorized: authentication required"))),
    of("the pull secret does not exist", "ErrImagePull", "cannot be pulled", "create the pull secret regcred", pod("web-1", waiting("ErrImagePull", "denied")), events=(event("FailedToRetrieveImagePullSecret", "Unable to retrieve some image pull secrets (regcred); attempting to pull the image may not succeed."),)),
    of("the registry limits pulls", "ErrImagePull", "429", "limits pulls", pod("web-1", waiting("ErrImagePull", "429 Too Many Requests"))),
    of("the registry does not answer", "ErrImagePull", "i/o timeout", "nodes can reach it", pod("web-1", waiting("ErrImagePull", "dial tcp: i/o timeout"))),
    of("the registry is not trusted", "ErrImagePull", "x509", "do not trust", pod("web-1", waiting("ErrImagePull", "x509: unknown authority"))),
    of("another architecture", "ErrImagePull", "no match for platform", "architecture of the nodes", pod("web-1", waiting("ErrImagePull", "no match for platform in manifest"))),
    of("never to be pulled", "ErrImageNeverPull", "shop:2", "image name", pod("web-1", waiting("ErrImageNeverPull", "image is not present with pull policy of Never"))),
    of("no image name", "InvalidImageName", "shop:2", "registry/repository:tag", pod("web-1", waiting("InvalidImageName", "couldn't parse"))),
    of("an init container's image", "ErrImagePull", "of init container migrate", "name and tag", pod("web-1", waiting("PodInitializing"), init=(waiting("ErrImagePull", name="migrate"),))),
    of("a secret is missing", "CreateContainerConfigError", 'container app cannot be created: secret "db" not found', "create the Secret or ConfigMap", pod("web-1", waiting("CreateContainerConfigError", 'secret "db" not found'))),
    of("a key is missing", "CreateContainerConfigError", "couldn't find key", "correct the name or key", pod("web-1", waiting("CreateContainerConfigError", "couldn't find key URL in Secret shop/db"))),
    of("it may not run as root", "CreateContainerConfigError", "runAsNonRoot", "runs as root", pod("web-1", waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"))),
    of("no command", "CreateContainerError", "no command specified", "check command", pod("web-1", waiting("CreateContainerError", "no command specified"))),
    of("the runtime refuses", "RunContainerError", "executable file not found", "the image holds them", pod("web-1", waiting("RunContainerError", 'exec: "nope": executable file not found in $PATH'))),
    of("it keeps crashing", "CrashLoopBackOff", "container app keeps ending with exit code 1, 4 restarts", "kubectl logs web-1 -c app --previous", pod("web-1", waiting("CrashLoopBackOff", restarts=4, exitCode=1, reason="Error"))),
    of("out of memory", "CrashLoopBackOff", "exit code 137 (OOMKilled, SIGKILL)", "memory limit", pod("web-1", waiting("CrashLoopBackOff", restarts=2, exitCode=137, reason="OOMKilled"))),
    of("a segmentation fault", "CrashLoopBackOff", "SIGSEGV", "segmentation fault", pod("web-1", waiting("CrashLoopBackOff", restarts=2, exitCode=139))),
    of("its command is not in the image", "CrashLoopBackOff", "exit code 127", "does not exist in the image", pod("web-1", waiting("CrashLoopBackOff", restarts=2, exitCode=127))),
    of("it completes, and is started again for ever", "CrashLoopBackOff", "exit code 0 (Completed)", "run it as a Job", pod("web-1", waiting("CrashLoopBackOff", restarts=2, exitCode=0, reason="Completed"))),
    of("it could never be started", "CrashLoopBackOff", "StartError): exec: nope", "check command and args", pod("web-1", waiting("CrashLoopBackOff", restarts=2, exitCode=128, reason="StartError", message="exec: nope"))),
    of("its own last words are not repeated", "CrashLoopBackOff", "keeps ending with exit code 1, 2 restarts", "", pod("web-1", waiting("CrashLoopBackOff", restarts=2, exitCode=1, message="password=hunter2"))),
    of("down between two starts", "CrashLoopBackOff", "keeps ending with exit code 7, 1 restart", "kubectl logs", pod("web-1", ended(7, restarts=1))),
    of("an init container crashes", "CrashLoopBackOff", "init container migrate keeps ending", "-c migrate", pod("web-1", waiting("PodInitializing"), init=(waiting("CrashLoopBackOff", restarts=2, name="migrate", exitCode=1),))),
    of("a sidecar crashes", "CrashLoopBackOff", "sidecar proxy keeps ending", "-c proxy", SIDECAR),
    of("a secret to mount is missing", "FailedMount", 'secret "tls" not found', "create the Secret or ConfigMap", CREATING_POD, events=(event("FailedMount", 'MountVolume.SetUp failed for volume "tls" : secret "tls" not found'),)),
    of("a volume is held elsewhere", "FailedAttachVolume", "cannot be attached: Multi-Attach error", "no other node", CREATING_POD, events=(event("FailedAttachVolume", "Multi-Attach error for volume pvc-1"),)),
    of("a volume does not mount", "FailedMount", "cannot be mounted: timed out", "volume exists", CREATING_POD, events=(event("FailedMount", "timed out waiting for the condition"),)),
    of("no network for it", "FailedCreatePodSandBox", "sandbox", "network plugin", CREATING_POD, events=(event("FailedCreatePodSandBox", "cni failed"),)),
    of("too little cpu", "Unschedulable", "Insufficient cpu", "lower its CPU requests", pod("web-1", conditions=[NO_NODE | {"message": "3 Insufficient cpu."}])),
    of("too little memory", "Unschedulable", "Insufficient memory", "lower its memory requests", pod("web-1", conditions=[NO_NODE | {"message": "3 Insufficient memory."}])),
    of("no such device", "Unschedulable", "nvidia.com/gpu", "with what it asks for", pod("web-1", conditions=[NO_NODE | {"message": "3 Insufficient nvidia.com/gpu."}])),
    of("no node with these labels", "Unschedulable", "didn't match", "nodeSelector and affinity", pod("web-1", conditions=[NO_NODE | {"message": "3 node(s) didn't match Pod's node affinity/selector."}])),
    of("taints", "Unschedulable", "untolerated taint", "tolerations", pod("web-1", conditions=[NO_NODE | {"message": "3 node(s) had untolerated taint {gpu: true}."}])),
    of("claims that are not bound", "Unschedulable", "unbound", "why its claims", pod("web-1", conditions=[NO_NODE | {"message": "pod has unbound immediate PersistentVolumeClaims."}])),
    of("a claim that does not exist", "Unschedulable", "data", "create the claim data", pod("web-1", conditions=[NO_NODE | {"message": 'persistentvolumeclaim "data" not found'}])),
    of("no node, says an event only", "Unschedulable", "Too many pods", "nodes are full", pod("web-1"), events=(event("FailedScheduling", "0/3 nodes are available: 3 Too many pods."),)),
]  # fmt: skip


@pytest.mark.parametrize("row", TROUBLE, ids=str)
def test_trouble_of_a_pod_is_told_with_pod_container_and_hint(row: Row) -> None:
    row.check()
    verdict = assess(row.body, row.related)
    assert verdict.trouble is not None
    assert verdict.trouble.pod == "web-1"
    assert "web-1" in verdict.message
    assert "hunter2" not in repr(verdict)


def on(id: str, words: str, *pods: Body, events: tuple[Body, ...] = ()) -> Row:  # noqa: A002 - as the field
    body, related = on_the_way(*pods, events=events)
    return Row(id, body, CREATING, "progressing", words, None, related)


UP = pod("web-1", running(ready=False), phase="Running")
NO_TROUBLE = [
    on("the readiness probe gets an error", "the readiness probe of container app answers with status 503", UP, events=(event("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503", involvedObject={"kind": "Pod", "name": "web-1", "fieldPath": "spec.containers{app}"}),)),
    on("the liveness probe finds nobody", "the liveness probe finds nobody listening", UP, events=(event("Unhealthy", 'Liveness probe failed: Get "http://10.0.0.1/": dial tcp: connect: connection refused'),)),
    on("the startup probe gets no answer", "the startup probe gets no answer in time", UP, events=(event("Unhealthy", "Startup probe failed: context deadline exceeded"),)),
    on("what a probe prints is not repeated", "the readiness probe fails", UP, events=(event("Unhealthy", "Readiness probe failed: password=hunter2"),)),
    on("an event about another pod", "0 of 3 replicas available", UP, events=(event("Unhealthy", "Readiness probe failed: no", name="web-9"),)),
    on("a mount that failed before the container ran", "0 of 3 replicas available", UP, events=(event("FailedMount", "timed out"),)),
    on("a node that was missing before there was one", "0 of 3 replicas available", pod("web-1", conditions=[cond("PodScheduled")]), events=(event("FailedScheduling", "Insufficient cpu"),)),
    on("it crashed, and runs again", "container app ended with exit code 1, 1 restart", pod("web-1", running(restarts=1, ready=False, exitCode=1))),
    on("it ended after a long run", "0 of 3 replicas available", pod("web-1", running(restarts=1, ready=False, exitCode=1, **WIDE))),
    on("its init container has ended well, at last", "0 of 3 replicas available", pod("web-1", waiting("PodInitializing"), init=(ended(0, restarts=2, name="migrate"),))),
    on("a pod was evicted", "pod web-1 was evicted: low on disk", pod("web-1", phase="Failed", reason="Evicted", message="low on disk")),
]  # fmt: skip


@pytest.mark.parametrize("row", NO_TROUBLE, ids=str)
def test_what_may_pass_by_itself_is_told_and_is_no_trouble(row: Row) -> None:
    row.check()
    verdict = assess(row.body, row.related)
    assert verdict.trouble is None or verdict.trouble.latent
    assert "hunter2" not in repr(verdict)


def test_the_trouble_that_needs_the_least_patience_is_told_first() -> None:
    homeless = pod("web-1", conditions=[NO_NODE])
    crashing = pod("web-2", waiting("CrashLoopBackOff", restarts=9, exitCode=1))
    unpullable = pod("web-3", waiting("ErrImagePull"))
    seen = assess(*on_the_way(homeless, crashing, unpullable)).trouble
    assert seen is not None
    assert (seen.grace, seen.pod) == (Grace.IMAGE, "web-3")


def test_a_workload_that_is_complete_is_ready_whatever_a_pod_says_about_its_image() -> None:
    body, related = on_the_way(pod("web-1", waiting("ErrImagePull")))
    body["status"]["availableReplicas"] = 3
    assert assess(body, related).status is RUNNING


def test_long_and_broken_texts_become_one_bounded_line() -> None:
    verdict = assess(*on_the_way(pod("web-1", waiting("ErrImagePull", "line\n\t two " + "x" * 10_000))))
    assert "line two xxx" in verdict.message
    assert len(verdict.message) <= 300
    assert container({}, restarts=0, name="app", ready=True)["lastState"] == {}
