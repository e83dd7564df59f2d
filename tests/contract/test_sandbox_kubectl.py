"""The sandbox cluster seen through the real kubectl: what people type, and what they read."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from locktender.testkit.cluster import sandbox_cluster

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")
DEADLINE = 30.0

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:1", ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example.dev}
spec:
  group: shop.example.dev
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: {type: integer, minimum: 1, description: How large it is.}}
"""
WIDGET = "{apiVersion: shop.example.dev/v1, kind: Widget, metadata: {name: one}, spec: {size: 3}}\n"
NEWER_IMAGE = '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:4"}]}}}}'


@dataclass(frozen=True, slots=True)
class Said:
    """What kubectl printed and how it ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with the kubeconfig of one cluster, in one directory."""

    home: Path

    async def __call__(self, command: str, *, stdin: str = "") -> Said:
        assert KUBECTL is not None
        child = await asyncio.create_subprocess_exec(
            KUBECTL,
            *(f"--kubeconfig={self.home / 'config'}", f"--cache-dir={self.home / 'cache'}"),
            *command.split(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.home,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
        )
        async with asyncio.timeout(DEADLINE):
            out, err = await child.communicate(stdin.encode())
        return Said(child.returncode or 0, out.decode(), err.decode())

    async def ok(self, command: str, *, stdin: str = "") -> str:
        said = await self(command, stdin=stdin)
        assert said.code == 0, f"kubectl {command}: {said.err}"
        return said.out


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    async with sandbox_cluster(pace=0.02) as cluster:
        (tmp_path / "config").write_text(cluster.kubeconfig)
        (tmp_path / "web.yaml").write_text(WEB)
        (tmp_path / "newer.yaml").write_text(WEB.replace("nginx:1", "nginx:2"))
        yield Kubectl(tmp_path)


async def test_it_finds_out_what_the_cluster_serves(kubectl: Kubectl) -> None:
    version = await kubectl.ok("version")
    resources = await kubectl.ok("api-resources")
    versions = await kubectl.ok("api-versions")
    explained = await kubectl.ok("explain deployment.spec.strategy.rollingUpdate")

    assert "Server Version: v1.37" in version
    assert "skew" not in version
    assert [line.split() for line in resources.splitlines() if line.startswith("deployments ")] == [
        ["deployments", "deploy", "apps/v1", "true", "Deployment"]
    ]
    assert {"apps/v1", "v1", "batch/v1", "autoscaling/v2"} <= set(versions.split())
    assert "maxSurge\t<IntOrString>" in explained


async def test_client_side_apply_creates_and_then_changes_nothing(kubectl: Kubectl) -> None:
    first = await kubectl.ok("apply -f web.yaml")
    before = await kubectl.ok("get deploy,svc web -o name --ignore-not-found")
    again = await kubectl.ok("apply -f web.yaml")
    changed = await kubectl.ok("apply -f newer.yaml")

    assert first.splitlines() == ["deployment.apps/web created", "service/web created"]
    assert before.split() == ["deployment.apps/web", "service/web"]
    assert again.splitlines() == ["deployment.apps/web unchanged", "service/web unchanged"]
    assert changed.splitlines() == ["deployment.apps/web configured", "service/web unchanged"]


async def test_server_side_apply_tells_the_conflict_and_takes_over_by_force(kubectl: Kubectl) -> None:
    await kubectl.ok("apply -f web.yaml")
    refused = await kubectl("apply --server-side --field-manager=other -f newer.yaml")
    forced = await kubectl.ok("apply --server-side --field-manager=other --force-conflicts -f newer.yaml")
    image = await kubectl.ok("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}")

    assert refused.code == 1
    assert 'conflict with "kubectl-client-side-apply" using apps/v1' in refused.err
    assert '.spec.template.spec.containers[name="main"].image' in refused.err
    assert "deployment.apps/web serverside-applied" in forced
    assert image == "nginx:2"


async def test_diff_shows_what_apply_would_change_and_changes_nothing(kubectl: Kubectl) -> None:
    await kubectl.ok("apply --server-side -f web.yaml")
    same = await kubectl("diff --server-side -f web.yaml")
    server = await kubectl("diff --server-side -f newer.yaml")
    client = await kubectl("diff -f newer.yaml")
    after = await kubectl("diff --server-side -f web.yaml")

    assert (same.code, same.out, after.code) == (0, "", 0)
    for said in (server, client):
        assert said.code == 1
        assert "+        image: nginx:2" in said.out or "+      - image: nginx:2" in said.out


async def test_get_prints_tables_names_and_documents(kubectl: Kubectl) -> None:
    await kubectl.ok("apply -f web.yaml")
    await kubectl.ok("rollout status deploy/web --timeout=20s")
    deployments = await kubectl.ok("get deploy")
    wide = await kubectl.ok("get deploy -o wide")
    pods = await kubectl.ok("get pods -l app=web --field-selector status.phase=Running -A")
    services = await kubectl.ok("get svc web --no-headers")
    document = await kubectl.ok("get deploy web -o yaml")
    none = await kubectl.ok("get pods -l app=other -o name")
    watched = await kubectl("get pods --watch --request-timeout=2s")
    events = await kubectl.ok("get events")
    missing = await kubectl("get pod nothing")
    everything = await kubectl.ok("get all -o name")

    assert deployments.splitlines()[0].split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert deployments.splitlines()[1].split()[:4] == ["web", "2/2", "2", "2"]
    assert wide.splitlines()[1].split()[-3:] == ["main", "nginx:1", "app=web"]
    assert [line.split()[2:4] for line in pods.splitlines()[1:]] == [["1/1", "Running"]] * 2
    assert services.split()[1:2] + services.split()[3:5] == ["ClusterIP", "<none>", "80/TCP"]
    assert "kind: Deployment\n" in document
    assert none == ""
    assert len(watched.out.splitlines()) == 3
    assert events.splitlines()[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert missing.err.strip() == 'Error from server (NotFound): pods "nothing" not found'
    assert {"service/web", "deployment.apps/web"} <= set(everything.split())


async def test_describe_reads_the_whole_object(kubectl: Kubectl) -> None:
    await kubectl.ok("apply -f web.yaml")
    await kubectl.ok("rollout status deploy/web --timeout=20s")
    deployment = await kubectl.ok("describe deployment web")
    pod = await kubectl.ok("describe pod -l app=web")
    service = await kubectl.ok("describe service web")

    assert "2 desired | 2 updated | 2 total | 2 available | 0 unavailable" in deployment
    assert "ScalingReplicaSet" in deployment
    assert "Image:          nginx:1" in pod
    assert "Endpoints:" in service


async def test_a_rollout_is_changed_in_many_ways_and_followed_to_its_end(kubectl: Kubectl) -> None:
    await kubectl.ok("apply -f web.yaml")
    for command, said in (
        ("wait --for=condition=Available deploy/web --timeout=20s", "condition met"),
        ("set image deploy/web main=nginx:3", "image updated"),
        ("rollout status deploy/web --timeout=20s", "successfully rolled out"),
        ("rollout restart deploy/web", "restarted"),
        ("rollout status deploy/web --timeout=20s", "successfully rolled out"),
        ("scale deploy web --replicas=1", "scaled"),
        ("label deploy web tier=front", "labeled"),
        ("annotate deploy web note=seen", "annotated"),
        (
            'patch deploy web -p {"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:4"}]}}}}',
            "patched",
        ),
        ('patch deploy web --type=merge -p {"spec":{"minReadySeconds":1}}', "patched"),
        ('patch deploy web --type=json -p [{"op":"remove","path":"/spec/minReadySeconds"}]', "patched"),
        ("rollout history deploy/web", "REVISION"),
    ):
        assert said in await kubectl.ok(command), command
    state = "{.spec.replicas} {.spec.template.spec.containers[*].image} {.metadata.labels.tier} {.spec.minReadySeconds}"
    found = await kubectl.ok(f"get deploy web -o jsonpath={state.replace(' ', '|')}")

    assert found == "1|nginx:4|front|"


async def test_namespaces_and_what_is_in_them_come_and_go(kubectl: Kubectl) -> None:
    created = [
        await kubectl.ok(command)
        for command in (
            "create namespace shop",
            "create deployment hi --image=nginx --port=80 --replicas=2 -n shop",
            "create configmap cm --from-literal=a=b -n shop",
            "create secret generic key --from-literal=a=b -n shop",
            "create job once --image=busybox -n shop",
            "create -f web.yaml -n shop",
        )
    ]
    secret = await kubectl.ok("get secret key -n shop -o jsonpath={.data.a}")
    job = await kubectl.ok("wait --for=condition=complete job/once -n shop --timeout=20s")
    again = await kubectl("create -f web.yaml -n shop")
    removed = await kubectl.ok("delete -f web.yaml -n shop")
    gone = await kubectl.ok("delete namespace shop --timeout=20s")
    missing = await kubectl("get namespace shop")

    assert [line for text in created for line in text.splitlines()] == [
        "namespace/shop created",
        "deployment.apps/hi created",
        "configmap/cm created",
        "secret/key created",
        "job.batch/once created",
        "deployment.apps/web created",
        "service/web created",
    ]
    assert (secret, missing.code) == ("Yg==", 1)
    assert "condition met" in job
    assert 'deployments.apps "web" already exists' in again.err
    assert 'deployment.apps "web" deleted' in removed
    assert 'namespace "shop" deleted' in gone


async def test_it_asks_who_one_is_and_what_one_may(tmp_path: Path) -> None:
    async with sandbox_cluster() as cluster:
        token = await cluster.add_token("reader", allowed=False, rules=({"effect": "allow", "verbs": ["get", "list"]},))
        (tmp_path / "config").write_text(cluster.kubeconfig_for(token))
        kubectl = Kubectl(tmp_path)
        read, write = await kubectl("auth can-i get pods"), await kubectl("auth can-i create deployments.apps")
        who = await kubectl.ok("auth whoami")
        refused = await kubectl("create namespace shop")

    assert (read.out.strip(), read.code) == ("yes", 0)
    assert (write.out.split()[0], write.code) == ("no", 1)
    assert "reader" in who
    assert 'User "reader" cannot create resource "namespaces"' in refused.err


async def test_mistakes_are_told_by_field(kubectl: Kubectl) -> None:
    unknown = await kubectl("apply -f -", stdin=WEB.replace("replicas: 2", "replica: 2"))
    template = "metadata: {labels: {app: web}}"
    mismatch = await kubectl("apply -f -", stdin=WEB.replace(template, "metadata: {labels: {app: x}}"))
    await kubectl.ok("apply -f web.yaml")
    other = WEB.replace("matchLabels: {app: web}", "matchLabels: {a: b}").replace(
        template, "metadata: {labels: {a: b}}"
    )
    immutable = await kubectl("apply -f -", stdin=other)
    logs = await kubectl("logs deploy/web")

    assert 'unknown field "spec.replica"' in unknown.err
    assert "`selector` does not match template `labels`" in mismatch.err
    assert "spec.selector: Invalid value:" in immutable.err
    assert "field is immutable" in immutable.err
    # The cluster runs no containers, so there is nothing to read.
    assert logs.code == 1


async def test_a_custom_kind_is_applied_listed_and_explained(kubectl: Kubectl) -> None:
    await kubectl.ok("apply -f -", stdin=CRD)
    await kubectl.ok("wait --for=condition=Established crd/widgets.shop.example.dev --timeout=20s")
    created = await kubectl.ok("apply -f -", stdin=WIDGET)
    applied = await kubectl.ok("apply --server-side -f -", stdin=WIDGET)
    listed = await kubectl.ok("get wd")
    explained = await kubectl.ok("explain widget.spec")
    refused = await kubectl("apply -f -", stdin=WIDGET.replace("size: 3", "size: 0"))
    patched = await kubectl.ok('patch widget one --type=merge -p {"spec":{"size":5}}')
    deleted = await kubectl.ok("delete widget one")

    assert (created.strip(), applied.strip()) == (
        "widget.shop.example.dev/one created",
        "widget.shop.example.dev/one serverside-applied",
    )
    assert [line.split() for line in listed.splitlines()] == [["NAME", "SIZE"], ["one", "3"]]
    assert "How large it is." in explained
    assert "should be greater than or equal to 1" in refused.err
    assert "patched" in patched
    assert "deleted" in deleted
