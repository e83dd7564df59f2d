"""What the commands that bring manifests send: files, target, credentials, and how to apply."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locktender.cli.connection import Connection
from locktender.cli.exits import CommandError, Exit


@dataclass(frozen=True, slots=True)
class Given:
    """Options as they were given."""

    files: Sequence[str]
    project: str
    namespace: str | None
    kubeconfig: Path | None
    force: bool
    replace: Sequence[str]


def request_of(given: Given, connection: Connection) -> dict[str, Any]:
    """The body of a create or a preview.

    Raises:
        CommandError: there is no kubeconfig, or a file cannot be read.
    """
    return {
        "source": {"kind": "manifests", "manifests": _manifests(given.files)},
        "target": {"project": given.project, "namespace": given.namespace},
        "apply": {"force": given.force, "replace": list(given.replace)},
        "kubeconfig": _kubeconfig(given.kubeconfig, connection),
    }


def title_of(files: Sequence[str]) -> str:
    """A name for people."""
    return "manifests" if files[0] == "-" else Path(files[0]).stem[:200]


def _manifests(files: Sequence[str]) -> str:
    return "\n---\n".join(sys.stdin.read() if file == "-" else _read(Path(file)) for file in files)


def _kubeconfig(given: Path | None, connection: Connection) -> str:
    from_environment = os.environ.get("KUBECONFIG")
    chosen = given or connection.kubeconfig or (Path(from_environment) if from_environment else None)
    if chosen is None:
        raise CommandError(Exit.USAGE, "no kubeconfig", "Pass --kubeconfig FILE or set KUBECONFIG.")
    return _read(chosen)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(Exit.USAGE, f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(Exit.USAGE, f"{path} is not UTF-8 text") from error
