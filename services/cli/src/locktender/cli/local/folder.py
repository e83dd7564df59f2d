"""The state folder of a local system: its secrets, its logs and the file that says how to reach it."""

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from locktender.cli.connection import CONNECTION_FILE
from locktender.embedded.state import StateFolder
from locktender.integrations.identity.keys import new_key_text as new_identity_key
from locktender.integrations.objects.keys import new_key_text

_IDENTITY_KEY = "identity.pem"


@dataclass(frozen=True, slots=True)
class LocalSecrets:
    """What is made once and kept, each in a private file."""

    admin_token: str = field(repr=False)
    cursor_key: str = field(repr=False)
    instance_key: str = field(repr=False)
    objects_key: str = field(repr=False)
    identity_key: str = field(repr=False)

    @property
    def admin_token_sha256(self) -> str:
        """What the API is given instead of the token."""
        return hashlib.sha256(self.admin_token.encode()).hexdigest()


class LocalFolder:
    """One folder, one running system: its lock is held from `acquire` to `release`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = StateFolder(path / "system")

    def acquire(self) -> None:
        """Raises EmbeddedError when another `locktender up` runs here."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._state.acquire("system start")
        self.logs.mkdir(exist_ok=True)

    def release(self) -> None:
        """Let the next one in."""
        self._state.release()

    @property
    def logs(self) -> Path:
        """Where every process writes its log."""
        return self.path / "logs"

    @property
    def cluster(self) -> Path:
        """The sandbox cluster's own state."""
        return self.path / "cluster"

    @property
    def kubeconfig(self) -> Path:
        """The sandbox cluster's kubeconfig."""
        return self.cluster / "kubeconfig.yaml"

    @property
    def objects(self) -> Path:
        """Where states, plans and logs of stacks are kept, encrypted."""
        return self.path / "objects"

    def secrets(self) -> LocalSecrets:
        """The secrets of this folder, made at the first call."""
        return LocalSecrets(
            self._state.secret("admin.token", "lt_" + secrets.token_urlsafe(32)).strip(),
            self._state.secret("cursor.key", secrets.token_urlsafe(32)).strip(),
            self._state.secret("instance.key", secrets.token_urlsafe(32)).strip(),
            self._state.secret("objects.key", new_key_text()).strip(),
            self._identity_key(),
        )

    def _identity_key(self) -> str:
        # Making one takes longer than all else here, so it is made only where it is missing.
        made = "" if (self._state.path / _IDENTITY_KEY).exists() else new_identity_key()
        return self._state.secret(_IDENTITY_KEY, made).strip()

    def role_password(self, role: str) -> str:
        """The database password of one service's role."""
        return self._state.secret(f"{role}.password", secrets.token_urlsafe(24)).strip()

    def port(self, name: str) -> int | None:
        """The port that `name` had last time."""
        stored = self._state.read().get(f"port.{name}")
        return int(stored) if stored else None

    def remember_port(self, name: str, port: int) -> None:
        """Keep a port for the next start."""
        self._state.remember(**{f"port.{name}": str(port)})

    def publish(self, url: str, token: str, database_url: str) -> None:
        """Write the file by which commands find this system."""
        facts = {"url": url, "token": token, "kubeconfig": str(self.kubeconfig), "databaseUrl": database_url}
        written = self._state.write_private(CONNECTION_FILE, json.dumps(facts, indent=1) + "\n")
        written.replace(self.path / CONNECTION_FILE)

    def withdraw(self) -> None:
        """Remove that file: the system is gone."""
        (self.path / CONNECTION_FILE).unlink(missing_ok=True)
