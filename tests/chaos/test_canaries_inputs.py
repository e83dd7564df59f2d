"""Secrets that travel as inputs of templates, as answers and with redeploys are nowhere at rest, whatever the end."""

import base64
import json
import secrets
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import quote

import pytest

from locktender.embedded.cluster.kubeconfig import kubeconfig
from locktender.testkit.canaries import Cage, Canary, awkward, token
from locktender.testkit.lineages import answer, deploy_template, parked, redeploy
from locktender.testkit.scratch import scratch_dir
from locktender.testkit.searching import Heard, assert_search_works, at_rest, everywhere, store_without_compression
from locktender.testkit.system import SystemRig, running_system, tasks
from locktender.testkit.workloads import manifests, template, unique

pytestmark = [pytest.mark.timeout(300), pytest.mark.takes(seconds=60)]

_CREATED, _TITLE, _SUBMITTED, _EXTRA = token("created"), awkward("title"), awkward("submitted"), token("extra")
_ECHO, _AGAIN, _FORM, _ASKED = awkward("echo"), token("again"), token("form"), awkward("asked")
_REJECTED, _LATE, _PREVIEW, _KUBE, _EXEC = (token(stem) for stem in ("rejected", "late", "preview", "kube", "exec"))
_NAME, _SHAPE, _LOST = f"c{secrets.token_hex(10)}", token("shape"), token("lost")
_MARK = token("not-secret")
"""A value that is no secret: where the search finds it, the search works."""

CANARIES = [
    Canary("secret input on create", _CREATED),
    Canary("input that the caller calls secret", _TITLE),
    Canary("submitted input", _SUBMITTED),
    Canary("submitted input that is not required", _EXTRA),
    Canary("input that the cluster repeats in an error", _ECHO),
    Canary("secret input of a redeploy", _AGAIN),
    Canary("value of a Secret that comes with a redeploy", _FORM),
    Canary("value of a Secret that a redeploy asks for", _ASKED),
    Canary("value in an answer that is refused", _REJECTED),
    Canary("value in an answer that comes too late", _LATE),
    Canary("input of a preview or a rendering", _PREVIEW),
    Canary("token of a kubeconfig on input", _KUBE),
    Canary("argument of a refused exec plugin on input", _EXEC),
    Canary("input that breaks what a template comes to", _SHAPE),
    Canary("submitted input of a run that died", _LOST),
]
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}
URL = {"url": "db://admin:${{ inputs.admin_password }}@db", "copy": "${{ base64(inputs.admin_password) }}"}
TELLING = CONFIG_MAP | {"metadata": {"name": "${{ defaults.app_name }}-telling"}, "data": URL | {"mark": _MARK}}
"""An object that is no Secret, and whose author wrote a secret into it."""


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    with scratch_dir() as folder:
        (folder / "tmp").mkdir()
        talkative = {"TMPDIR": str(folder / "tmp"), "LOCKTENDER_LOG_LEVEL": "debug"}
        async with running_system(folder=folder, environment=talkative) as rig:
            yield rig


@pytest.mark.story(14)
async def test_no_input_is_anywhere_after_runs_of_every_ending(rig: SystemRig) -> None:
    heard = Heard()
    heard.listen(rig)
    await store_without_compression(rig)
    ends = [
        await _given_on_create(rig, heard),
        await _submitted(rig, heard),
        *await _refused_and_redeployed(rig, heard),
        *await _secrets_of_manifests(rig, heard),
        *await _templates_that_fail(rig, heard),
        await _died_with_its_answers(rig, heard),
    ]
    await _previewed(rig)
    for task in ends:
        await rig.events(task)
        for path in ("plan", "source", "redeploy"):
            await rig.ask("GET", tasks(f"/{task}/{path}"))
    await rig.ask("GET", tasks(), params={"project": "chaos"})
    await rig.ask("GET", "/v1/workspaces/main/projects/chaos/deployment-tasks")
    assert await rig.violations() == []
    found = await everywhere(rig, heard, Cage(CANARIES))
    assert not found, "\n".join(sorted({f"{hit.canary}: {hit.form} in {hit.place}" for hit in found}))
    await assert_search_works(rig, heard, _MARK, ends)


async def test_a_template_that_makes_a_name_of_a_secret_input_is_refused_and_the_value_is_nowhere(
    rig: SystemRig,
) -> None:
    named = CONFIG_MAP | {"metadata": {"name": "${{ inputs.admin_password }}"}}
    task = await deploy_template(rig, template(unique("named"), named), {"admin_password": _NAME})
    ended = await rig.ended(task)
    assert ended["task"]["failure"]["reason"] == "template-invalid"
    assert "named after a secret input" in ended["task"]["failure"]["message"]
    assert await at_rest(rig, Cage([Canary("name", _NAME)])) == []


