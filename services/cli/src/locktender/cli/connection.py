"""Where the API is and what opens it: options, then the environment, then the state folder of a local system."""

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from locktender.cli.exits import CommandError, Exit

CONNECTION_FILE = "connection.json"


@dataclass(frozen=True, slots=True)
class Connection:
    """An API and a token for it. `kubeconfig` and `database_url` are known of a local system only."""

    url: str
    token: str = field(repr=False)
    kubeconfig: Path | None = None
    database_url: str | None = field(default=None, repr=False)


def state_folder() -> Path:
    """`LOCKTENDER_STATE`, else `.locktender` in the current folder."""
    return Path(os.environ.get("LOCKTENDER_STATE", ".locktender")).absolute()


def connect(url: str | None, token: str | None) -> Connection:
    """The connection for a command.

    Raises:
        CommandError: nothing says where the API is, or what says so cannot be used.
    """
    url = url or os.environ.get("LOCKTENDER_URL")
    token = token or os.environ.get("LOCKTENDER_TOKEN")
    local = _local()
    if url is None and local is not None:
        return _checked(Connection(local.url, token or local.token, local.kubeconfig, local.database_url))
    if url is None:
        raise CommandError(
            Exit.UNAVAILABLE,
            "no API is known here",
            "Start one with `locktender up`, or set LOCKTENDER_URL and LOCKTENDER_TOKEN.",
        )
    if token is None:
        raise CommandError(Exit.DENIED, f"no token for {url}", "Set LOCKTENDER_TOKEN or pass --token.")
    return _checked(Connection(url.rstrip("/"), token))


def _checked(connection: Connection) -> Connection:
    if not _is_address(connection.url):
        raise CommandError(Exit.USAGE, f"{connection.url} is no URL of an API", "It looks like http://127.0.0.1:8080.")
    if not re.fullmatch(r"[!-~]+", connection.token):
        raise CommandError(Exit.USAGE, "the token has characters that no token has", "Was it copied with a line break?")
    return connection


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _local() -> Connection | None:
    try:
        stored: Any = json.loads((state_folder() / CONNECTION_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(stored, dict):
        return None
    facts = cast("dict[str, str]", stored)
    try:
        return Connection(facts["url"], facts["token"], Path(facts["kubeconfig"]), facts["databaseUrl"])
    except KeyError:
        return None
