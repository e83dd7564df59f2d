"""Kubeconfigs: inline data only. Whatever would run a program, read a file or skip a check is refused by name."""

import base64
import binascii
import ipaddress
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from locktender.contracts.kernel.errors import Rejected
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.faults import Findings, TooManyFindings, shown
from locktender.integrations.kube.json_text import json_values, read_json
from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object, as_text
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.syntax import read_yaml
from locktender.integrations.kube.tls import client_tls
from locktender.integrations.kube.tree import Builder, Malformed

LIMIT_BYTES = 65_536
_LIMITS = ManifestLimits(total_bytes=LIMIT_BYTES, documents=1, depth=20, aliases=0, nodes=5_000, findings=20)

_INLINE = "use {field}-data with the content in base64 (`kubectl config view --raw --flatten` does that)"
_CLUSTER_REFUSED = {
    "certificate-authority": _INLINE.format(field="certificate-authority"),
    "proxy-url": "remove it; the cluster is reached directly",
}
_USER_REFUSED = {
    "exec": "programs are not run; use a service account token instead (`kubectl create token NAME`)",
    "auth-provider": "auth providers are not run; use a service account token instead (`kubectl create token NAME`)",
    "tokenFile": "files are not read; put the token itself into `token`",
    "client-certificate": _INLINE.format(field="client-certificate"),
    "client-key": _INLINE.format(field="client-key"),
    "username": "basic authentication is not supported; use a token or a client certificate",
    "password": "basic authentication is not supported; use a token or a client certificate",
    "as": "impersonation is not supported; use credentials of the account itself",
    "as-uid": "impersonation is not supported; use credentials of the account itself",
    "as-groups": "impersonation is not supported; use credentials of the account itself",
    "as-user-extra": "impersonation is not supported; use credentials of the account itself",
}


def read_kubeconfig(text: str, *, pointer: str = "/kubeconfig") -> ClusterAccess:
    """The access that the current context, or else the only context, of a kubeconfig gives.

    Nothing is contacted and no file is read. Messages name fields, never values.

    Raises:
        Rejected: with a finding for every field that cannot be accepted.
    """
    findings = Findings(pointer, _LIMITS.findings, text.count("\n") + 1)
    access = None
    try:
        document = _document(text, findings)
        if document is not None:
            access = _Reader(document, findings).access()
    except TooManyFindings:
        pass
    if access is None or findings:
        raise findings.rejected() if findings else Rejected([])
    return access


def _document(text: str, findings: Findings) -> JsonObject | None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LIMIT_BYTES:
        findings.add("too-large", f"the kubeconfig has {size} bytes, more than the limit of {LIMIT_BYTES}")
        return None
    builder = Builder(_LIMITS, findings, block="")
    try:
        if json_values(text):
            values = [tree.value for tree in read_json(text, 1, builder)]
        else:
            read_yaml(text, 1, builder)
            tree = builder.take()
            values = [tree.value] if tree else []
    except Malformed as fault:
        findings.add("malformed-kubeconfig", f"the kubeconfig cannot be read: {fault.problem}", line=fault.line)
        return None
    if len(values) != 1 or not isinstance(values[0], dict):
        findings.add("malformed-kubeconfig", "the kubeconfig must be one mapping with clusters, users and contexts")
        return None
    return None if findings else values[0]


