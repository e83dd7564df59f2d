"""Kubeconfigs: inline credentials are read, everything else is refused by the name of its field."""

import base64
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from locktender.contracts.kernel.errors import Finding, Rejected
from locktender.integrations.kube.kubeconfig import read_kubeconfig


def key_pair() -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "probe")])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=36_500))
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    return pem, secret


CERTIFICATE, KEY = key_pair()
OTHER_KEY = key_pair()[1]
LOCKED_KEY = KEY.replace("PRIVATE", "ENCRYPTED PRIVATE")


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def config(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **top: Any) -> str:
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": "https://cluster.example:6443", **(cluster or {})}},
            {"name": "other", "cluster": {"server": "https://other.example", "proxy-url": "http://ignored"}},
        ],
        "users": [{"name": "u", "user": {"token": "canary-token"} if user is None else user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "current-context": "x",
    }
    return json.dumps(body | top)


def refused(text: str) -> tuple[Finding, ...]:
    with pytest.raises(Rejected) as caught:
        read_kubeconfig(text)
    findings = caught.value.findings
    assert findings
    assert all(finding.pointer == "/kubeconfig" for finding in findings)
    assert all("canary" not in finding.message for finding in findings)
    return findings


def test_a_token_is_read_with_server_and_namespace() -> None:
    access = read_kubeconfig(config({"certificate-authority-data": b64(CERTIFICATE), "tls-server-name": "kube"}))
    assert access.server == "https://cluster.example:6443"
    assert access.token == "canary-token"
    assert access.ca_pem == CERTIFICATE
    assert access.namespace == "team"
    assert access.tls_server_name == "kube"


def test_a_client_certificate_is_read_and_leaves_no_file_open() -> None:
    before = set(Path("/proc/self/fd").iterdir()) if Path("/proc/self/fd").exists() else set()
    access = read_kubeconfig(config(user={"client-certificate-data": b64(CERTIFICATE), "client-key-data": b64(KEY)}))
    after = set(Path("/proc/self/fd").iterdir()) if before else set()
    assert (access.client_certificate_pem, access.client_key_pem) == (CERTIFICATE, KEY)
    assert after <= before


def test_yaml_is_read_like_json() -> None:
    text = (
        "apiVersion: v1\nkind: Config\ncurrent-context: ''\npreferences: {}\n"
        "clusters:\n- name: c\n  cluster:\n    server: https://cluster.example/prefix/\n"
        "users:\n- name: u\n  user: {token: abc}\ncontexts:\n- name: x\n  context: {cluster: c, user: u}\n"
    )
    access = read_kubeconfig(text)
    assert (access.server, access.token, access.namespace) == ("https://cluster.example/prefix", "abc", None)


def test_nothing_secret_shows_in_a_repr_and_everything_secret_is_named_for_the_scrubber() -> None:
    pair = {"client-certificate-data": b64(CERTIFICATE), "client-key-data": b64(KEY)}
    access = read_kubeconfig(config(user={"token": "canary-token", **pair}))
    assert "canary" not in repr(access)
    assert "PRIVATE" not in repr(access)
    secrets = access.secrets()
    assert "canary-token" in secrets
    assert KEY in secrets
    assert KEY.splitlines()[1] in secrets
    assert not any(secret.startswith("-----BEGIN CERTIFICATE") for secret in secrets)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("exec", {"command": "canary"}),
        ("auth-provider", {"name": "gcp"}),
        ("tokenFile", "/canary"),
        ("client-certificate", "/canary.crt"),
        ("client-key", "/canary.key"),
        ("username", "canary"),
        ("password", "canary"),
        ("as", "canary"),
        ("as-groups", ["canary"]),
    ],
)
def test_what_runs_a_program_or_reads_a_file_is_refused_by_name(field: str, value: object) -> None:
    [finding] = refused(config(user={field: value}))
    assert finding.code == "refused-field"
    assert finding.message.startswith(f"user.{field} is not accepted: ")


