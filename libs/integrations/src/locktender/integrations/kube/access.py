"""How to reach one cluster, as values in memory."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """A server and the credentials for it. Its repr shows no secret, and nothing here names a file.

    Attributes:
        server: base URL without a trailing slash; https, or http to this machine's loopback.
        ca_pem: certificates to trust instead of the system's.
        namespace: the namespace of the context, when it names one.
        tls_server_name: the name to expect in the server's certificate instead of the host of `server`.
    """

    server: str
    ca_pem: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    client_certificate_pem: str | None = field(default=None, repr=False)
    client_key_pem: str | None = field(default=None, repr=False)
    namespace: str | None = None
    tls_server_name: str | None = None

    def secrets(self) -> tuple[str, ...]:
        """The values that no text leaving the process may contain; for a scrubber."""
        values = [self.token] if self.token else []
        if self.client_key_pem:
            body = [line for line in self.client_key_pem.splitlines() if line and not line.startswith("-----")]
            values += [self.client_key_pem, self.client_key_pem.strip(), "".join(body), *body]
        return tuple(dict.fromkeys(value for value in values if len(value) > 3))  # noqa: PLR2004 - shorter is no secret
