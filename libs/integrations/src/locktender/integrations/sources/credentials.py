"""What opens a private repository, and how it reaches git without being seen."""

import os
import shlex
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from locktender.integrations.sources.address import host_of
from locktender.integrations.sources.errors import SourceRefused

_HERE: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Token:
    """A token for https, or a password. The default user is what GitHub calls an app; GitLab takes any."""

    secret: str = field(repr=False)
    username: str = "x-access-token"


@dataclass(frozen=True, slots=True)
class SshKey:
    """A private key in OpenSSH or PEM form, and the host keys that are trusted: nothing is trusted at first sight."""

    private_key: str = field(repr=False)
    known_hosts: str


Credentials = Token | SshKey


@dataclass(frozen=True, slots=True)
class Access:
    """What git is given. `secrets` are the texts that must not be shown."""

    configuration: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    ssh: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)


def access(url: str, scheme: str, credentials: Credentials | None, home: Path) -> Access:
    """How git reaches a checked address with these credentials.

    A token is a header in the environment of git alone, for the one host. A key for ssh has to be a file: it lies in
    `home` (0600), which the caller removes.

    Raises:
        SourceRefused: the credentials do not fit the address, or would be sent in clear.
    """
    match credentials:
        case Token(secret, username):
            return _header(url, scheme, username, secret)
        case SshKey(private_key, known_hosts):
            if scheme != "ssh":
                raise SourceRefused("a key for ssh needs an address for ssh")
            return Access(ssh=_ssh(home, private_key, known_hosts), secrets=(private_key,))
        case None:
            if scheme == "ssh":
                raise SourceRefused("an address for ssh needs a private key and known hosts")
            return Access()


def _header(url: str, scheme: str, username: str, secret: str) -> Access:
    if scheme in ("file", "ssh"):
        raise SourceRefused("a token needs an address for https")
    if scheme != "https" and host_of(url) not in _HERE:
        raise SourceRefused("a token is not sent over a connection that others can read; use https")
    if not (username + secret).isprintable() or ":" in username:
        raise SourceRefused("the token or its user name holds characters that are not taken")
    basic = b64encode(f"{username}:{secret}".encode()).decode("ascii")
    header = {f"http.{scheme}://{urlsplit(url).netloc}/.extraHeader": f"Authorization: Basic {basic}"}
    return Access(configuration=header, secrets=(secret, basic))


def _ssh(home: Path, private_key: str, known_hosts: str) -> str:
    key, hosts = home / "key", home / "hosts"
    for path, text in ((key, private_key), (hosts, known_hosts)):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text if text.endswith("\n") else f"{text}\n")
    options = (
        "BatchMode=yes",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "StrictHostKeyChecking=yes",
        f"UserKnownHostsFile={hosts}",
        "GlobalKnownHostsFile=/dev/null",
        "PasswordAuthentication=no",
        "ConnectTimeout=15",
    )
    return shlex.join(["ssh", "-F", "/dev/null", "-i", str(key), *(f"-o{option}" for option in options)])
