"""TLS from memory: no certificate and no key of a cluster ever becomes a file that outlives the call."""

import os
import ssl
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress

from locktender.integrations.kube.access import ClusterAccess


def client_tls(access: ClusterAccess) -> ssl.SSLContext:
    """The context for connections to `access.server`. Raises `ssl.SSLError` or `ValueError` for unusable PEM."""
    context = ssl.create_default_context(cadata=access.ca_pem)
    # Cluster authorities often lack the key identifiers that newer Pythons insist on; the chain is verified anyway.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if access.client_certificate_pem is not None and access.client_key_pem is not None:
        pair = f"{access.client_certificate_pem.rstrip()}\n{access.client_key_pem.strip()}\n"
        with _readable_path(pair.encode("ascii")) as path:
            context.load_cert_chain(path, password=_no_passphrase)
    return context


def _no_passphrase() -> str:
    # Without an answer of ours OpenSSL would ask on the terminal, and wait.
    raise ValueError("the client key is encrypted")


@contextmanager
def _readable_path(content: bytes) -> Generator[str]:
    """A path under which OpenSSL can read `content`: anonymous memory where there is such a thing."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
        path = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp()
    try:
        os.write(descriptor, content)
        yield path
    finally:
        os.close(descriptor)
        if not path.startswith("/proc/"):
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108 - beside os.close, for the same descriptor
