"""Manifests to a running application, with every part of this layer in its place."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from locktender.contracts.deployments.observed import Related
from locktender.contracts.deployments.ordering import apply_order
from locktender.contracts.deployments.patience import Patience
from locktender.contracts.deployments.readiness import (
    CardStatus,
    Readiness,
    assess,
    is_required,
    pod_selector,
    settled,
)
from locktender.integrations.kube.client import KubeClient, Outcome
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.manifests import Manifest, parse_manifests
from locktender.testkit.cluster import sandbox_cluster

BOUTIQUE = Path(__file__).parents[2] / "examples" / "online-boutique.yaml"


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    async with sandbox_cluster() as cluster, KubeClient(read_kubeconfig(cluster.kubeconfig)) as opened:
        yield opened


async def verdict(client: KubeClient, manifest: Manifest) -> Readiness:
    found = await client.get(manifest.ref)
    assert found is not None
    selector = pod_selector(found)
    if selector is None:
        return assess(found)
    pods = await client.list(await client.resource_for("v1", "Pod"), "default", label_selector=selector)
    return assess(found, Related(pods=pods.items))


async def test_the_example_application_becomes_ready(client: KubeClient) -> None:
    manifests = parse_manifests(BOUTIQUE.read_text(encoding="utf-8"))
    for index in apply_order(manifests):
        assert (await client.apply(manifests[index].body)).outcome is Outcome.CREATED
    waiting = {manifest.ref: manifest for manifest in manifests if is_required(manifest.body)}
    async with asyncio.timeout(60):
        while waiting:
            for ref, manifest in list(waiting.items()):
                seen = await verdict(client, manifest)
                assert seen.status is not CardStatus.FAILED, seen
                if seen.status is CardStatus.RUNNING:
                    del waiting[ref]
            await asyncio.sleep(0.05)
    for index in apply_order(manifests):
        assert (await client.apply(manifests[index].body)).outcome is Outcome.UNCHANGED


@pytest.mark.parametrize(
    ("image", "reasons", "hint"),
    [
        ("shop:does-not-exist", {"ErrImagePull", "ImagePullBackOff"}, "image name and tag"),
        ("shop:crash-loop", {"CrashLoopBackOff"}, "kubectl logs"),
    ],
)
async def test_trouble_of_an_image_is_told_with_container_and_hint(
    client: KubeClient, image: str, reasons: set[str], hint: str
) -> None:
    [manifest] = parse_manifests(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
        "spec:\n  selector: {matchLabels: {app: web}}\n"
        "  template:\n    metadata: {labels: {app: web}}\n"
        f"    spec: {{containers: [{{name: app, image: '{image}'}}]}}\n"
    )
    await client.apply(manifest.body)
    async with asyncio.timeout(60):
        while (seen := await verdict(client, manifest)).status is not CardStatus.BLOCKED:  # noqa: ASYNC110 - the cluster cannot call us
            await asyncio.sleep(0.02)
    trouble = seen.trouble
    assert trouble is not None
    assert trouble.container == "app"
    assert trouble.reason in reasons
    assert hint in (seen.hint or "")
    assert seen.status is CardStatus.BLOCKED
    assert settled(seen, troubled_for=60, still_for=60, patience=Patience()).status is CardStatus.FAILED