async def _ended(rig: SystemRig, heard: Heard, task: str, status: str) -> dict[str, Any]:
    await heard.follow(rig, task)
    snapshot = await rig.ended(task)
    assert snapshot["task"]["status"] == status, snapshot["task"]
    return snapshot


async def _password(rig: SystemRig, instance: str) -> str:
    """What has reached the cluster, which is the one place for it."""
    _, stored = await rig.cluster.request("GET", f"/api/v1/namespaces/default/secrets/{instance}")
    return base64.b64decode(stored["data"]["admin"]).decode()


async def _given_on_create(rig: SystemRig, heard: Heard) -> str:
    given = {"admin_password": _CREATED, "title": _TITLE}
    task = await deploy_template(rig, template(unique("made"), TELLING), given, sensitiveKeys=["title"])
    snapshot = await _ended(rig, heard, task, "completed")
    assert await _password(rig, snapshot["task"]["instance"]) == _CREATED
    return task


async def _submitted(rig: SystemRig, heard: Heard) -> str:
    """Answers that are refused, one that is taken, one that comes too late."""
    inputs = {"api_token": {"type": "string", "default": ""}, "cups": {"type": "number", "default": "1"}}
    task = await deploy_template(rig, template(unique("asks"), TELLING, inputs=inputs))
    await parked(rig, task)
    right = {"admin_password": _REJECTED, "api_token": _REJECTED}
    plugin = {"command": "get-token", "args": [_EXEC], "env": [{"name": "T", "value": _EXEC}]}
    for wrong in (
        {"values": right | {"cups": _REJECTED}, "kubeconfig": rig.kubeconfig},
        {"values": right | {"cups": [_REJECTED]}, "kubeconfig": rig.kubeconfig},
        {"values": {"api_token": _REJECTED}, "kubeconfig": rig.kubeconfig},
        {"values": {"unknown": _REJECTED}, "kubeconfig": rig.kubeconfig},
        {"values": right, "kubeconfig": f"{_REJECTED}: ["},
        {"values": right, "kubeconfig": rig.kubeconfig.replace("token:", f"exec: {json.dumps(plugin)}\n    token:")},
        {"values": right, "kubeconfig": rig.kubeconfig, _REJECTED: _REJECTED},
        {"values": [_REJECTED], "kubeconfig": rig.kubeconfig},
    ):
        refused = await rig.ask("POST", tasks(f"/{task}/input"), json=wrong)
        assert refused.status_code == 400, refused.text
    twice = f'{{"values": {{"admin_password": {json.dumps(_REJECTED)}, "admin_password": {json.dumps(_REJECTED)}}}}}'
    refused = await rig.ask(
        "POST", tasks(f"/{task}/input"), content=twice, headers={"Content-Type": "application/json"}
    )
    assert refused.status_code == 400, refused.text
    status, _ = await rig.cluster.request("POST", "/sandbox/tokens", {"token": _KUBE, "user": "ada"})
    assert status == 201
    given = kubeconfig(rig.cluster.server, rig.cluster.ca_pem.encode(), _KUBE)
    await answer(rig, task, {"admin_password": _SUBMITTED, "api_token": _EXTRA, "cups": "2"}, kubeconfig=given)
    late = {"values": {"admin_password": _LATE, "api_token": _LATE}, "kubeconfig": rig.kubeconfig}
    assert (await rig.ask("POST", tasks(f"/{task}/input"), json=late)).status_code == 409
    snapshot = await _ended(rig, heard, task, "completed")
    assert await _password(rig, snapshot["task"]["instance"]) == _SUBMITTED
    return task


