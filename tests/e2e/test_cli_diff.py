"""`locktender diff` and the plan of a deployment, as a person or a script runs them."""

import json
from collections.abc import AsyncGenerator

import pytest

from locktender.testkit.commands import run
from locktender.testkit.system import SystemRig, running_system
from locktender.testkit.workloads import manifests, unique

pytestmark = [pytest.mark.timeout(240), pytest.mark.takes(seconds=30)]


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    async with running_system(lease_seconds=10) as rig:
        yield rig


async def test_a_diff_tells_what_a_deploy_would_do_before_and_after_it(rig: SystemRig) -> None:
    name = unique()
    text = manifests(name, values={"password": "canary-password-55aa"})
    before = await run(rig, "diff", "-f", "-", "--json", stdin=text)
    assert (before.code, before.json["summary"]["create"]) == (0, 4), before
    assert (await run(rig, "diff", "-f", "-", "--exit-code", "--json", stdin=text)).code == 6

    deployed = await run(rig, "deploy", "-f", "-", "--wait", stdin=text)
    assert deployed.code == 0, deployed
    assert "plan: 4 to create" in deployed.out

    after = await run(rig, "diff", "-f", "-", "--exit-code", stdin=text)
    assert (after.code, after.out.splitlines()[0]) == (0, "plan: 4 unchanged"), after
    changed = text.replace("hello", "good evening").replace("canary-password-55aa", "canary-password-66bb")
    told = await run(rig, "diff", "-f", "-", stdin=changed)
    assert told.code == 0, told
    assert "plan: 2 to change, 2 unchanged" in told.out
    assert 'data.GREETING: "hello" → "good evening"' in told.out
    assert "data.password: (withheld) differs" in told.out
    assert "canary" not in told.out


async def test_the_plan_of_a_deployment_can_be_read_afterwards(rig: SystemRig) -> None:
    deployed = await run(rig, "deploy", "-f", "-", "--wait", "--json", stdin=manifests(unique()))
    assert deployed.code == 0, deployed
    assert deployed.json["timeline"]["plan"]["create"] == 3
    task = deployed.json["task"]["id"]
    found = await run(rig, "deployments", "plan", task, "--json")
    assert (found.code, found.json["summary"]["create"]) == (0, 3), found
    assert "plan: 3 to create" in (await run(rig, "deployments", "plan", task)).out
    assert "plan: 3 to create" in (await run(rig, "deployments", "show", task)).out


async def test_what_is_refused_ends_a_diff_with_4_and_names_the_reason(rig: SystemRig) -> None:
    body = {"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": {"name": "w"}}
    refused = await run(rig, "diff", "-f", "-", stdin=json.dumps(body))
    assert refused.code == 4, refused
    assert "x Widget" in refused.out
    assert "does not know Widget" in refused.out


async def test_input_and_credentials_are_checked_as_for_a_deploy(rig: SystemRig) -> None:
    half = await run(rig, "diff", "-f", "-", "--json", stdin="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x")
    assert (half.code, half.json["exitCode"]) == (2, 2), half
    assert (await run(rig, "diff")).code == 2


async def test_a_template_is_planned_with_its_inputs_under_a_name_for_this_once(rig: SystemRig) -> None:
    inputs = ("--template", "guestbook", "--input", "expose=true", "--input-stdin", "admin_password")
    lacking = await run(rig, "diff", *inputs, "--json", stdin="canary-password-77cc")
    assert (lacking.code, lacking.json["error"]) == (2, "nothing can be planned without contact"), lacking
    more = ("--input", "contact=a@example.com", "--input", "contract=b")
    told = await run(rig, "diff", *inputs, *more, stdin="canary-password-77cc")
    assert told.code == 0, told
    first, *documents, last = told.out.splitlines()
    assert first == "plan: 7 to create"
    name = last.split()[1].rstrip(",")
    assert name.startswith("guestbook-")
    assert all(name in document for document in documents)
    assert "ignored: contract; the template does not ask for it" in told.err
    assert "canary" not in told.out + told.err


async def test_a_template_in_a_file_is_planned_as_well(rig: SystemRig) -> None:
    planned = await run(rig, "diff", "-f", "-", "--exit-code", "--json", stdin=template())
    assert (planned.code, planned.json["summary"]["create"]) == (6, 1), planned
    assert planned.json["instance"].startswith("tea-")
    wrong = await run(rig, "diff", "-f", "-", "--input", "cups=lots", "--json", stdin=template())
    assert (wrong.code, "lots" in wrong.out + wrong.err) == (2, False), wrong


def template() -> str:
    return """\
apiVersion: app.sealos.io/v1
kind: Template
metadata: {name: tea}
spec:
  defaults: {app_name: {type: string, value: "tea-${{ random(8) }}"}}
  inputs: {cups: {type: number, default: '1'}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "${{ defaults.app_name }}"}
"""


async def test_the_exit_codes_are_documented_where_people_look(rig: SystemRig) -> None:
    said = " ".join((await run(rig, "diff", "--help")).out.split())
    assert "0 if it would go well, with 4 if a document conflicts or is refused, and with 6" in said
