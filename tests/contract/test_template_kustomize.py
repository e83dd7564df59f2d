"""Kustomize directories, built by the real kubectl: what comes out, and all that is refused before it runs."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from locktender.embedded.child import eventually
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.package import read_package
from locktender.integrations.templates.rendering import allocate, rendered
from locktender.integrations.templates.tools import Tools, found_tools
from locktender.integrations.templates.written import written
from locktender.testkit.clock import FakeClock

FILES = {
    "kustomization.yaml": """\
namePrefix: shop-
resources: [web.yaml, base]
configMapGenerator: [{name: page, files: [index.html=files/index.html], envs: [files/.env]}]
secretGenerator: [{name: login, literals: [user=ada], options: {disableNameSuffixHash: true}}]
patches:
  - path: replicas.yaml
  - target: {kind: Deployment}
    patch: |-
      - {op: add, path: /metadata/annotations, value: {docs: 'https://example.com'}}
replacements:
  - path: replacement.yaml
images: [{name: web, newTag: v2}]
transformers:
  - |-
    apiVersion: builtin
    kind: LabelTransformer
    metadata: {name: labels}
    labels: {team: blue}
    fieldSpecs: [{path: metadata/labels, create: true}]
""",
    "web.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template: {spec: {containers: [{name: web, image: 'web:v1'}]}}
""",
    "replicas.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n",
    "replacement.yaml": """\
source: {kind: Service, fieldPath: metadata.name}
targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.docs]}]
""",
    "files/index.html": "${{ random(8) }} stays as it is\n",
    "files/.env": "COLOUR=red\n",
    "base/kustomization.yml": "resources: [service.yaml]\n",
    "base/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n",
}


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where private folders are made; whatever happens, none is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert [path for path in tmp_path.iterdir() if path.name.startswith("locktender-")] == []


async def built(files: dict[str, str], tools: Tools | None = None, deadline: float = 30.0) -> list[dict[str, Any]]:
    package = read_package(files, name="shop")
    instance = allocate(package, {}, b"seed", None)
    found = await rendered(package, instance, {}, {}, namespace="n", clock=FakeClock(), tools=tools, deadline=deadline)
    return found.documents


async def refused(files: dict[str, str], tools: Tools | None = None, deadline: float = 30.0) -> TemplateFault:
    with pytest.raises(TemplateFault) as caught:
        await built(files, tools, deadline)
    return caught.value


def program(folder: Path, script: str) -> Tools:
    path = folder / "kubectl"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return Tools(kubectl=str(path))


