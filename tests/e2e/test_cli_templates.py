"""Templates, inputs and redeploys as a script runs them: real processes, their JSON and their exit codes."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from locktender.cli.channel import Channel, http_client
from locktender.cli.client import ApiClient
from locktender.cli.commands.demo import SCENARIOS
from locktender.cli.connection import Connection
from locktender.cli.output import Output
from locktender.cli.scenarios.stage import Stage
from locktender.cli.stacks.client import StackClient
from locktender.testkit.commands import run
from locktender.testkit.system import SystemRig, running_system, tasks
from locktender.testkit.workloads import manifests, unique

pytestmark = [pytest.mark.timeout(240), pytest.mark.takes(seconds=45)]

CANARY = "canary-7731-password"


def template(image: str = "registry.example.com/tea:v1") -> str:
    return f"""\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {{name: tea}}
spec:
  title: Tea house
  defaults:
    app_name: {{type: string, value: "tea-${{{{ random(8) }}}}"}}
  inputs:
    cups: {{description: How many, type: number, default: '1', required: true}}
    host: {{description: Where, type: string, required: true}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: "${{{{ defaults.app_name }}}}"}}
data: {{HOST: "${{{{ inputs.host }}}}"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: "${{{{ defaults.app_name }}}}"}}
spec:
  replicas: ${{{{ inputs.cups }}}}
  selector: {{matchLabels: {{app: "${{{{ defaults.app_name }}}}"}}}}
  template:
    metadata: {{labels: {{app: "${{{{ defaults.app_name }}}}"}}}}
    spec: {{containers: [{{name: web, image: "{image}"}}]}}