class _Reader:
    def __init__(self, document: JsonObject, findings: Findings) -> None:
        self._document = document
        self._findings = findings

    def access(self) -> ClusterAccess | None:
        context = self._context()
        if context is None:
            return None
        cluster = self._entry("clusters", "cluster", context.get("cluster"))
        user = self._entry("users", "user", context.get("user"))
        namespace = context.get("namespace")
        if not isinstance(namespace, str | None):
            self._fault("invalid-field", "context.namespace must be text; put it in quotes")
        if cluster is None or user is None:
            return None
        certificate, key = self._client_pair(user)
        return ClusterAccess(
            server=self._server(cluster),
            ca_pem=self._authority(cluster),
            token=self._token(user, other=certificate is not None),
            client_certificate_pem=certificate,
            client_key_pem=key,
            namespace=as_text(namespace) or None,
            tls_server_name=as_text(cluster.get("tls-server-name")) or None,
        )

    def _fault(self, code: str, message: str) -> None:
        self._findings.add(code, message)

    def _context(self) -> JsonObject | None:
        current = self._document.get("current-context")
        contexts = list(_named(self._document.get("contexts"), "context"))
        if current in (None, ""):
            if len(contexts) == 1:
                return contexts[0][1]
            self._fault("no-context", "current-context is not set; name one of the contexts in it")
            return None
        for name, context in contexts:
            if name == current:
                return context
        self._fault(
            "no-context", f"current-context {shown(str(current))!r} is not among the contexts of the kubeconfig"
        )
        return None

    def _entry(self, listing: str, field: str, name: Json) -> JsonObject | None:
        if not isinstance(name, str) or not name:
            self._fault("no-context", f"the context names no {field}; set context.{field}")
            return None
        for found, entry in _named(self._document.get(listing), field):
            if found == name:
                self._refuse(entry, field, _CLUSTER_REFUSED if field == "cluster" else _USER_REFUSED)
                return entry
        self._fault("no-context", f"the {field} {shown(name)!r} of the context is not among the {listing}")
        return None

    def _refuse(self, entry: JsonObject, field: str, refused: dict[str, str]) -> None:
        for key, advice in refused.items():
            if entry.get(key) not in (None, "", [], {}):
                self._fault("refused-field", f"{field}.{key} is not accepted: {advice}")

    def _server(self, cluster: JsonObject) -> str:
        if cluster.get("insecure-skip-tls-verify") not in (None, False):
            self._fault(
                "insecure-tls",
                "cluster.insecure-skip-tls-verify is not accepted: give certificate-authority-data instead",
            )
        server = as_text(cluster.get("server")).rstrip("/")
        fault = _server_fault(server)
        if fault:
            self._fault("invalid-server", f"cluster.server {fault}")
        return server

    def _authority(self, cluster: JsonObject) -> str | None:
        pem = self._pem(cluster, "cluster", "certificate-authority-data")
        if pem is None:
            return None
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(cadata=pem)
        except (ssl.SSLError, ValueError):
            self._fault("bad-certificate", "cluster.certificate-authority-data holds no certificate in PEM form")
        return pem

    def _client_pair(self, user: JsonObject) -> tuple[str | None, str | None]:
        certificate = self._pem(user, "user", "client-certificate-data")
        key = self._pem(user, "user", "client-key-data")
        if (certificate is None) != (key is None):
            missing = "client-key-data" if key is None else "client-certificate-data"
            if user.get(missing) in (None, ""):
                self._fault("incomplete-credentials", f"user.{missing} is missing; a client certificate needs both")
        if certificate is not None and "-----BEGIN CERTIFICATE-----" not in certificate:
            self._fault("bad-certificate", "user.client-certificate-data holds no certificate in PEM form")
        if key is not None and "PRIVATE KEY-----" not in key:
            self._fault("bad-key", "user.client-key-data holds no private key in PEM form")
        if key is not None and "ENCRYPTED" in key:
            self._fault("bad-key", "user.client-key-data is encrypted; give the key without a passphrase")
        if certificate is not None and key is not None and not self._findings and not _belong(certificate, key):
            self._fault("bad-key", "user.client-certificate-data and user.client-key-data do not belong together")
        return certificate, key

    def _token(self, user: JsonObject, *, other: bool) -> str | None:
        token = user.get("token")
        if token in (None, ""):
            # Somebody who was told about a refused field needs no second complaint about the lack of another.
            if not other and not self._findings:
                self._fault(
                    "no-credentials", "the user has neither token nor client-certificate-data; give one of them"
                )
            return None
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or " " in token:
            self._fault("bad-token", "user.token must be one line of ASCII text without spaces; put it in quotes")
            return None
        return token

    def _pem(self, entry: JsonObject, owner: str, field: str) -> str | None:
        value = entry.get(field)
        if value in (None, ""):
            return None
        try:
            return base64.b64decode("".join(as_text(value).split()), validate=True).decode("ascii") or None
        except (binascii.Error, ValueError):
            self._fault("bad-base64", f"{owner}.{field} is not a PEM file in base64")
            return None


def _belong(certificate: str, key: str) -> bool:
    try:
        client_tls(ClusterAccess(server="", client_certificate_pem=certificate, client_key_pem=key))
    except (ssl.SSLError, ValueError):
        return False
    return True


def _named(listing: Json, field: str) -> Iterator[tuple[str, JsonObject]]:
    for item in as_array(listing):
        entry = as_object(item)
        name = entry.get("name")
        if isinstance(name, str):
            yield name, as_object(entry.get(field))


def _server_fault(server: str) -> str | None:
    try:
        parts = urlsplit(server)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is not a URL"
    if not host or parts.scheme not in {"https", "http"} or not server.isascii() or not server.isprintable():
        return "must be a URL such as https://cluster.example:6443"
    if parts.username is not None or parts.query or parts.fragment:
        return "must not carry credentials, a query or a fragment"
    if parts.scheme == "http" and not _loopback(host):
        return "must use https; plain http is accepted for this machine only"
    return None


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
