"""What the sandbox cluster refuses although it is valid: quotas, limits, pod security and webhooks."""

import http.client
from collections.abc import AsyncIterator
from typing import Any

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.cluster_rig import (
    APPS,
    CORE,
    change,
    condition,
    create,
    deployment,
    event,
    is_ready,
    pod,
    until,
)

QUOTAS = f"{CORE}/resourcequotas"
SECURE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster(pace=0.02) as running:
        yield running


async def quota(cluster: SandboxCluster, **hard: str) -> None:
    named = {name.replace("_", "."): value for name, value in hard.items()}
    await create(cluster, QUOTAS, {"metadata": {"name": "small"}, "spec": {"hard": named}})


def asking(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


async def test_a_pod_over_the_quota_is_refused_with_the_numbers(cluster: SandboxCluster) -> None:
    await quota(cluster, pods="1")
    await create(cluster, f"{CORE}/pods", pod("one"))
    await until(cluster, f"{QUOTAS}/small", lambda q: q.get("status", {}).get("used") == {"pods": "1"})

    code, refused = await cluster.request("POST", f"{CORE}/pods", pod("two"))
    assert (code, refused["reason"], refused["message"]) == (
        403,
        "Forbidden",
        'pods "two" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1',
    )
    await cluster.request("DELETE", f"{CORE}/pods/one?gracePeriodSeconds=0")
    await until(cluster, f"{QUOTAS}/small", lambda q: q["status"]["used"] == {"pods": "0"})
    await create(cluster, f"{CORE}/pods", pod("two"))


async def test_a_quota_on_compute_wants_requests_and_adds_them_up(cluster: SandboxCluster) -> None:
    await quota(cluster, requests_cpu="1", requests_memory="1Gi")
    code, refused = await cluster.request("POST", f"{CORE}/pods", pod("mute"))
    assert (code, refused["message"]) == (
        403,
        'pods "mute" is forbidden: failed quota: small: must specify requests.cpu for: main; requests.memory for: main',
    )
    await create(cluster, f"{CORE}/pods", pod("one", container=asking(cpu="400m", memory="512Mi")))

    code, refused = await cluster.request(
        "POST", f"{CORE}/pods", pod("two", container=asking(cpu="700m", memory="1Mi"))
    )
    assert refused["message"].endswith(
        "exceeded quota: small, requested: requests.cpu=700m, used: requests.cpu=400m, limited: requests.cpu=1"
    )
    used = await until(cluster, f"{QUOTAS}/small", lambda q: q["status"]["used"]["requests.cpu"] == "400m")
    assert used["status"]["used"]["requests.memory"] == "512Mi"


async def test_a_quota_counts_objects_of_any_kind(cluster: SandboxCluster) -> None:
    await quota(cluster, **{"count/deployments_apps": "1", "services_loadbalancers": "0"})
    await create(cluster, f"{APPS}/deployments", deployment("one"))
    code, refused = await cluster.request("POST", f"{APPS}/deployments", deployment("two"))
    assert (code, "requested: count/deployments.apps=1" in refused["message"]) == (403, True)

    service = {"metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 1}]}}
    code, refused = await cluster.request("POST", f"{CORE}/services", service)
    assert (code, "limited: services.loadbalancers=0" in refused["message"]) == (403, True)


async def test_a_deployment_over_the_quota_says_so_and_goes_on_when_there_is_room(cluster: SandboxCluster) -> None:
    await quota(cluster, pods="1")
    await create(cluster, f"{APPS}/deployments", deployment("web", replicas=2))

    stuck = await until(cluster, f"{APPS}/deployments/web", lambda d: condition(d, "ReplicaFailure"))
    assert "exceeded quota: small" in condition(stuck, "ReplicaFailure")["message"]
    assert (await event(cluster, "FailedCreate"))["message"].startswith("Error creating: pods ")
    await change(cluster, f"{QUOTAS}/small", {"spec": {"hard": {"pods": "2"}}})
    done = await until(cluster, f"{APPS}/deployments/web", lambda d: d["status"].get("readyReplicas") == 2)
    assert not condition(done, "ReplicaFailure")


async def test_a_limit_range_fills_in_defaults_and_refuses_too_much(cluster: SandboxCluster) -> None:
    limits = {"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "1"}}
    await create(cluster, f"{CORE}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [limits]}})
    born = await create(cluster, f"{CORE}/pods", pod("web"))

    assert born["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}}
    large = {"resources": {"limits": {"cpu": "2"}}}
    code, refused = await cluster.request("POST", f"{CORE}/pods", pod("big", container=large))
    assert (code, refused["message"]) == (
        403,
        'pods "big" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
    )


async def test_a_restricted_namespace_takes_secure_pods_alone(cluster: SandboxCluster) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await create(cluster, "/api/v1/namespaces", {"metadata": {"name": "safe", "labels": labels}})
    pods = "/api/v1/namespaces/safe/pods"

    code, refused = await cluster.request("POST", pods, pod("web"))
    assert (code, refused["message"]) == (
        403,
        (
            'pods "web" is forbidden: violates PodSecurity "restricted:latest": '
            'allowPrivilegeEscalation != false (container "main" must set '
            "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities "
            '(container "main" must set securityContext.capabilities.drop=["ALL"]), '
            'runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true), '
            'seccompProfile (pod or container "main" must set securityContext.seccompProfile.type to '
            '"RuntimeDefault" or "Localhost")'
        ),
    )
    await create(cluster, pods, pod("web", container={"securityContext": SECURE}))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"hostNetwork": True}, "host namespaces (hostNetwork=true)"),
        ({"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}, 'hostPath volumes (volume "root")'),
        ({"container": {"securityContext": {"privileged": True}}}, 'privileged (container "main" must not set'),
        ({"container": {"ports": [{"containerPort": 80, "hostPort": 80}]}}, "hostPort ("),
        ({"container": {"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}}}, '"NET_ADMIN"'),
    ],
)
async def test_a_baseline_namespace_refuses_what_reaches_the_host(
    cluster: SandboxCluster, spec: dict[str, Any], said: str
) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    await change(cluster, "/api/v1/namespaces/default", {"metadata": {"labels": labels}})

    code, refused = await cluster.request("POST", f"{CORE}/pods", pod("web", **spec))
    assert (code, said in refused["message"]) == (403, True), refused["message"]
    await create(cluster, f"{CORE}/pods", pod("plain"))


async def test_a_warning_namespace_takes_the_workload_and_warns(cluster: SandboxCluster) -> None:
    labels = {"pod-security.kubernetes.io/warn": "restricted"}
    await change(cluster, "/api/v1/namespaces/default", {"metadata": {"labels": labels}})
    answer = await cluster.answer("POST", f"{APPS}/deployments", deployment("web"))

    assert answer.status == http.client.CREATED
    assert '299 - "would violate PodSecurity \\"restricted:latest\\": allowPriv' in answer.headers["warning"]


async def test_a_webhook_denies_in_its_own_words_whoever_writes(cluster: SandboxCluster) -> None:
    rule = {"webhook": "policy.example.com", "message": "images need a digest", "resource": "pods", "status": 403}
    await cluster.faults(rule)
    code, refused = await cluster.request("POST", f"{CORE}/pods", pod("web"))
    assert (code, refused["message"]) == (
        403,
        'admission webhook "policy.example.com" denied the request: images need a digest',
    )

    await create(cluster, f"{APPS}/deployments", deployment("web"))
    stuck = await until(cluster, f"{APPS}/deployments/web", lambda d: condition(d, "ReplicaFailure"))
    assert "images need a digest" in condition(stuck, "ReplicaFailure")["message"]
    await cluster.faults()
    await until(cluster, f"{APPS}/deployments/web", lambda d: d["status"].get("readyReplicas") == 1)


async def test_a_priority_class_must_exist(cluster: SandboxCluster) -> None:
    code, refused = await cluster.request("POST", f"{CORE}/pods", pod("web", priorityClassName="high"))
    assert (code, refused["message"]) == (
        403,
        'pods "web" is forbidden: no PriorityClass with name high was found',
    )
    await create(cluster, "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 10})
    await create(cluster, f"{CORE}/pods", pod("web", priorityClassName="high"))
    await until(cluster, f"{CORE}/pods/web", is_ready)
