"""Objects to plan, and plans of them, for tests of planning."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from locktender.contracts.deployments.models import ApplyOptions
from locktender.contracts.deployments.plan import PlannedDocument, WarningCode
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeUnknownKind
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.kube.planning import Survey, survey
from locktender.integrations.kube.stamps import Stamp, stamped
from locktender.runtime.clock import SystemClock
from locktender.testkit.cluster import SandboxCluster

Body = dict[str, Any]
TASK = UUID(int=7)
EARLIER = Stamp(UUID(int=3), 1)


def config_map(name: str = "settings", namespace: str | None = None, **data: str) -> Body:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def secret(**values: str) -> Body:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "stringData": values}


def deployment(image: str = "shop:1", replicas: int | None = 2, *, app: str = "web") -> Body:
    template = {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "web", "image": image}]},
    }
    spec: Body = {"selector": {"matchLabels": {"app": app}}, "template": template}
    if replicas is not None:
        spec["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def autoscaler() -> Body:
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 9}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": spec}


def job(image: str = "work:1") -> Body:
    pod = {"restartPolicy": "Never", "containers": [{"name": "work", "image": image}]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": {"spec": pod}}}


def namespace(name: str) -> Body:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


DEFINITION: Body = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.shop.example"},
    "spec": {
        "group": "shop.example",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
WIDGET: Body = {"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": {"name": "w"}}


@asynccontextmanager
async def fresh_client(cluster: SandboxCluster) -> AsyncGenerator[KubeClient]:
    """A client of the cluster, from which everything was removed."""
    await cluster.reset()
    async with KubeClient(read_kubeconfig(cluster.kubeconfig), read_seconds=5) as opened:
        yield opened


async def surveyed(client: KubeClient, *bodies: Body, seconds: float = 20, **options: Any) -> Survey:
    text = "\n---\n".join(json.dumps(body) for body in bodies)
    return await survey(
        client,
        parse_manifests(text),
        namespace=None,
        options=ApplyOptions(**options),
        stamp=Stamp(TASK, 2),
        clock=SystemClock(),
        seconds=seconds,
    )


async def planned(client: KubeClient, *bodies: Body, **options: Any) -> list[PlannedDocument]:
    """The documents of the plan, in the order of the source."""
    plan = (await surveyed(client, *bodies, **options)).plan
    return sorted(plan.documents, key=lambda document: document.index)


async def one(client: KubeClient, body: Body, **options: Any) -> PlannedDocument:
    (document,) = await planned(client, body, **options)
    return document


async def applied(client: KubeClient, *bodies: Body, **options: Any) -> None:
    for body in bodies:
        await client.apply(stamped(body, EARLIER), **options)


async def defined(client: KubeClient, definition: Body) -> None:
    """Apply a definition, and wait until its kind is served."""
    await applied(client, definition)
    async with asyncio.timeout(10):
        while True:
            try:
                await client.resource_for(WIDGET["apiVersion"], WIDGET["kind"])
            except KubeUnknownKind:
                await asyncio.sleep(0.02)
            else:
                return


def codes(document: PlannedDocument) -> set[WarningCode]:
    return {warning.code for warning in document.warnings}