"""


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    async with running_system(lease_seconds=10) as rig:
        yield rig


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tea.yaml"
    path.write_text(template(), encoding="utf-8")
    return path


async def test_the_catalogue_can_be_listed_searched_and_looked_at(rig: SystemRig) -> None:
    listed = await run(rig, "templates", "list", "--json")
    assert listed.code == 0, listed
    names = {entry["name"] for entry in listed.json["templates"]}
    assert {"guestbook", "whoami"} <= names
    found = await run(rig, "templates", "list", "--search", "guestbook", "--json")
    assert [entry["name"] for entry in found.json["templates"]] == ["guestbook"]
    assert "Guestbook" in (await run(rig, "templates", "list")).out
    shown = await run(rig, "templates", "show", "guestbook", "--json")
    assert [field["key"] for field in shown.json["inputs"]][:2] == ["replicas", "size"]
    told = await run(rig, "templates", "show", "guestbook")
    assert "one of small, medium, large" in told.out
    assert "deploy with: locktender deploy --template guestbook" in told.out
    unknown = await run(rig, "templates", "show", "no-such/../template", "--json")
    assert (unknown.code, unknown.json["exitCode"]) == (3, 3), unknown


async def test_rendering_prints_yaml_and_withholds_secrets(rig: SystemRig, file: Path) -> None:
    ran = await run(
        rig, "templates", "render", "guestbook", "--input", "replicas=7", "--input-stdin", "admin_password",
        stdin=f"{CANARY}\n",
    )  # fmt: skip
    assert ran.code == 0, ran
    assert ran.out.startswith("---\n")
    assert "replicas: 7" in ran.out
    assert CANARY not in ran.out + ran.err
    wrong = await run(rig, "templates", "render", "guestbook", "--input", "replicas=lots", "--json")
    assert (wrong.code, [each["code"] for each in wrong.json["findings"]]) == (2, ["not-a-number"]), wrong
    here = await run(rig, "templates", "render", str(file), "--input", "cups=3")
    assert (here.code, "replicas: 3" in here.out) == (0, True), here
    assert "nobody has set: host" in here.err
    refused = await run(rig, "templates", "render", "guestbook", "--local")
    assert refused.code == 2, refused


async def test_a_template_of_the_catalogue_is_deployed_with_its_inputs(rig: SystemRig) -> None:
    ran = await run(
        rig, "deploy", "--template", "guestbook", "--input", "replicas=1", "--input-stdin", "admin_password", "--wait",
        "--json", stdin=CANARY,
    )  # fmt: skip
    assert ran.code == 0, ran
    task = ran.json["task"]
    assert (task["status"], task["displayName"]) == ("completed", "guestbook")
    assert task["instance"].startswith("guestbook-")
    shown = await run(rig, "deployments", "show", task["id"])
    assert f"instance: {task['instance']}" in shown.out
    assert "├─ ✓ Render the template" in shown.out
    assert CANARY not in ran.out + ran.err + shown.out
    stored = await run(rig, "deployments", "source", task["id"], "--json")
    assert stored.json["source"]["inputs"] == {"replicas": "1"}
    assert stored.json["source"]["sensitiveKeys"] == ["admin_password"]


async def test_without_a_terminal_what_is_missing_parks_the_deployment_and_can_be_given_later(
    rig: SystemRig, file: Path
) -> None:
    ran = await run(rig, "deploy", "-f", str(file), "--input", "cups=2", "--wait", "--json")
    assert ran.code == 7, ran
    task = ran.json["task"]
    assert task["status"] == "blocked"
    assert f"locktender deployments input {task['id']}" in ran.err
    shown = await run(rig, "deployments", "show", task["id"])
    assert "host  Where  (string; required)" in shown.out
    watched = await run(rig, "deployments", "watch", task["id"], "--json")
    assert (watched.code, watched.lines[-1]["task"]["status"]) == (7, "blocked")

    wrong = await run(rig, "deployments", "input", task["id"], "--input", "cups=lots", "--json")
    assert wrong.code == 2, wrong
    assert "lots" not in wrong.out + wrong.err
    answers = ("--input", "host=h.example.com", "--input", "hots=h")
    given = await run(rig, "deployments", "input", task["id"], *answers, "--wait", "--json")
    assert (given.code, given.json["task"]["status"]) == (0, "completed"), given
    assert "ignored: hots; the template does not ask for it" in given.err
    assert "needs values" not in given.err
    late = await run(rig, "deployments", "input", task["id"], "--input", "host=x", "--json")
    assert (late.code, late.json["exitCode"]) == (4, 4), late


async def test_who_does_not_wait_is_told_beforehand_that_inputs_will_be_needed(rig: SystemRig, file: Path) -> None:
    ran = await run(rig, "deploy", "-f", str(file))
    assert ran.code == 7, ran
    assert "it will wait for inputs: host" in ran.out
    task = (await run(rig, "deployments", "list", "--status", "blocked", "--json")).json["tasks"]
    for each in task:
        stopped = await run(rig, "deployments", "cancel", each["id"], "--wait", "--json")
        assert (stopped.code, stopped.json["task"]["status"]) == (0, "cancelled"), stopped


async def test_a_failed_deployment_is_mended_under_the_same_name(rig: SystemRig, tmp_path: Path) -> None:
    broken, mended = tmp_path / "broken.yaml", tmp_path / "mended.yaml"
    broken.write_text(template("Registry.example.com/Tea:v1"), encoding="utf-8")
    mended.write_text(template(), encoding="utf-8")
    first = await run(rig, "deploy", "-f", str(broken), "--input", "host=h", "--input", "cups=2", "--wait", "--json")
    assert (first.code, first.json["task"]["status"]) == (1, "failed"), first
    old = first.json["task"]
    assert f"locktender deployments redeploy {old['id']}" in first.err

    ran = await run(rig, "deployments", "redeploy", old["id"], "-f", str(mended), "--wait", "--json")
    assert (ran.code, ran.json["task"]["status"]) == (0, "completed"), ran
    assert "warning: " in ran.err
    new = ran.json["task"]
    assert (new["predecessorId"], new["instance"]) == (old["id"], old["instance"])
    stored = await run(rig, "deployments", "source", new["id"], "--json")
    assert stored.json["source"]["inputs"] == {"cups": "2", "host": "h"}
    assert f"superseded by: {new['id']}" in (await run(rig, "deployments", "show", old["id"])).out
    assert f"in place of: {old['id']}" in (await run(rig, "deployments", "show", new["id"])).out
    again = await run(rig, "deployments", "redeploy", new["id"], "--json")
    assert (again.code, again.json["exitCode"]) == (4, 4), again


async def test_a_cancelled_deployment_with_a_secret_asks_for_it_again(rig: SystemRig) -> None:
    task = await _cancelled_with_a_secret(rig)
    source = await run(rig, "deployments", "source", task)
    assert CANARY not in source.out
    assert "kind: Deployment" in source.out
    again = await run(rig, "deployments", "redeploy", task, "--json")
    assert again.code == 7, again
    new = again.json["task"]["id"]
    asked = (await rig.until(new, "blocked"))["task"]["asked"]["inputs"]
    assert [field["sensitive"] for field in asked] == [True]
    given = await run(rig, "deployments", "input", new, "--input-stdin", asked[0]["key"], stdin=CANARY)
    assert given.code == 0, given
    await rig.until(new, "applying", "completed")
    assert (await run(rig, "deployments", "cancel", new)).code in {0, 4}


async def test_a_secret_that_is_given_with_the_redeploy_is_not_asked_for_again(rig: SystemRig) -> None:
    task = await _cancelled_with_a_secret(rig)
    outlook = (await rig.ask("GET", tasks(f"/{task}/redeploy"))).json()
    again = await run(rig, "deployments", "redeploy", task, "--input-stdin", outlook["asks"][0]["key"], stdin=CANARY)
    assert again.code == 0, again
    new = (await rig.snapshot(task))["task"]["supersededBy"]
    await rig.until(new, "applying", "completed")
    assert (await run(rig, "deployments", "cancel", new)).code in {0, 4}


async def _cancelled_with_a_secret(rig: SystemRig) -> str:
    text = manifests(unique(), behaviour="slow:600", values={"password": CANARY})
    task = (await run(rig, "deploy", "-f", "-", "--json", stdin=text)).json["task"]["id"]
    await rig.until(task, "applying")
    stopped = await run(rig, "deployments", "cancel", task, "--wait")
    assert stopped.code == 0, stopped
    assert "documents were applied and stay in the cluster" in stopped.out
    return task


async def test_what_does_not_go_together_is_told(rig: SystemRig, file: Path) -> None:
    for command in (
        ("deploy", "-f", str(file), "--template", "guestbook"),
        ("deploy", "-f", "-", "--input-stdin", "x"),
        ("deploy", "--template", "guestbook", "--input", "novalue"),
        ("deploy", "-f", str(Path(__file__).parents[2] / "examples" / "guestbook.yaml"), "--input", "a=b"),
    ):
        ran = await run(rig, *command, "--json")
        assert (ran.code, ran.json["exitCode"]) == (2, 2), ran
    assert (await run(rig, "deploy", "--template", "nothing-like-it", "--json")).code == 3
    exposed = await run(rig, "deploy", "--template", "guestbook", "--input", f"admin_password={CANARY}", "--json")
    assert exposed.code == 0, exposed
    assert "admin_password stands in the list of processes" in exposed.err
    assert CANARY not in exposed.out + exposed.err


@pytest.mark.parametrize("name", ["cancel", "redeploy"])
async def test_a_scenario_of_the_demo_shows_what_it_promises(rig: SystemRig, name: str, capfd: Any) -> None:
    async with http_client(Connection(rig.system.url, rig.system.token)) as http:
        api, stacks = ApiClient(http, "main"), StackClient(Channel(http), "main")
        stage = Stage(api, stacks, Output(as_json=False), rig.folder, rig.kubeconfig)
        result = await SCENARIOS[name](stage)
    told = capfd.readouterr().out
    assert result["scenario"] == name
    if name == "cancel":
        assert result["status"] == "cancelled"
        assert len(result["outcome"]["applied"]) == result["resources"] == 3
        assert "stays in the cluster" in told
    else:
        assert result["status"] == "completed"
        assert result["failed"]["instance"] == result["instance"]
        assert result["lineage"]["predecessorId"] == result["failed"]["deploymentId"]
        assert f"superseded by {result['deploymentId']}" in told
    assert json.loads(json.dumps(result)) == result


async def test_nothing_of_this_broke_an_invariant(rig: SystemRig) -> None:
    assert await rig.violations() == []
