"""What survives a restart: certificates, the admin token, added tokens and the port, in one private directory.

Objects survive where the cluster is told to persist them, in a journal of their own; else a restarted cluster is
empty.
"""

import contextlib
import fcntl
import json
import os
import secrets
import socket
from collections.abc import Generator
from pathlib import Path

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError
from locktender.embedded.cluster.certificates import Certificates, make_certificates
from locktender.embedded.cluster.kubeconfig import kubeconfig
from locktender.embedded.cluster.shapes import Obj, is_obj

HOST = "127.0.0.1"


class StateInUse(LocktenderError):
    """Another process serves from the directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"another sandbox cluster serves from {path}; stop it, or choose another state directory")


class StateDirectory:
    """The directory of one cluster. Files are 0600, the directory 0700."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)

    @property
    def journal_file(self) -> Path:
        """Where objects are saved, if they are."""
        return self.path / "objects.jsonl"

    @contextlib.contextmanager
    def held(self) -> Generator[None, None, None]:
        """Hold the directory for one process.

        Raises:
            StateInUse: another process holds it.
        """
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise StateInUse(self.path) from None
        finally:
            os.close(handle)

    @property
    def certificate_file(self) -> Path:
        return self.path / "server.crt"

    @property
    def key_file(self) -> Path:
        return self.path / "server.key"

    def certificates(self, clock: Clock) -> Certificates:
        """The certificates, made on first use."""
        authority = self.path / "ca.crt"
        # The authority is written last, so that a start that was cut short begins again.
        if not authority.exists():
            made = make_certificates(clock.now())
            self._write(self.certificate_file, made.server)
            self._write(self.key_file, made.server_key)
            self._write(authority, made.authority)
        return Certificates(authority.read_bytes(), self.certificate_file.read_bytes(), self.key_file.read_bytes())

    def admin_token(self) -> str:
        """The token of the administrator, made on first use."""
        file = self.path / "token"
        if not file.exists():
            self._write(file, secrets.token_urlsafe(32).encode())
        return file.read_text()

    def tokens(self) -> dict[str, Obj]:
        """Entries of added tokens by the digest of the token."""
        file = self.path / "tokens.json"
        if not file.exists():
            return {}
        table: object = json.loads(file.read_text())
        return {digest: entry for digest, entry in table.items() if is_obj(entry)} if is_obj(table) else {}

    def keep_token(self, digest: str, entry: Obj) -> None:
        """Remember an added token over restarts."""
        self._write(self.path / "tokens.json", json.dumps(self.tokens() | {digest: entry}).encode())

    def listen(self, port: int) -> socket.socket:
        """A bound socket on the loopback address; port 0 is the port of last time, or a free one that is kept.

        Raises:
            OSError: the port that was asked for is taken.
        """
        file = self.path / "port"
        if port == 0 and file.exists():
            with contextlib.suppress(OSError, ValueError):
                return _bound(int(file.read_text()))
        listener = _bound(port)
        self._write(file, str(listener.getsockname()[1]).encode())
        return listener

    def write_kubeconfig(self, server: str, authority: bytes, token: str) -> Path:
        """Write `kubeconfig.yaml` and return where it is."""
        file = self.path / "kubeconfig.yaml"
        self._write(file, kubeconfig(server, authority, token).encode())
        return file

    def _write(self, file: Path, content: bytes) -> None:
        # Whole or not at all: a reader never sees half a file, and it is private from its first byte on.
        fresh = file.with_name(f".{file.name}.new")
        fresh.unlink(missing_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        fresh.replace(file)


def _bound(port: int) -> socket.socket:
    # The protocol is named because asyncio turns Nagle's algorithm off only on sockets that say they are TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
    except OSError:
        listener.close()
        raise
    return listener