@pytest.mark.parametrize(
    ("cluster", "code", "words"),
    [
        ({"certificate-authority": "/ca.crt"}, "refused-field", "cluster.certificate-authority is not accepted"),
        ({"proxy-url": "http://p"}, "refused-field", "cluster.proxy-url is not accepted"),
        ({"insecure-skip-tls-verify": True}, "insecure-tls", "cluster.insecure-skip-tls-verify"),
        ({"server": "http://cluster.example"}, "invalid-server", "https"),
        ({"server": "cluster.example"}, "invalid-server", "cluster.server"),
        ({"server": ""}, "invalid-server", "cluster.server"),
        ({"server": "https://canary:canary@cluster.example"}, "invalid-server", "credentials"),
        ({"server": "https://[::1"}, "invalid-server", "URL"),
        ({"server": "https://cluster.example:99999"}, "invalid-server", "URL"),
        ({"server": "file:///canary"}, "invalid-server", "URL"),
        ({"certificate-authority-data": "%%%"}, "bad-base64", "cluster.certificate-authority-data"),
        ({"certificate-authority-data": b64("canary")}, "bad-certificate", "cluster.certificate-authority-data"),
    ],
)
def test_clusters_that_cannot_be_trusted_are_refused(cluster: dict[str, Any], code: str, words: str) -> None:
    [finding] = refused(config(cluster))
    assert finding.code == code
    assert words in finding.message


@pytest.mark.parametrize("server", ["http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:2"])
def test_plain_http_is_accepted_for_this_machine(server: str) -> None:
    assert read_kubeconfig(config({"server": server})).server == server


@pytest.mark.parametrize(
    ("user", "code"),
    [
        ({}, "no-credentials"),
        ({"token": "canary token"}, "bad-token"),
        ({"token": "canary\ntoken"}, "bad-token"),
        ({"token": 7}, "bad-token"),
        ({"client-certificate-data": b64(CERTIFICATE)}, "incomplete-credentials"),
        ({"client-certificate-data": b64("canary"), "client-key-data": b64(KEY)}, "bad-certificate"),
        ({"client-certificate-data": b64(CERTIFICATE), "client-key-data": b64("canary")}, "bad-key"),
        ({"client-certificate-data": b64(CERTIFICATE), "client-key-data": b64(OTHER_KEY)}, "bad-key"),
        ({"client-certificate-data": b64(CERTIFICATE), "client-key-data": "%%%"}, "bad-base64"),
        ({"client-certificate-data": b64(CERTIFICATE), "client-key-data": b64(LOCKED_KEY)}, "bad-key"),
    ],
)  # fmt: skip
def test_credentials_that_cannot_work_are_refused(user: dict[str, Any], code: str) -> None:
    assert [finding.code for finding in refused(config(user=user))] == [code]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "malformed-kubeconfig"),
        ("a: [", "malformed-kubeconfig"),
        ("", "malformed-kubeconfig"),
        ("text", "malformed-kubeconfig"),
        ("[" * 2_000, "malformed-kubeconfig"),
        ("x" * 65_537, "too-large"),
        ("a\0: b", "malformed-kubeconfig"),
        ("\ud800", "malformed-kubeconfig"),
        (config(**{"current-context": "gone"}), "no-context"),
        (config(contexts=[], **{"current-context": ""}), "no-context"),
        (config(contexts=None), "no-context"),
        (config(contexts=[{"name": "x", "context": {"cluster": "gone", "user": "u"}}]), "no-context"),
        (config(contexts=[{"name": "x", "context": {"cluster": "c"}}]), "no-context"),
        (config(contexts=[{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": 7}}]), "invalid-field"),
        (config(contexts="text", clusters=7, users={}), "no-context"),
    ],
)
def test_a_kubeconfig_that_leads_nowhere_is_refused(text: str, code: str) -> None:
    assert [finding.code for finding in refused(text)] == [code]


def test_every_fault_is_named_at_once() -> None:
    text = config({"insecure-skip-tls-verify": True, "server": "http://far.example"}, {"tokenFile": "/t", "as": "a"})
    codes = [finding.code for finding in refused(text)]
    assert codes == ["refused-field", "refused-field", "insecure-tls", "invalid-server"]


def test_another_pointer_can_be_given() -> None:
    with pytest.raises(Rejected) as caught:
        read_kubeconfig("", pointer="/cluster/kubeconfig")
    assert caught.value.findings[0].pointer == "/cluster/kubeconfig"
