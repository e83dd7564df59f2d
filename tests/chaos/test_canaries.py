"""Secrets that a caller hands over are nowhere but in the memory of the services and in the cluster they are for."""

import base64
import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from locktender.embedded.cluster.kubeconfig import kubeconfig
from locktender.testkit.canaries import Cage, Canary, awkward, short, token
from locktender.testkit.scratch import scratch_dir
from locktender.testkit.searching import Heard, assert_search_works, everywhere, store_without_compression
from locktender.testkit.system import SystemRig, running_system, tasks
from locktender.testkit.workloads import manifests, unique

pytestmark = [pytest.mark.timeout(300), pytest.mark.takes(seconds=45)]

_DATA, _STRING, _AWKWARD, _SHORT = token("data"), token("string"), awkward("awkward"), short()
_REGISTRY, _COPY, _ECHO = token("registry"), token("copy"), awkward("echo")
_KUBE, _BEARER, _PASSWORD, _BROKEN, _EXEC = (
    token("kube"),
    token("bearer"),
    token("password"),
    token("broken"),
    token("exec"),
)
_MARK = token("not-secret")
"""A value that is no secret: where the search finds it, the search works."""


def _client_pair() -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "canary")])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=36500))
        .sign(key, hashes.SHA256())
    )
    pem, encoding = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
    private = key.private_bytes(encoding, pem, serialization.NoEncryption()).decode()
    return certificate.public_bytes(encoding).decode(), private


_CERTIFICATE, _KEY = _client_pair()
CANARIES = [
    Canary("kubeconfig token", _KUBE),
    Canary("client key", _KEY),
    Canary("Secret data", _DATA),
    Canary("Secret stringData", _STRING),
    Canary("stringData that needs escapes", _AWKWARD),
    Canary("short stringData", _SHORT),
    Canary("password in a registry credential", _REGISTRY),
    Canary("value in kubectl's copy of a Secret", _COPY),
    Canary("value that the cluster repeats in an error", _ECHO),
    Canary("wrong bearer token", _BEARER),
    Canary("password in a refused kubeconfig", _PASSWORD),
    Canary("value in a manifest that cannot be read", _BROKEN),
    Canary("argument of a refused exec plugin", _EXEC),
]


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[SystemRig]:
    with scratch_dir() as folder:
        (folder / "tmp").mkdir()
        talkative = {"TMPDIR": str(folder / "tmp"), "LOCKTENDER_LOG_LEVEL": "debug"}
        async with running_system(folder=folder, environment=talkative) as rig:
            yield rig


@pytest.mark.story(14)
async def test_no_secret_is_anywhere_after_runs_of_every_ending(rig: SystemRig) -> None:
    heard = Heard()
    heard.listen(rig)
    await store_without_compression(rig)
    given = await _kubeconfig(rig)
    ends = [
        await _completed(rig, heard, given),
        await _failed(rig, heard, given, "secrets"),
        await _failed(rig, heard, given, "deployments"),
        await _cancelled(rig, heard, given),
        await _interrupted(rig, heard, given),
        await _credentials_lost(rig, heard, given),
    ]
    await _refused(rig)
    for task in ends:
        await rig.events(task)
    await rig.ask("GET", tasks(), params={"project": "chaos"})
    assert await rig.violations() == []
    cage = Cage(CANARIES)
    found = await everywhere(rig, heard, cage)
    assert not found, "\n".join(sorted({f"{hit.canary}: {hit.form} in {hit.place}" for hit in found}))
    await assert_search_works(rig, heard, _MARK, ends)


async def _completed(rig: SystemRig, heard: Heard, given: str) -> str:
    name = unique("completed")
    task = await rig.deploy(_application(name, values={"password": _STRING, "awkward": _AWKWARD, "pin": _SHORT}),
                            kubeconfig=given)  # fmt: skip
    await heard.follow(rig, task)
    assert (await rig.ended(task))["task"]["status"] == "completed"
    _, stored = await rig.cluster.request("GET", f"/api/v1/namespaces/default/secrets/{name}")
    assert base64.b64decode(stored["data"]["password"]).decode() == _STRING
    return task


async def _failed(rig: SystemRig, heard: Heard, given: str, refused: str) -> str:
    """The cluster repeats what it was sent, as admission webhooks do, when a document of one kind is refused."""
    name = unique("failed")
    encoded = base64.b64encode(_ECHO.encode()).decode()
    said = f"denied: password {_ECHO!s} ({json.dumps(_ECHO)}, {encoded}) is too weak; bearer {_KUBE}"
    await rig.cluster.faults({"verb": "patch", "name": name, "resource": refused, "status": 422, "message": said})
    task = await rig.deploy(_application(name, values={"password": _ECHO}), kubeconfig=given)
    await heard.follow(rig, task)
    snapshot = await rig.ended(task)
    assert snapshot["task"]["status"] == "failed"
    if refused != "secrets":
        # What it says about other documents is worth reading, without the values. Of a Secret nothing is repeated.
        assert "[withheld]" in snapshot["task"]["failure"]["message"], snapshot["task"]["failure"]
    await rig.cluster.faults()
    return task


