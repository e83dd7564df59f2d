"""The configuration of a NATS server, made from the table of rights in `locktender.contracts.kernel.permissions`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from locktender.contracts.kernel.permissions import RIGHTS, Rights

SyncInterval = Literal["always", "1s", "10s", "2m"]

_ADMIN = Rights(publish=(">",), subscribe=(">",), answers=True)


@dataclass(frozen=True, slots=True)
class Listeners:
    """Where a server listens: on loopback, unless it runs in a container of its own."""

    client: int
    monitor: int
    host: str = "127.0.0.1"


def embedded_config(
    name: str, ports: Listeners, store: Path, keys: Mapping[str, str], *, sync: SyncInterval, limit_bytes: int
) -> str:
    """The configuration of an embedded server.

    Args:
        name: server name, by which its supervisor recognises it.
        ports: where it listens.
        store: JetStream folder.
        keys: public NKey of each identity. An identity `admin`, where given, may do everything.
        sync: how often JetStream syncs to disk; `always` before each acknowledgement.
        limit_bytes: most that all streams together may store.
    """
    return "\n".join(
        (
            f"server_name: {_text(name)}",
            f'listen: "{ports.host}:{ports.client}"',
            f'http: "{ports.host}:{ports.monitor}"',
            "jetstream {",
            f"  store_dir: {_text(str(store))}",
            f"  max_file_store: {limit_bytes}",
            f"  sync_interval: {sync}",
            "}",
            accounts_block({identity: _text(key) for identity, key in keys.items()}),
        )
    )


def accounts_block(keys: Mapping[str, str]) -> str:
    """The accounts with one user for each of `keys`: identity to the text that stands for its public key."""
    rights: dict[str, Rights] = {**RIGHTS, "admin": _ADMIN}
    users = "".join(_user(identity, key, rights[identity]) for identity, key in keys.items())
    return (
        "accounts {\n  SYS { users: [] }\n  LT {\n    jetstream: enabled\n    users: [\n"
        f"{users}    ]\n  }}\n}}\nsystem_account: SYS\n"
    )


def _user(identity: str, key: str, rights: Rights) -> str:
    answers = "        allow_responses: true\n" if rights.answers else ""
    return (
        f"      # {identity}\n      {{ nkey: {key}, permissions {{\n"
        f"        publish {{ allow: [{_subjects(rights.publish)}] }}\n"
        f"        subscribe {{ allow: [{_subjects(rights.subscribe)}] }}\n"
        f"{answers}      }} }}\n"
    )


def _subjects(subjects: tuple[str, ...]) -> str:
    return "".join(f"\n          {_text(subject)}" for subject in subjects) + "\n        "


def _text(value: str) -> str:
    # Quoted always: a bare `$` would be read as a variable.
    return json.dumps(value, ensure_ascii=False)