async def _refused_and_redeployed(rig: SystemRig, heard: Heard) -> list[str]:
    """The cluster repeats a value in every form it can think of, the run cleans up, a redeploy brings another value."""
    encoded = base64.b64encode(_ECHO.encode()).decode()
    html = json.dumps(_ECHO, ensure_ascii=False).replace("<", "\\u003c")
    urls = f"{quote(_ECHO, safe='')}, {quote(encoded, safe='')}"
    said = f"denied: {_ECHO!s} ({json.dumps(_ECHO)}, {html}, {encoded}, {urls}) is too weak"
    refused = {"verb": "patch", "resource": "services"}
    await rig.cluster.faults(refused | {"count": 1}, refused | {"status": 422, "message": said})
    first = await deploy_template(rig, template(unique("refused"), TELLING), {"admin_password": _ECHO})
    snapshot = await _ended(rig, heard, first, "failed")
    assert "[withheld]" in snapshot["task"]["failure"]["message"], snapshot["task"]["failure"]
    await rig.cluster.faults()
    second = await redeploy(rig, first, {"admin_password": _AGAIN}, displayName=f"with {_AGAIN}")
    snapshot = await _ended(rig, heard, second, "completed")
    assert await _password(rig, snapshot["task"]["instance"]) == _AGAIN
    return [first, second]


async def _secrets_of_manifests(rig: SystemRig, heard: Heard) -> list[str]:
    """Values of Secrets in manifests, which every redeploy needs again: they come along, or they are asked for."""
    name = unique("login")
    first = await rig.deploy(manifests(name, values={"admin": _FORM}, behaviour="slow:60"))
    await rig.until(first, "applying")
    assert await rig.cancel(first)
    await _ended(rig, heard, first, "cancelled")
    [asked] = (await rig.ask("GET", tasks(f"/{first}/redeploy"))).json()["asks"]
    key = asked["key"]
    second = await redeploy(rig, first, {key: _FORM})
    await rig.until(second, "applying")
    assert await rig.cancel(second)
    await _ended(rig, heard, second, "cancelled")
    assert await _password(rig, name) == _FORM
    third = await redeploy(rig, second)
    assert (await parked(rig, third))["task"]["asked"]["inputs"][0]["key"] == key
    await answer(rig, third, {key: _ASKED})
    await rig.until(third, "applying")
    assert await rig.cancel(third)
    await _ended(rig, heard, third, "cancelled")
    return [first, second, third]


async def _templates_that_fail(rig: SystemRig, heard: Heard) -> list[str]:
    """Errors that are about a value: of a name, of a shape, of an expression, of a field of the wrong type."""
    secret = "${{ inputs.admin_password }}"
    named = CONFIG_MAP | {"metadata": {"name": secret, "labels": {"app": secret}}}
    shapes: list[dict[str, Any]] = [
        named,
        {"apiVersion": secret, "kind": secret, "metadata": {"name": "x"}},
        CONFIG_MAP | {"metadata": {"name": "x"}, "data": {"a": "${{ inputs.admin_password.nothing() }}"}},
        {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"},
            "spec": {"ports": [{"port": secret, "protocol": secret}]},
        },
    ]  # fmt: skip
    ends: list[str] = []
    for shape in shapes:
        text = template(unique("fails"), shape)
        ends.append(await deploy_template(rig, text, {"admin_password": _SHAPE}))
        await _ended(rig, heard, ends[-1], "failed")
    return ends


async def _died_with_its_answers(rig: SystemRig, heard: Heard) -> str:
    task = await deploy_template(rig, template(unique("died"), TELLING))
    await parked(rig, task)
    rig.faults.arm("runner.after-effect")
    await answer(rig, task, {"admin_password": _LOST})
    await rig.faults.fired("runner.after-effect")
    await _ended(rig, heard, task, "failed")
    return task


async def _previewed(rig: SystemRig) -> None:
    source = {"kind": "template", "text": template(unique("preview"), TELLING)}
    body = {"source": source, "target": {"project": "chaos"}, "kubeconfig": rig.kubeconfig}
    inputs = {"admin_password": _PREVIEW}
    shown = await rig.ask("POST", tasks(":preview"), json=body | {"inputs": inputs})
    assert shown.status_code == 200, shown.text
    rendered = await rig.ask("POST", "/v1/workspaces/main/templates/guestbook:render", json={"inputs": inputs})
    assert rendered.status_code == 200, rendered.text
    written = {"kind": "template", "text": template(unique("written"), CONFIG_MAP | {"data": {"a": _PREVIEW}})}
    for wrong in (
        body | {"inputs": inputs | {"title": [_PREVIEW]}},
        body | {"inputs": inputs, "source": written},
        body | {"inputs": _PREVIEW},
        body | {"inputs": inputs, "source": {"kind": "template", "text": f"{_PREVIEW}: ["}},
        body | {"inputs": inputs, "source": {"kind": "template", "template": "no-such-template"}},
    ):
        for place in ("", ":preview"):
            refused = await rig.ask("POST", tasks(place), json=wrong)
            assert refused.is_client_error, refused.text
