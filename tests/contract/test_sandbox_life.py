"""The life of workloads in the sandbox cluster: what controllers make of them, and the trouble that can be ordered."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.cluster_rig import (
    APPS,
    BATCH,
    BEHAVIOUR,
    CORE,
    change,
    condition,
    containers,
    create,
    deployment,
    event,
    is_ready,
    pod,
    until,
    waiting,
)

HPAS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
PDBS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
REPLICAS = "sandbox.locktender.dev/replicas"


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster(pace=0.02) as running:
        yield running


def autoscaler(target: str, *, asked: int | None = None, least: int = 1, most: int = 5) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
    annotations = {} if asked is None else {REPLICAS: str(asked)}
    spec = {"scaleTargetRef": reference, "minReplicas": least, "maxReplicas": most}
    return {"metadata": {"name": target, "annotations": annotations}, "spec": spec}


async def test_an_autoscaler_owns_the_replicas_through_the_scale_subresource(cluster: SandboxCluster) -> None:
    await create(cluster, f"{APPS}/deployments", deployment("web"))
    await create(cluster, HPAS, autoscaler("web", asked=9, most=3))

    scaled = await until(cluster, f"{APPS}/deployments/web", lambda d: d["spec"]["replicas"] == 3)
    owners = [
        entry for entry in scaled["metadata"]["managedFields"] if "f:replicas" in entry["fieldsV1"].get("f:spec", {})
    ]
    assert [(o["manager"], o["operation"], o.get("subresource")) for o in owners] == [
        ("kube-controller-manager", "Update", "scale")
    ]
    found = await until(cluster, f"{HPAS}/web", lambda h: h.get("status", {}).get("currentReplicas") == 3)
    told = {kind: condition(found, kind) for kind in ("AbleToScale", "ScalingActive", "ScalingLimited")}
    assert {kind: (c["status"], c["reason"]) for kind, c in told.items()} == {
        "AbleToScale": ("True", "ReadyForNewScale"),
        "ScalingActive": ("True", "ValidMetricFound"),
        "ScalingLimited": ("True", "TooManyReplicas"),
    }
    assert (await event(cluster, "SuccessfulRescale"))["message"].startswith("New size: 3")


async def test_an_autoscaler_without_a_target_cannot_scale(cluster: SandboxCluster) -> None:
    await create(cluster, HPAS, autoscaler("web", least=2))
    lost = await until(cluster, f"{HPAS}/web", lambda h: condition(h, "AbleToScale"))

    assert (condition(lost, "AbleToScale")["status"], condition(lost, "AbleToScale")["reason"]) == (
        "False",
        "FailedGetScale",
    )
    assert 'deployments.apps "web" not found' in condition(lost, "AbleToScale")["message"]
    await create(cluster, f"{APPS}/deployments", deployment("web"))
    await until(cluster, f"{APPS}/deployments/web", lambda d: d["spec"]["replicas"] == 2)


async def test_a_disruption_budget_counts_its_healthy_pods(cluster: SandboxCluster) -> None:
    await create(cluster, f"{APPS}/deployments", deployment("web", replicas=3))
    selector = {"matchLabels": {"app": "web"}}
    await create(cluster, PDBS, {"metadata": {"name": "web"}, "spec": {"maxUnavailable": "34%", "selector": selector}})

    done = await until(cluster, f"{PDBS}/web", lambda b: b.get("status", {}).get("currentHealthy") == 3)
    assert {k: v for k, v in done["status"].items() if k != "conditions"} == {
        "observedGeneration": 1,
        "currentHealthy": 3,
        "desiredHealthy": 1,
        "expectedPods": 3,
        "disruptionsAllowed": 2,
    }
    assert condition(done, "DisruptionAllowed")["reason"] == "SufficientPods"


async def test_a_suspended_job_runs_nothing_until_it_is_resumed(cluster: SandboxCluster) -> None:
    template = {"spec": pod("once", restartPolicy="Never")["spec"]}
    body = {"metadata": {"name": "once"}, "spec": {"template": template, "suspend": True}}
    await create(cluster, f"{BATCH}/jobs", body)
    await until(cluster, f"{BATCH}/jobs/once", lambda j: condition(j, "Suspended").get("status") == "True")
    assert (await cluster.request("GET", f"{CORE}/pods"))[1]["items"] == []

    await change(cluster, f"{BATCH}/jobs/once", {"spec": {"suspend": False}})
    done = await until(cluster, f"{BATCH}/jobs/once", lambda j: condition(j, "Complete"))
    assert condition(done, "Suspended")["status"] == "False"


async def test_a_job_over_its_deadline_fails_and_its_time_to_live_removes_it(cluster: SandboxCluster) -> None:
    template = {"spec": pod("once", image="x:does-not-exist", restartPolicy="Never")["spec"]}
    spec = {"template": template, "activeDeadlineSeconds": 1}
    await create(cluster, f"{BATCH}/jobs", {"metadata": {"name": "once"}, "spec": spec})
    done = await until(cluster, f"{BATCH}/jobs/once", lambda j: condition(j, "Failed"))
    assert condition(done, "Failed")["reason"] == "DeadlineExceeded"

    await change(cluster, f"{BATCH}/jobs/once", {"spec": {"ttlSecondsAfterFinished": 0}})
    await until(cluster, f"{BATCH}/jobs/once", lambda answer: answer.get("code") == 404)


async def test_a_job_whose_container_is_restarted_too_often_fails(cluster: SandboxCluster) -> None:
    body = pod("once", behaviour="crash-loop", restartPolicy="OnFailure")
    template = {"metadata": {"annotations": body["metadata"]["annotations"]}, "spec": body["spec"]}
    await create(
        cluster, f"{BATCH}/jobs", {"metadata": {"name": "once"}, "spec": {"template": template, "backoffLimit": 2}}
    )

    done = await until(cluster, f"{BATCH}/jobs/once", lambda j: condition(j, "Failed"))
    assert condition(done, "Failed")["reason"] == "BackoffLimitExceeded"


async def test_a_replication_controller_keeps_its_pods(cluster: SandboxCluster) -> None:
    template = {"metadata": {"labels": {"app": "old"}}, "spec": pod("old")["spec"]}
    body = {"metadata": {"name": "old"}, "spec": {"replicas": 2, "selector": {"app": "old"}, "template": template}}
    await create(cluster, f"{CORE}/replicationcontrollers", body)

    await until(cluster, f"{CORE}/replicationcontrollers/old", lambda r: r.get("status", {}).get("readyReplicas") == 2)


@pytest.mark.parametrize("kind", ["service", "ingress"])
async def test_an_address_never_comes_where_the_script_says_so(cluster: SandboxCluster, kind: str) -> None:
    ports = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    path, spec = {
        "service": (f"{CORE}/services", ports),
        "ingress": ("/apis/networking.k8s.io/v1/namespaces/default/ingresses", {"rules": [{"host": "a.example"}]}),
    }[kind]
    never = {"metadata": {"name": "never", "annotations": {BEHAVIOUR: "no-address"}}, "spec": spec}
    await create(cluster, path, never)
    await create(cluster, path, {"metadata": {"name": "soon"}, "spec": spec})

    await until(cluster, f"{path}/soon", lambda s: s.get("status", {}).get("loadBalancer"))
    _, lonely = await cluster.request("GET", f"{path}/never")
    assert lonely["status"] == {"loadBalancer": {}}


async def test_endpoints_and_slices_follow_readiness_and_selectorless_services_have_none(
    cluster: SandboxCluster,
) -> None:
    ports = [{"port": 80, "targetPort": 8080, "name": "http"}]
    await create(
        cluster, f"{CORE}/services", {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": ports}}
    )
    await create(cluster, f"{CORE}/services", {"metadata": {"name": "bare"}, "spec": {"ports": ports}})
    external = {"type": "ExternalName", "externalName": "db.example", "selector": {"app": "web"}}
    await create(cluster, f"{CORE}/services", {"metadata": {"name": "far"}, "spec": external})
    await create(cluster, f"{CORE}/pods", pod("web"))
    await create(cluster, f"{CORE}/pods", pod("late", behaviour="never-ready") | {})
    await change(cluster, f"{CORE}/pods/late", {"metadata": {"labels": {"app": "web"}}})

    def both(rows: dict[str, Any]) -> bool:
        ready = [e["conditions"]["ready"] for row in rows["items"] for e in row["endpoints"]]
        return sorted(ready) == [False, True]

    slices = await until(cluster, f"{SLICES}?labelSelector=kubernetes.io/service-name=web", both)
    assert slices["items"][0]["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    _, endpoints = await cluster.request("GET", f"{CORE}/endpoints/web")
    assert {kind: len(endpoints["subsets"][0][kind]) for kind in ("addresses", "notReadyAddresses")} == {
        "addresses": 1,
        "notReadyAddresses": 1,
    }
    _, all_endpoints = await cluster.request("GET", f"{CORE}/endpoints")
    assert {row["metadata"]["name"] for row in all_endpoints["items"]} == {"web"}


async def test_an_api_service_is_available_when_its_service_has_endpoints(cluster: SandboxCluster) -> None:
    spec = {"group": "x.dev", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    spec["service"] = {"namespace": "default", "name": "api"}
    await create(cluster, API_SERVICES, {"metadata": {"name": "v1.x.dev"}, "spec": spec})
    lost = await until(cluster, f"{API_SERVICES}/v1.x.dev", lambda a: condition(a, "Available"))
    assert (condition(lost, "Available")["status"], condition(lost, "Available")["reason"]) == (
        "False",
        "ServiceNotFound",
    )

    service = {"metadata": {"name": "api"}, "spec": {"selector": {"app": "api"}, "ports": [{"port": 443}]}}
    await create(cluster, f"{CORE}/services", service)
    await until(
        cluster, f"{API_SERVICES}/v1.x.dev", lambda a: condition(a, "Available")["reason"] == "MissingEndpoints"
    )
    await create(cluster, f"{CORE}/pods", pod("api"))
    await until(cluster, f"{API_SERVICES}/v1.x.dev", lambda a: condition(a, "Available")["reason"] == "Passed")


@pytest.mark.parametrize(
    ("behaviour", "code", "reason"),
    [("crash-loop:3", 3, "Error"), ("oom", 137, "OOMKilled"), ("start-error", 128, "StartError")],
)
async def test_a_container_that_crashes_tells_how_it_ended(
    cluster: SandboxCluster, behaviour: str, code: int, reason: str
) -> None:
    await create(cluster, f"{CORE}/pods", pod("web", behaviour=behaviour))

    looping = await until(
        cluster,
        f"{CORE}/pods/web",
        lambda p: waiting(p).get("reason") == "CrashLoopBackOff" and containers(p)[0]["restartCount"] >= 2,
    )
    last = containers(looping)[0]["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (code, reason)
    assert (await event(cluster, "BackOff", "web"))["message"].startswith("Back-off restarting failed container main")


async def test_an_init_container_that_crashes_keeps_the_others_waiting(cluster: SandboxCluster) -> None:
    init = [{"name": "first", "image": "a:1"}, {"name": "second", "image": "b:1"}]
    body = pod("web", annotations={f"{BEHAVIOUR}.second": "crash-loop"}, initContainers=init)
    await create(cluster, f"{CORE}/pods", body)

    field = "initContainerStatuses"
    stuck = await until(
        cluster,
        f"{CORE}/pods/web",
        lambda p: (
            containers(p, field)
            and containers(p, field)[1]["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff"
        ),
    )
    assert stuck["status"]["phase"] == "Pending"
    assert containers(stuck, field)[0]["state"]["terminated"]["reason"] == "Completed"
    assert waiting(stuck)["reason"] == "PodInitializing"
    assert condition(stuck, "Initialized")["reason"] == "ContainersNotInitialized"


async def test_a_sidecar_runs_beside_the_containers(cluster: SandboxCluster) -> None:
    sidecar = {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always"}
    await create(cluster, f"{CORE}/pods", pod("web", initContainers=[sidecar]))

    up = await until(cluster, f"{CORE}/pods/web", is_ready)
    assert "running" in containers(up, "initContainerStatuses")[0]["state"]


async def test_a_container_may_crash_some_times_and_then_work(cluster: SandboxCluster) -> None:
    await create(cluster, f"{CORE}/pods", pod("web", behaviour="flaky:2"))

    up = await until(cluster, f"{CORE}/pods/web", is_ready)
    assert containers(up)[0]["restartCount"] == 2
    assert containers(up)[0]["lastState"]["terminated"]["exitCode"] == 1


async def test_a_container_may_crash_after_it_was_ready(cluster: SandboxCluster) -> None:
    await create(cluster, f"{APPS}/deployments", deployment("web", behaviour="crash-after:20"))
    await until(cluster, f"{APPS}/deployments/web", lambda d: condition(d, "Available").get("status") == "True")

    await until(cluster, f"{APPS}/deployments/web", lambda d: condition(d, "Available").get("status") == "False")
    pods = await until(cluster, f"{CORE}/pods", lambda rows: waiting(rows["items"][0]).get("reason"))
    assert waiting(pods["items"][0])["reason"] == "CrashLoopBackOff"


async def test_a_pod_may_lose_its_readiness_for_good(cluster: SandboxCluster) -> None:
    await create(cluster, f"{CORE}/pods", pod("web", behaviour="unready-after:10"))
    await until(cluster, f"{CORE}/pods/web", is_ready)

    lost = await until(cluster, f"{CORE}/pods/web", lambda p: not is_ready(p))
    assert lost["status"]["phase"] == "Running"
    unhealthy = await event(cluster, "Unhealthy", "web")
    assert unhealthy["message"].startswith("Readiness probe failed")


async def test_an_image_name_that_is_none_is_told_at_once(cluster: SandboxCluster) -> None:
    await create(cluster, f"{CORE}/pods", pod("web", image="registry.example/Web:1"))

    stuck = await until(cluster, f"{CORE}/pods/web", waiting_for("InvalidImageName"))
    assert "must be lowercase" in waiting(stuck)["message"]


def waiting_for(reason: str) -> Any:
    return lambda found: waiting(found).get("reason") == reason


async def test_a_bad_image_alternates_between_pulling_and_backing_off(cluster: SandboxCluster) -> None:
    await create(cluster, f"{CORE}/pods", pod("web", image="web:does-not-exist"))
    for reason in ("ErrImagePull", "ImagePullBackOff", "ErrImagePull", "ImagePullBackOff"):
        await until(cluster, f"{CORE}/pods/web", waiting_for(reason))

    pulled = await until(
        cluster,
        f"{CORE}/events?fieldSelector=reason=Failed",
        lambda rows: any(e["count"] > 1 and "Failed to pull image" in e["message"] for e in rows["items"]),
    )
    assert any(e["message"] == "Error: ErrImagePull" for e in pulled["items"])


async def test_a_missing_key_is_named(cluster: SandboxCluster) -> None:
    await create(cluster, f"{CORE}/configmaps", {"metadata": {"name": "cm"}, "data": {"a": "1"}})
    env = [{"name": "B", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "b"}}}]
    await create(cluster, f"{CORE}/pods", pod("web", container={"env": env}))

    stuck = await until(cluster, f"{CORE}/pods/web", waiting_for("CreateContainerConfigError"))
    assert waiting(stuck)["message"] == "couldn't find key b in ConfigMap default/cm"
    await change(cluster, f"{CORE}/configmaps/cm", {"data": {"b": "2"}})
    await until(cluster, f"{CORE}/pods/web", is_ready)


async def test_a_slow_stop_holds_the_pod_for_no_longer_than_its_grace(cluster: SandboxCluster) -> None:
    await create(cluster, f"{CORE}/pods", pod("web", behaviour="slow-stop:1000", terminationGracePeriodSeconds=20))
    await until(cluster, f"{CORE}/pods/web", is_ready)
    code, going = await cluster.request("DELETE", f"{CORE}/pods/web")

    assert (code, going["metadata"]["deletionGracePeriodSeconds"]) == (200, 20)
    assert (await cluster.request("GET", f"{CORE}/pods/web"))[0] == 200
    await until(cluster, f"{CORE}/pods/web", lambda answer: answer.get("code") == 404)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"container": {"resources": {"requests": {"cpu": "64"}}}},
            (
                "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
                "1 No preemption victims found for incoming pod."
            ),
        ),
        (
            {"nodeSelector": {"disk": "ssd"}},
            (
                "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: "
                "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
            ),
        ),
    ],
)
async def test_a_pod_that_fits_on_no_node_stays_pending(
    cluster: SandboxCluster, spec: dict[str, Any], said: str
) -> None:
    await create(cluster, f"{CORE}/pods", pod("web", **spec))

    stuck = await until(cluster, f"{CORE}/pods/web", lambda p: condition(p, "PodScheduled"))
    assert (condition(stuck, "PodScheduled")["reason"], condition(stuck, "PodScheduled")["message"]) == (
        "Unschedulable",
        said,
    )
    assert (await event(cluster, "FailedScheduling", "web"))["source"]["component"] == "default-scheduler"
    await change(cluster, "/api/v1/nodes/sandbox", {"metadata": {"labels": {"disk": "ssd"}}})
    if "nodeSelector" in spec:
        await until(cluster, f"{CORE}/pods/web", is_ready)
