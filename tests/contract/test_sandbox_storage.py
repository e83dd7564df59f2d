"""Volumes, claims and storage classes of the sandbox cluster."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.cluster_rig import BEHAVIOUR, CORE, change, condition, create, event, is_ready, pod, until

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CLAIMS = f"{CORE}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"


@pytest.fixture
async def cluster() -> AsyncIterator[SandboxCluster]:
    async with sandbox_cluster(pace=0.02) as running:
        yield running


def claim(name: str = "data", *, size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": name}, "spec": asked | spec}


def volume(name: str, *, size: str = "5Gi", modes: tuple[str, ...] = ("ReadWriteOnce",), **spec: Any) -> dict[str, Any]:
    content = {"capacity": {"storage": size}, "accessModes": list(modes), "hostPath": {"path": "/x"}}
    return {"metadata": {"name": name}, "spec": content | spec}


def user(name: str = "web") -> dict[str, Any]:
    return pod(name, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])


def is_bound(obj: dict[str, Any]) -> bool:
    return obj.get("status", {}).get("phase") == "Bound"


async def storage_class(cluster: SandboxCluster, name: str = "extra", behaviour: str = "", **spec: Any) -> None:
    annotations = {BEHAVIOUR: behaviour} if behaviour else {}
    metadata = {"name": name, "annotations": annotations}
    await create(cluster, CLASSES, {"metadata": metadata, "provisioner": "x.dev/disk"} | spec)


async def no_default(cluster: SandboxCluster) -> None:
    await cluster.request("DELETE", f"{CLASSES}/standard")


async def test_a_claim_of_the_default_class_gets_a_volume_at_once(cluster: SandboxCluster) -> None:
    await create(cluster, CLAIMS, claim())
    bound = await until(cluster, f"{CLAIMS}/data", is_bound)

    assert (bound["spec"]["storageClassName"], bound["status"]["capacity"]) == ("standard", {"storage": "1Gi"})
    found = await until(cluster, f"{VOLUMES}/{bound['spec']['volumeName']}", is_bound)
    assert found["spec"]["claimRef"]["name"] == "data"


async def test_a_pod_whose_claim_finds_no_class_stays_pending_and_says_why(cluster: SandboxCluster) -> None:
    await no_default(cluster)
    await create(cluster, CLAIMS, claim())
    await create(cluster, f"{CORE}/pods", user())

    stuck = await until(cluster, f"{CORE}/pods/web", lambda p: condition(p, "PodScheduled"))
    assert condition(stuck, "PodScheduled")["message"].startswith(
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    )
    told = await event(cluster, "FailedBinding", "data")
    assert told["message"] == "no persistent volumes available for this claim and no storage class is set"
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    await create(cluster, CLASSES, {"metadata": {"name": "new", "annotations": annotations}, "provisioner": "x"})
    await until(cluster, f"{CORE}/pods/web", is_ready)


@pytest.mark.parametrize(
    ("given", "name", "reason", "said"),
    [
        ({}, "nowhere", "ProvisioningFailed", 'storageclass.storage.k8s.io "nowhere" not found'),
        (
            {"provisioner": "kubernetes.io/floppy"},
            "extra",
            "ProvisioningFailed",
            "no volume plugin matched name: kubernetes.io/floppy",
        ),
        ({"behaviour": "fail"}, "extra", "ProvisioningFailed", 'failed to provision volume with StorageClass "extra"'),
        ({"behaviour": "never"}, "extra", "ExternalProvisioning", "by the external provisioner 'x.dev/disk'"),
    ],
)
async def test_a_claim_without_a_working_provisioner_stays_pending(
    cluster: SandboxCluster, given: dict[str, Any], name: str, reason: str, said: str
) -> None:
    if given:
        await storage_class(cluster, **given)
    await create(cluster, CLAIMS, claim(storageClassName=name))

    assert said in (await event(cluster, reason, "data"))["message"]
    assert (await cluster.request("GET", f"{CLAIMS}/data"))[1]["status"]["phase"] == "Pending"


async def test_a_waiting_class_binds_for_the_first_consumer(cluster: SandboxCluster) -> None:
    await storage_class(cluster, volumeBindingMode="WaitForFirstConsumer")
    await create(cluster, CLAIMS, claim(storageClassName="extra"))
    told = await event(cluster, "WaitForFirstConsumer", "data")
    assert told["message"] == "waiting for first consumer to be created before binding"

    await create(cluster, f"{CORE}/pods", user())
    await until(cluster, f"{CORE}/pods/web", is_ready)


async def test_a_claim_takes_the_smallest_volume_that_fits(cluster: SandboxCluster) -> None:
    await no_default(cluster)
    for body in (
        volume("small", size="1Gi"),
        volume("shared", size="5Gi", modes=("ReadWriteMany",)),
        volume("large", size="20Gi"),
        volume("right", size="10Gi"),
        volume("classed", size="5Gi", storageClassName="fast"),
    ):
        await create(cluster, VOLUMES, body)
    await until(cluster, f"{VOLUMES}/right", lambda v: v.get("status", {}).get("phase") == "Available")
    await create(cluster, CLAIMS, claim(size="5Gi", storageClassName=""))

    bound = await until(cluster, f"{CLAIMS}/data", is_bound)
    assert (bound["spec"]["volumeName"], bound["status"]["capacity"]["storage"]) == ("right", "10Gi")
    await until(cluster, f"{VOLUMES}/right", is_bound)


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
async def test_the_reclaim_policy_decides_about_the_volume_of_a_deleted_claim(
    cluster: SandboxCluster, policy: str
) -> None:
    await storage_class(cluster, reclaimPolicy=policy)
    await create(cluster, CLAIMS, claim(storageClassName="extra"))
    bound = await until(cluster, f"{CLAIMS}/data", is_bound)
    await cluster.request("DELETE", f"{CLAIMS}/data")

    where = f"{VOLUMES}/{bound['spec']['volumeName']}"
    if policy == "Delete":
        await until(cluster, where, lambda answer: answer.get("code") == 404)
    else:
        await until(cluster, where, lambda v: v["status"]["phase"] == "Released")


async def test_a_claim_whose_volume_is_deleted_is_lost(cluster: SandboxCluster) -> None:
    await create(cluster, CLAIMS, claim())
    bound = await until(cluster, f"{CLAIMS}/data", is_bound)
    await cluster.request("DELETE", f"{VOLUMES}/{bound['spec']['volumeName']}")

    await until(cluster, f"{CLAIMS}/data", lambda c: c["status"]["phase"] == "Lost")
    assert (await event(cluster, "ClaimLost", "data"))["type"] == "Warning"


async def test_a_claim_grows_where_its_class_allows_it_and_never_shrinks(cluster: SandboxCluster) -> None:
    await storage_class(cluster, allowVolumeExpansion=True)
    await create(cluster, CLAIMS, claim("data", storageClassName="extra"))
    await create(cluster, CLAIMS, claim("fixed"))
    for name in ("data", "fixed"):
        await until(cluster, f"{CLAIMS}/{name}", is_bound)

    def sized(size: str) -> dict[str, Any]:
        return {"spec": {"resources": {"requests": {"storage": size}}}}

    code, refused = await change(cluster, f"{CLAIMS}/fixed", sized("2Gi"))
    assert (code, "must support resize" in refused["message"]) == (403, True)
    assert (await change(cluster, f"{CLAIMS}/data", sized("2Gi")))[0] == 200
    await until(cluster, f"{CLAIMS}/data", lambda c: c["status"]["capacity"]["storage"] == "2Gi")
    code, refused = await change(cluster, f"{CLAIMS}/data", sized("1Gi"))
    assert (code, "field can not be less" in refused["message"]) == (422, True)