async def _cancelled(rig: SystemRig, heard: Heard, given: str) -> str:
    task = await rig.deploy(_application(unique("cancelled"), behaviour="slow:60"), kubeconfig=given)
    await rig.until(task, "applying")
    assert await rig.cancel(task)
    await heard.follow(rig, task)
    assert (await rig.ended(task))["task"]["status"] == "cancelled"
    return task


async def _interrupted(rig: SystemRig, heard: Heard, given: str) -> str:
    task = await rig.deploy(_application(unique("interrupted"), behaviour="slow:60"), kubeconfig=given)
    await rig.until(task, "applying")
    await rig.kill("runner")
    await heard.follow(rig, task)
    assert (await rig.ended(task))["task"]["failure"]["reason"] == "interrupted"
    return task


async def _credentials_lost(rig: SystemRig, heard: Heard, given: str) -> str:
    rig.faults.arm("api.after-insert")
    task = await rig.deploy(_application(unique("lost")), kubeconfig=given)
    await heard.follow(rig, task)
    assert (await rig.ended(task))["task"]["failure"]["reason"] == "credentials-lost"
    return task


async def _refused(rig: SystemRig) -> None:
    """Requests that the API turns away, each with a secret in it."""
    source = {"kind": "manifests", "manifests": manifests(unique())}
    body: dict[str, Any] = {"source": source, "target": {"project": "chaos"}, "kubeconfig": rig.kubeconfig}
    user = {"username": "ada", "password": _PASSWORD}
    plugin = {"exec": {"command": "get-token", "args": [_EXEC], "env": [{"name": "T", "value": _EXEC}]}}
    broken = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData:\n  a: {_BROKEN}\n  a: {_BROKEN}\n b: ]"
    for wrong in (
        body | {"kubeconfig": _with_user(rig.kubeconfig, user)},
        body | {"kubeconfig": _with_user(rig.kubeconfig, plugin)},
        body | {"kubeconfig": f"{_PASSWORD}: ["},
        body | {"source": {"kind": "manifests", "manifests": broken}},
        body | {"source": {"kind": "manifests", "manifests": f"{{{_BROKEN}"}},
        body | {"unknown": _BROKEN},
    ):
        answer = await rig.ask("POST", tasks(), json=wrong)
        assert answer.is_client_error, answer.text
    half = json.dumps(body | {"kubeconfig": _PASSWORD})[:-40]
    answer = await rig.ask("POST", tasks(), content=half, headers={"Content-Type": "application/json"})
    assert answer.is_client_error, answer.text
    answer = await rig.ask("GET", tasks(), headers={"Authorization": f"Bearer {_BEARER}"})
    assert answer.status_code == 401, answer.text


async def _kubeconfig(rig: SystemRig) -> str:
    status, _ = await rig.cluster.request("POST", "/sandbox/tokens", {"token": _KUBE, "user": "ada"})
    assert status == 201
    pair = {"client-certificate-data": _CERTIFICATE, "client-key-data": _KEY}
    user = {name: base64.b64encode(pem.encode()).decode() for name, pem in pair.items()}
    text = kubeconfig(rig.cluster.server, rig.cluster.ca_pem.encode(), _KUBE)
    return _with_user(text, user | {"token": _KUBE})


def _with_user(text: str, user: dict[str, Any]) -> str:
    import yaml  # noqa: PLC0415 - one use

    document = yaml.safe_load(text)
    document["users"][0]["user"] = user
    return yaml.safe_dump(document)


def _application(name: str, *, behaviour: str | None = None, values: dict[str, str] | None = None) -> str:
    """Manifests with every kind of secret value, and a value that is none."""
    auths = json.dumps({"auths": {"registry.example.com": {"password": _REGISTRY}}})
    copy = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"old": _COPY}}
    more: list[dict[str, Any]] = [
        {
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
            "metadata": {"name": f"{name}-registry"},
            "data": {".dockerconfigjson": base64.b64encode(auths.encode()).decode()},
        },
        {
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": f"{name}-copied",
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(copy)},
            },
            "data": {"value": base64.b64encode(_DATA.encode()).decode()},
        },
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-mark"}, "data": {"mark": _MARK}},
    ]  # fmt: skip
    first = manifests(name, behaviour=behaviour, values=values or {"password": _STRING})
    return "\n---\n".join([first, *map(json.dumps, more)])
