"""A preview says what the deployment would say: both read a template by the same rules."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from locktender.testkit.api import RunningApi, running_api
from locktender.testkit.cluster import SandboxCluster, sandbox_cluster
from locktender.testkit.database import TestDatabase
from locktender.testkit.servers import NatsServer

HEAD = """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: odd}
spec:
  defaults: {app_name: {type: string, value: 'odd-${{ random(8) }}'}}
---
"""


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with running_api(module_db, nats_server) as running:
        yield running


@pytest.fixture(scope="module")
async def cluster() -> AsyncGenerator[SandboxCluster]:
    async with sandbox_cluster() as running:
        yield running


async def previewed(api: RunningApi, cluster: SandboxCluster, resources: str) -> Any:
    body = {"source": {"kind": "template", "text": HEAD + resources}, "kubeconfig": cluster.kubeconfig}
    return await api.http.post(f"{api.path()}:preview", json=body)


async def test_a_preview_refuses_a_template_that_lacks_a_platform_variable(
    api: RunningApi, cluster: SandboxCluster
) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: '${{ SEALOS_NOBODY_KNOWS }}'}\n"
    answer = await previewed(api, cluster, text)
    assert answer.status_code == 400
    (fault,) = answer.json()["errors"]
    assert (fault["pointer"], fault["code"]) == ("/source", "missing-variable")
    assert "SEALOS_NOBODY_KNOWS" in fault["message"]


async def test_a_preview_of_a_template_without_resources_says_so(api: RunningApi, cluster: SandboxCluster) -> None:
    (fault,) = (await previewed(api, cluster, "# nothing\n")).json()["errors"]
    assert fault["code"] == "nothing-rendered"


async def test_a_preview_takes_every_character_that_the_deployment_takes(
    api: RunningApi, cluster: SandboxCluster
) -> None:
    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: "\\x7f\\L\\N"}\n'
    answer = await previewed(api, cluster, text)
    assert answer.status_code == 200, answer.text
    assert [document["action"] for document in answer.json()["documents"]] == ["create"]


async def test_faults_in_a_preview_name_the_object(api: RunningApi, cluster: SandboxCluster) -> None:
    same = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: same}\n"
    (fault,) = (await previewed(api, cluster, f"{same}---\n{same}")).json()["errors"]
    assert fault["message"].startswith("object 2: ConfigMap same is described twice, first as object 1")


async def test_a_malformed_predecessor_is_the_only_fault_of_a_request_without_a_source(
    api: RunningApi, cluster: SandboxCluster
) -> None:
    body = {"predecessorTaskId": "no-id", "kubeconfig": cluster.kubeconfig}
    answer = await api.http.post(api.path(), json=body)
    assert [each["pointer"] for each in answer.json()["errors"]] == ["/predecessorTaskId"]