def runs(pid: str) -> bool:
    """Whether a process runs; one that has ended and that nobody has looked after does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_directory_is_built_as_kubectl_builds_it() -> None:
    documents = await built(FILES)
    found = {each["kind"]: each for each in documents}
    assert set(found) == {"Deployment", "Service", "ConfigMap", "Secret"}
    web = found["Deployment"]
    assert (web["metadata"]["name"], web["spec"]["replicas"]) == ("shop-web", 3)
    assert web["metadata"]["annotations"]["docs"] == "shop-web"
    assert web["spec"]["template"]["spec"]["containers"][0]["image"] == "web:v2"
    assert found["ConfigMap"]["data"] == {"index.html": "${{ random(8) }} stays as it is\n", "COLOUR": "red"}
    assert found["Secret"]["metadata"]["name"] == "shop-login"
    assert {each["metadata"]["labels"]["team"] for each in documents} == {"blue"}
    [instance] = {each["metadata"]["labels"]["locktender.dev/instance"] for each in documents}
    assert instance.startswith("shop-")
    assert len(parse_manifests(written(documents))) == 4


async def test_overlays_reach_bases_beside_them() -> None:
    files = {
        "kustomization.yaml": "resources: [overlays/prod]",
        "overlays/prod/kustomization.yaml": "resources: [../../base/]\nnameSuffix: -prod",
        "base/kustomization.yaml": FILES["base/kustomization.yml"],
        "base/service.yaml": FILES["base/service.yaml"],
    }
    [service] = await built(files)
    assert service["metadata"]["name"] == "web-prod"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("resources: ['https://example.com/a.yaml']", "remote-resource"),
        ("resources: ['github.com/a/b']", "remote-resource"),
        ("resources: ['git@example.com:a/b']", "remote-resource"),
        ("resources: ['ssh://example.com/a']", "remote-resource"),
        ("resources: ['git::https://example.com/a']", "remote-resource"),
        ("resources: ['example.com/a.git/b']", "remote-resource"),
        ("resources: ['base?ref=main']", "remote-resource"),
        ("bases: ['https://example.com/a']", "remote-resource"),
        ("components: ['https://example.com/a']", "remote-resource"),
        ("crds: ['https://example.com/a']", "remote-resource"),
        ("configurations: ['https://example.com/a']", "remote-resource"),
        ("generators: ['https://example.com/a']", "remote-resource"),
        ("transformers: ['https://example.com/a']", "remote-resource"),
        ("validators: ['https://example.com/a']", "remote-resource"),
        ("patches: [{path: 'https://example.com/a'}]", "remote-resource"),
        ("patchesJson6902: [{path: 'https://example.com/a'}]", "remote-resource"),
        ("patchesStrategicMerge: ['https://example.com/a']", "remote-resource"),
        ("replacements: [{path: 'https://example.com/a'}]", "remote-resource"),
        ("openapi: {path: 'https://example.com/a'}", "remote-resource"),
        ("configMapGenerator: [{files: ['a=https://example.com/a']}]", "remote-resource"),
        ("secretGenerator: [{envs: ['https://example.com/a']}]", "remote-resource"),
        ("secretGenerator: [{env: 'https://example.com/a'}]", "remote-resource"),
        ('transformers: ["kind: PatchTransformer\\npath: https://example.com/a"]', "remote-resource"),
        ("transformers: [plugin.yaml]", "remote-resource"),
        ('transformers: ["apiVersion: example.com/v1\\nkind: Run"]', "plugin"),
        ("generators: [web.yaml]", "plugin"),
        ("resources: ['../outside']", "outside"),
        ("resources: ['base/../../outside']", "outside"),
        ("resources: ['/etc']", "outside"),
        ("configMapGenerator: [{files: ['/etc/passwd']}]", "outside"),
        ("secretGenerator: [{envs: ['../.env']}]", "outside"),
        ("resources: [missing.yaml]", "missing-file"),
        ("resources: [files]", "missing-file"),
        ("resources: [!!binary aHR0cHM6Ly9leGFtcGxlLmNvbQ==]", "unknown-tag"),
        ("generators: [base]", "missing-file"),
        ("helmCharts: [{name: x, repo: 'https://example.com'}]", "unknown-field"),
        ("helmChartInflationGenerator: [{chartName: x}]", "unknown-field"),
        ("Resources: ['https://example.com/a']", "unknown-field"),
        ("re\u017fources: ['https://example.com/a']", "unknown-field"),
        ("patches: [{Path: 'https://example.com/a'}]", "unknown-field"),
        ("resources: https://example.com/a", "bad-field"),
        ("resources: [{a: 1}]", "bad-field"),
        ("patches: [a]", "bad-field"),
    ],
)
async def test_what_is_remote_or_outside_is_refused_before_anything_runs(line: str, code: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    files = {**FILES, "kustomization.yaml": line, "plugin.yaml": 'path: "https:\\x2f/example.com"'}
    fault = await refused(files, program(tmp_path, f"touch {ran}"))
    assert fault.code == code
    assert not ran.exists()
    nested = {**FILES, "base/kustomization.yml": line, "base/plugin.yaml": "path: https://example.com"}
    if "base/.." not in line and "[base]" not in line and "[files]" not in line:
        assert (await refused(nested, program(tmp_path, f"touch {ran}"))).code in {code, "missing-file"}
    assert not ran.exists()


async def test_what_kubectl_is_given_is_what_was_checked_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    monkeypatch.setenv("CANARY", "in-the-environment")
    tools = program(tmp_path, f"/usr/bin/env >{seen}; /bin/cat package/kustomization.yaml >>{seen}")
    await built({"kustomization.yaml": "resources: &a !!seq [web.yaml]  # why", "web.yaml": "a: b"}, tools)
    text = seen.read_text()
    assert "in-the-environment" not in text
    assert text.endswith("---\nresources:\n- web.yaml\n")


async def test_a_fault_of_the_kustomization_is_told_without_our_folders() -> None:
    fault = await refused({**FILES, "web.yaml": "kind: [\n"})
    assert fault.code == "kustomize-failed"
    assert "web.yaml" in str(fault)
    assert "locktender-" not in str(fault)


async def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    tools = program(tmp_path, f"/bin/sleep 60 & echo $! >{pids}; echo $$ >>{pids}; wait")
    fault = await refused(FILES, tools, deadline=0.5)
    assert fault.code == "kustomize-slow"
    assert await eventually(lambda: not any(runs(pid) for pid in pids.read_text().split()), within=5)


async def test_a_cancelled_build_leaves_nothing_behind(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    tools = program(tmp_path, f"echo $$ >{pids}; exec /bin/sleep 60")

    async with asyncio.TaskGroup() as group:
        build = group.create_task(built(FILES, tools))
        assert await eventually(lambda: pids.exists() and bool(pids.read_text().strip()), within=10)
        build.cancel()
    assert not runs(pids.read_text().strip())


async def test_endless_output_is_refused(tmp_path: Path) -> None:
    fault = await refused(FILES, program(tmp_path, "exec /usr/bin/yes"))
    assert fault.code == "too-large"


async def test_without_kubectl_it_is_told_what_to_do(tmp_path: Path) -> None:
    assert (await refused(FILES, Tools())).code == "no-kubectl"
    assert (await refused(FILES, Tools(kubectl=str(tmp_path / "gone")))).code == "no-kubectl"


def test_kubectl_is_found_beside_this_python_as_well(tmp_path: Path) -> None:
    assert found_tools(path=str(tmp_path)).kubectl is not None
    assert found_tools(path=str(tmp_path)).helm is None
