"""What the controllers of the sandbox cluster make of workloads, good and bad."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.cluster_rig import APPS, BATCH, BEHAVIOUR, CORE, create, until


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster(pace=0.02) as running:
        yield running


def pod_template(name: str, image: str = "nginx:1", **more: Any) -> dict[str, Any]:
    annotations = {BEHAVIOUR: more.pop("behaviour")} if "behaviour" in more else {}
    container = {"name": "main", "image": image} | more.pop("container", {})
    return {
        "metadata": {"labels": {"app": name}, "annotations": annotations},
        "spec": {"containers": [container]} | more,
    }


def workload(kind: str, name: str, template: dict[str, Any], **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    return {"kind": kind, "metadata": {"name": name}, "spec": {"selector": selector, "template": template} | spec}


def condition(obj: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((c for c in obj.get("status", {}).get("conditions", []) if c["type"] == kind), {})


def counts(obj: dict[str, Any]) -> tuple[int, ...]:
    status = obj.get("status", {})
    return tuple(status.get(f"{name}eplicas", 0) for name in ("r", "updatedR", "readyR", "availableR"))


def waiting_reason(pods: dict[str, Any]) -> str:
    reasons = [
        status["state"].get("waiting", {}).get("reason", "")
        for pod in pods["items"]
        for status in pod.get("status", {}).get("containerStatuses", [])
    ]
    return reasons[0] if reasons else ""


async def test_a_new_template_rolls_out_and_scales_the_old_set_down(cluster: SandboxCluster) -> None:
    await create(cluster, f"{APPS}/deployments", workload("Deployment", "web", pod_template("web"), replicas=3))
    await until(cluster, f"{APPS}/deployments/web", lambda d: counts(d) == (3, 3, 3, 3))
    await cluster.request(
        "PATCH",
        f"{APPS}/deployments/web",
        {"spec": {"template": pod_template("web", "nginx:2")}},
        content_type="application/merge-patch+json",
    )
    done = await until(
        cluster,
        f"{APPS}/deployments/web",
        lambda d: d["status"].get("observedGeneration") == 2 and counts(d) == (3, 3, 3, 3),
    )

    assert condition(done, "Progressing")["reason"] == "NewReplicaSetAvailable"
    assert done["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    _, pods = await cluster.request("GET", f"{CORE}/pods?labelSelector=app=web")
    alive = [pod for pod in pods["items"] if "deletionTimestamp" not in pod["metadata"]]
    assert {pod["spec"]["containers"][0]["image"] for pod in alive} == {"nginx:2"}
    _, sets = await cluster.request("GET", f"{APPS}/replicasets")
    assert sorted(rs["spec"]["replicas"] for rs in sets["items"]) == [0, 3]


async def test_scaling_down_removes_pods(cluster: SandboxCluster) -> None:
    await create(cluster, f"{APPS}/deployments", workload("Deployment", "web", pod_template("web"), replicas=3))
    await until(cluster, f"{APPS}/deployments/web", lambda d: counts(d) == (3, 3, 3, 3))
    code, scale = await cluster.request("PUT", f"{APPS}/deployments/web/scale", {"spec": {"replicas": 1}})

    assert (code, scale["kind"], scale["spec"]["replicas"]) == (200, "Scale", 1)
    await until(cluster, f"{APPS}/deployments/web", lambda d: counts(d) == (1, 1, 1, 1))
    await until(cluster, f"{CORE}/pods", lambda pods: len(pods["items"]) == 1)


async def test_an_image_that_does_not_exist_waits_in_back_off_and_says_why(cluster: SandboxCluster) -> None:
    template = pod_template("web", "registry.example/web:does-not-exist")
    await create(cluster, f"{APPS}/deployments", workload("Deployment", "web", template))

    await until(cluster, f"{CORE}/pods", lambda pods: waiting_reason(pods) == "ErrImagePull")
    pods = await until(cluster, f"{CORE}/pods", lambda pods: waiting_reason(pods) == "ImagePullBackOff")
    waiting = pods["items"][0]["status"]["containerStatuses"][0]["state"]["waiting"]
    assert "registry.example/web:does-not-exist" in waiting["message"]
    assert pods["items"][0]["status"]["phase"] == "Pending"
    _, deployment = await cluster.request("GET", f"{APPS}/deployments/web")
    assert condition(deployment, "Available")["status"] == "False"
    uid = pods["items"][0]["metadata"]["uid"]
    _, events = await cluster.request("GET", f"{CORE}/events?fieldSelector=involvedObject.uid={uid},type=Warning")
    assert {event["reason"] for event in events["items"]} == {"Failed", "BackOff"}


async def test_a_listed_image_fails_until_it_is_taken_off_the_list(cluster: SandboxCluster) -> None:
    await cluster.faults(images={"nginx:1": "image-pull"})
    await create(cluster, f"{APPS}/deployments", workload("Deployment", "web", pod_template("web")))
    await until(cluster, f"{CORE}/pods", lambda pods: waiting_reason(pods) == "ImagePullBackOff")
    await cluster.faults()

    await until(cluster, f"{APPS}/deployments/web", lambda d: counts(d) == (1, 1, 1, 1))


async def test_a_crash_loop_restarts_again_and_again(cluster: SandboxCluster) -> None:
    template = pod_template("web", behaviour="crash-loop")
    await create(cluster, f"{APPS}/deployments", workload("Deployment", "web", template))

    def restarted(pods: dict[str, Any]) -> bool:
        statuses = [s for pod in pods["items"] for s in pod.get("status", {}).get("containerStatuses", [])]
        return waiting_reason(pods) == "CrashLoopBackOff" and statuses[0]["restartCount"] >= 2

    pods = await until(cluster, f"{CORE}/pods", restarted)
    status = pods["items"][0]["status"]["containerStatuses"][0]
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert "restarting failed container=main" in status["state"]["waiting"]["message"]
    assert not status["ready"]
    _, deployment = await cluster.request("GET", f"{APPS}/deployments/web")
    assert counts(deployment)[2:] == (0, 0)


async def test_a_rollout_that_never_gets_ready_passes_its_deadline(cluster: SandboxCluster) -> None:
    template = pod_template("web", behaviour="never-ready")
    body = workload("Deployment", "web", template, progressDeadlineSeconds=1)
    await create(cluster, f"{APPS}/deployments", body)

    late = await until(
        cluster, f"{APPS}/deployments/web", lambda d: condition(d, "Progressing").get("status") == "False"
    )
    assert condition(late, "Progressing")["reason"] == "ProgressDeadlineExceeded"
    _, pods = await cluster.request("GET", f"{CORE}/pods")
    assert pods["items"][0]["status"]["phase"] == "Running"
    assert condition(pods["items"][0], "Ready")["status"] == "False"


async def test_a_missing_service_account_stops_the_replica_set_until_it_comes(cluster: SandboxCluster) -> None:
    template = pod_template("web", serviceAccountName="robot")
    await create(cluster, f"{APPS}/deployments", workload("Deployment", "web", template))
    stuck = await until(cluster, f"{APPS}/deployments/web", lambda d: condition(d, "ReplicaFailure"))

    assert condition(stuck, "ReplicaFailure")["reason"] == "FailedCreate"
    assert 'serviceaccount "robot" not found' in condition(stuck, "ReplicaFailure")["message"]
    await create(cluster, f"{CORE}/serviceaccounts", {"metadata": {"name": "robot"}})
    done = await until(cluster, f"{APPS}/deployments/web", lambda d: counts(d) == (1, 1, 1, 1))
    assert not condition(done, "ReplicaFailure")


async def test_a_missing_secret_stops_the_container_until_it_comes(cluster: SandboxCluster) -> None:
    reference = {"secretKeyRef": {"name": "db", "key": "password"}}
    template = pod_template("web", container={"env": [{"name": "P", "valueFrom": reference}]})
    await create(cluster, f"{APPS}/deployments", workload("Deployment", "web", template))
    pods = await until(cluster, f"{CORE}/pods", lambda pods: waiting_reason(pods) == "CreateContainerConfigError")

    status = pods["items"][0]["status"]["containerStatuses"][0]
    assert status["state"]["waiting"]["message"] == 'secret "db" not found'
    await create(cluster, f"{CORE}/secrets", {"metadata": {"name": "db"}, "stringData": {"password": "x"}})
    await until(cluster, f"{APPS}/deployments/web", lambda d: counts(d) == (1, 1, 1, 1))


async def test_a_stateful_set_waits_for_each_pod_before_the_next(cluster: SandboxCluster) -> None:
    template = pod_template("db", behaviour="never-ready")
    await create(cluster, f"{APPS}/statefulsets", workload("StatefulSet", "db", template, replicas=2, serviceName="db"))

    await until(cluster, f"{CORE}/events?fieldSelector=reason=Unhealthy", lambda rows: rows["items"])
    _, pods = await cluster.request("GET", f"{CORE}/pods")
    assert [pod["metadata"]["name"] for pod in pods["items"]] == ["db-0"]


async def test_a_stateful_set_gives_each_pod_its_claim(cluster: SandboxCluster) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
    }
    body = workload("StatefulSet", "db", pod_template("db"), replicas=2, serviceName="db", volumeClaimTemplates=[claim])
    await create(cluster, f"{APPS}/statefulsets", body)
    done = await until(cluster, f"{APPS}/statefulsets/db", lambda s: counts(s) == (2, 2, 2, 2))
    assert done["status"]["currentRevision"] == done["status"]["updateRevision"]
    _, pods = await cluster.request("GET", f"{CORE}/pods")
    assert [pod["metadata"]["name"] for pod in pods["items"]] == ["db-0", "db-1"]
    _, claims = await cluster.request("GET", f"{CORE}/persistentvolumeclaims")
    assert [(c["metadata"]["name"], c["status"]["phase"]) for c in claims["items"]] == [
        ("data-db-0", "Bound"),
        ("data-db-1", "Bound"),
    ]
    assert claims["items"][0]["status"]["capacity"] == {"storage": "2Gi"}


async def test_a_changed_stateful_set_replaces_its_pods_from_the_last(cluster: SandboxCluster) -> None:
    body = workload("StatefulSet", "db", pod_template("db"), replicas=2, serviceName="db")
    await create(cluster, f"{APPS}/statefulsets", body)
    await until(cluster, f"{APPS}/statefulsets/db", lambda s: counts(s) == (2, 2, 2, 2))
    await cluster.request(
        "PATCH",
        f"{APPS}/statefulsets/db",
        {"spec": {"template": pod_template("db", "nginx:2")}},
        content_type="application/merge-patch+json",
    )
    done = await until(
        cluster,
        f"{APPS}/statefulsets/db",
        lambda s: s["status"]["observedGeneration"] == 2 and counts(s) == (2, 2, 2, 2),
    )
    assert done["status"]["currentRevision"] == done["status"]["updateRevision"]


async def test_a_claim_of_a_waiting_class_binds_when_a_pod_uses_it(cluster: SandboxCluster) -> None:
    storage_class = {"metadata": {"name": "lazy"}, "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}
    await create(cluster, "/apis/storage.k8s.io/v1/storageclasses", storage_class)
    spec = {"storageClassName": "lazy", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await create(cluster, f"{CORE}/persistentvolumeclaims", {"metadata": {"name": "data"}, "spec": spec})
    events = f"{CORE}/events?fieldSelector=involvedObject.name=data"
    await until(cluster, events, lambda rows: any(e["reason"] == "WaitForFirstConsumer" for e in rows["items"]))
    _, claim = await cluster.request("GET", f"{CORE}/persistentvolumeclaims/data")
    assert claim["status"]["phase"] == "Pending"

    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    pod = {"metadata": {"name": "p"}, "spec": pod_template("p", volumes=[volume])["spec"]}
    await create(cluster, f"{CORE}/pods", pod)
    await until(cluster, f"{CORE}/persistentvolumeclaims/data", lambda c: c["status"]["phase"] == "Bound")
    await until(cluster, f"{CORE}/pods/p", lambda p: condition(p, "Ready").get("status") == "True")


async def test_a_daemon_set_runs_one_pod_on_the_node(cluster: SandboxCluster) -> None:
    await create(cluster, f"{APPS}/daemonsets", workload("DaemonSet", "agent", pod_template("agent")))

    done = await until(cluster, f"{APPS}/daemonsets/agent", lambda d: d.get("status", {}).get("numberAvailable") == 1)
    assert done["status"]["desiredNumberScheduled"] == done["status"]["updatedNumberScheduled"] == 1


async def test_a_job_completes(cluster: SandboxCluster) -> None:
    template = pod_template("once", restartPolicy="Never")
    await create(cluster, f"{BATCH}/jobs", {"metadata": {"name": "once"}, "spec": {"template": template}})

    done = await until(cluster, f"{BATCH}/jobs/once", lambda j: condition(j, "Complete"))
    assert done["status"]["succeeded"] == 1
    assert done["status"]["completionTime"]


async def test_a_job_that_keeps_failing_fails_for_good(cluster: SandboxCluster) -> None:
    template = pod_template("once", restartPolicy="Never", behaviour="job-fail")
    body = {"metadata": {"name": "once"}, "spec": {"template": template, "backoffLimit": 1}}
    await create(cluster, f"{BATCH}/jobs", body)

    done = await until(cluster, f"{BATCH}/jobs/once", lambda j: condition(j, "Failed"))
    assert condition(done, "Failed")["reason"] == "BackoffLimitExceeded"
    assert done["status"]["failed"] == 2


async def test_services_get_addresses_and_the_endpoints_of_ready_pods(cluster: SandboxCluster) -> None:
    spec = {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
    await create(cluster, f"{CORE}/services", {"metadata": {"name": "web"}, "spec": spec})
    await create(cluster, f"{APPS}/deployments", workload("Deployment", "web", pod_template("web"), replicas=2))

    ready = await until(
        cluster, f"{CORE}/endpoints/web", lambda e: len((e.get("subsets") or [{}])[0].get("addresses", [])) == 2
    )
    assert ready["subsets"][0]["ports"] == [{"port": 8080, "protocol": "TCP"}]
    service = await until(cluster, f"{CORE}/services/web", lambda s: s["status"]["loadBalancer"])
    assert service["status"]["loadBalancer"]["ingress"][0]["ip"].startswith("203.0.113.")
    assert service["spec"]["ports"][0]["nodePort"] >= 30000


async def test_a_deleted_namespace_takes_its_content_and_refuses_more(cluster: SandboxCluster) -> None:
    await create(cluster, "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    held = {"metadata": {"name": "held", "finalizers": ["x.dev/hold"]}}
    await create(cluster, "/api/v1/namespaces/shop/configmaps", held)
    deployments = "/apis/apps/v1/namespaces/shop/deployments"
    await create(cluster, deployments, workload("Deployment", "web", pod_template("web")))
    await cluster.request("DELETE", "/api/v1/namespaces/shop")
    await until(cluster, deployments, lambda rows: rows["items"] == [])

    code, refused = await cluster.request("POST", "/api/v1/namespaces/shop/secrets", {"metadata": {"name": "s"}})
    assert (code, refused["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    await cluster.request(
        "PATCH",
        "/api/v1/namespaces/shop/configmaps/held",
        {"metadata": {"finalizers": None}},
        content_type="application/merge-patch+json",
    )
    await until(cluster, "/api/v1/namespaces/shop", lambda answer: answer.get("code") == 404)


async def test_an_owner_deleted_in_the_foreground_waits_for_its_dependents(cluster: SandboxCluster) -> None:
    await create(cluster, f"{APPS}/deployments", workload("Deployment", "web", pod_template("web")))
    await until(cluster, f"{APPS}/deployments/web", lambda d: counts(d) == (1, 1, 1, 1))
    code, going = await cluster.request("DELETE", f"{APPS}/deployments/web?propagationPolicy=Foreground")

    assert (code, going["metadata"]["finalizers"]) == (200, ["foregroundDeletion"])
    await until(cluster, f"{APPS}/deployments/web", lambda answer: answer.get("code") == 404)
    await until(cluster, f"{APPS}/replicasets", lambda rows: rows["items"] == [])
    await until(cluster, f"{CORE}/pods", lambda rows: rows["items"] == [])


async def test_orphaned_dependents_stay(cluster: SandboxCluster) -> None:
    await create(cluster, f"{APPS}/deployments", workload("Deployment", "web", pod_template("web")))
    await until(cluster, f"{APPS}/deployments/web", lambda d: counts(d) == (1, 1, 1, 1))
    await cluster.request("DELETE", f"{APPS}/deployments/web?propagationPolicy=Orphan")

    _, sets = await cluster.request("GET", f"{APPS}/replicasets")
    assert len(sets["items"]) == 1
    assert "ownerReferences" not in sets["items"][0]["metadata"]
