"""Helm charts, as far as they can be tried without helm: a stand-in shows what the program is given and what we make
of what it writes."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.package import read_package
from locktender.integrations.templates.rendering import allocate, rendered
from locktender.integrations.templates.tools import Tools, found_tools
from locktender.testkit.clock import FakeClock

FILES = {
    "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "values.yaml": "replicas: 2\nhost: web\nadminPassword: ''\n",
    "templates/web.yaml": "kind: ConfigMap\n",
}
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"


def hook(events: str) -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: once, annotations: {{helm.sh/hook: '{events}'}}}}\n"


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where private folders are made; whatever happens, none is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert [path for path in tmp_path.iterdir() if path.name.startswith("locktender-")] == []


def stand_in(folder: Path, output: str, *, script: str = "") -> Tools:
    """A `helm` that notes its arguments, input, environment and files, and writes `output`."""
    (folder / "output").write_text(output)
    path = folder / "helm"
    path.write_text(
        "#!/bin/sh\n"
        f'for one in "$@"; do echo "$one"; done >{folder}/arguments\n'
        f"/bin/cat >{folder}/input\n"
        f"/usr/bin/env >{folder}/environment\n"
        f"/bin/cat chart/*.yaml chart/templates/*.yaml >{folder}/files\n"
        f"{script}\n"
        f"/bin/cat {folder}/output\n"
    )
    path.chmod(0o700)
    return found_tools(path=str(folder))


async def templated(
    tools: Tools, inputs: dict[str, str] | None = None, *, namespace: str | None = "shop", deadline: float = 30.0
) -> list[dict[str, Any]]:
    package = read_package(FILES)
    instance = allocate(package, {}, b"seed", None)
    found = await rendered(
        package, instance, {}, inputs or {}, namespace=namespace, clock=FakeClock(), tools=tools, deadline=deadline
    )
    return found.documents


async def refused(tools: Tools, inputs: dict[str, str] | None = None, deadline: float = 30.0) -> TemplateFault:
    with pytest.raises(TemplateFault) as caught:
        await templated(tools, inputs, deadline=deadline)
    return caught.value


async def test_a_chart_is_rendered_for_its_release_and_namespace(tmp_path: Path) -> None:
    [service] = await templated(stand_in(tmp_path, f"---\n# Source: web\n{SERVICE}"))
    name = service["metadata"]["labels"]["locktender.dev/instance"]
    assert name.startswith("web-")
    assert (tmp_path / "arguments").read_text().split() == [
        *("template", name, "./chart", "--namespace", "shop", "--include-crds", "--skip-tests", "--values", "-")
    ]


async def test_values_go_through_the_pipe_alone(tmp_path: Path) -> None:
    tools = stand_in(tmp_path, SERVICE)
    await templated(tools, {"replicas": "3", "host": "3", "adminPassword": "tulip-fields", "unheard": "of"})
    assert json.loads((tmp_path / "input").read_text()) == {
        "replicas": 3,
        "host": "3",
        "adminPassword": "tulip-fields",
    }
    for place in ("arguments", "environment", "files"):
        assert "tulip" not in (tmp_path / place).read_text()


async def test_helm_knows_no_user_no_cluster_and_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "in-the-environment")
    monkeypatch.setenv("KUBECONFIG", "/somebody/elses")
    await templated(stand_in(tmp_path, SERVICE))
    told = dict(line.split("=", 1) for line in (tmp_path / "environment").read_text().splitlines() if "=" in line)
    assert "in-the-environment" not in told.values()
    folder = told["TMPDIR"]
    assert folder.startswith(str(tmp_path / "locktender-"))
    for key in ("HOME", "KUBECONFIG", *(key for key in told if key.startswith("HELM_"))):
        assert told[key].startswith(f"{folder}/"), key
    assert told["HTTPS_PROXY"] == "http://127.0.0.1:9"


async def test_hooks_that_never_have_their_turn_here_are_left_out(tmp_path: Path) -> None:
    output = "---\n".join([SERVICE, hook("test"), hook("test-success, test-failure"), hook("post-delete,pre-rollback")])
    assert [each["kind"] for each in await templated(stand_in(tmp_path, output))] == ["Service"]


@pytest.mark.parametrize("events", ["pre-install", "post-install,post-upgrade", "test,pre-upgrade", "unheard-of"])
async def test_a_chart_that_relies_on_hooks_is_refused_with_their_names(events: str, tmp_path: Path) -> None:
    fault = await refused(stand_in(tmp_path, f"{SERVICE}---\n{hook(events)}"))
    assert fault.code == "helm-hook"
    assert "Pod once" in str(fault)


async def test_what_helm_complains_of_is_told(tmp_path: Path) -> None:
    fault = await refused(stand_in(tmp_path, "", script="echo 'Error: no host' >&2; echo $PWD/chart >&2; exit 1"))
    assert (fault.code, fault.problem) == ("helm-failed", "the chart cannot be rendered: Error: no host chart")


async def test_a_complaint_that_holds_a_secret_is_not_shown(tmp_path: Path) -> None:
    tools = stand_in(tmp_path, "", script="echo 'Error: tulip-fields is no good' >&2; exit 1")
    fault = await refused(tools, {"adminPassword": "tulip-fields"})
    assert fault.code == "helm-failed"
    assert "tulip" not in str(fault)


async def test_output_that_readers_disagree_on_is_refused_without_secrets(tmp_path: Path) -> None:
    tools = stand_in(tmp_path, f"{SERVICE}spec: {{a: 1, a: 2}}\n")
    assert (await refused(tools)).code == "bad-output"
    secret = stand_in(tmp_path, "kind: ConfigMap\ndata: {tulip-fields: 1, tulip-fields: 2}\n")
    fault = await refused(secret, {"adminPassword": "tulip-fields"})
    assert fault.code == "bad-output"
    assert "tulip" not in str(fault)


async def test_output_that_is_no_text_or_no_mapping_is_refused(tmp_path: Path) -> None:
    assert (await refused(stand_in(tmp_path, "- a\n"))).code == "bad-output"
    assert (await refused(stand_in(tmp_path, SERVICE, script="printf '\\377'"))).code == "bad-output"


async def test_a_helm_that_does_not_end_is_ended(tmp_path: Path) -> None:
    fault = await refused(stand_in(tmp_path, "", script="exec /bin/sleep 60"), deadline=0.5)
    assert fault.code == "helm-slow"


async def test_a_helm_that_reads_nothing_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "helm").write_text(f"#!/bin/sh\nexec 0<&-\nprintf '{SERVICE.strip()}'\n")
    (tmp_path / "helm").chmod(0o700)
    await templated(found_tools(path=str(tmp_path)), {"host": "x" * 500_000})


async def test_without_helm_it_is_told_what_to_do() -> None:
    fault = await refused(Tools())
    assert fault.code == "no-helm"
    assert "install helm" in str(fault)


async def test_a_value_that_does_not_fit_is_refused_without_the_value(tmp_path: Path) -> None:
    fault = await refused(stand_in(tmp_path, SERVICE), {"replicas": "many"})
    assert fault.code == "not-a-number"
    assert "many" not in str(fault)
    assert not (tmp_path / "arguments").exists()
