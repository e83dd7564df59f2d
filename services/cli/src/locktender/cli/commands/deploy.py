"""`locktender deploy`: manifests from a file or standard input."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from locktender.cli.client import open_client
from locktender.cli.connection import Connection, connect
from locktender.cli.exits import CommandError, Exit
from locktender.cli.following import exit_of, follow
from locktender.cli.options import DEFAULT_WORKSPACE, JsonOption, TokenOption, UrlOption, WorkspaceOption
from locktender.cli.output import Output
from locktender.cli.running import finish


def deploy(
    *,
    file: Annotated[list[str], typer.Option("-f", "--file", help="Manifests; - is standard input. May repeat.")],
    project: Annotated[str, typer.Option("-p", "--project", help="The project.")] = "default",
    namespace: Annotated[str | None, typer.Option("-n", "--namespace", help="Default: the kubeconfig's.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="A name for people. Default: the file's.")] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", help="Default: the local system's, else KUBECONFIG.")
    ] = None,
    key: Annotated[str | None, typer.Option("--idempotency-key", help="The same key never deploys twice.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Follow it to its end; exit code 1 if it fails.")] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deploy Kubernetes manifests with your own kubeconfig."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        connection = connect(url, token)
        body = {
            "source": {"kind": "manifests", "manifests": _manifests(file)},
            "target": {"project": project, "namespace": namespace},
            "displayName": name or _title(file),
            "kubeconfig": _kubeconfig(kubeconfig, connection),
        }
        async with open_client(connection, workspace) as api:
            snapshot = await api.create(body, idempotency_key=key)
            task_id = snapshot["task"]["id"]
            output.say(Text.assemble("deployment ", (task_id, "bold"), f" is {snapshot['task']['status']}"))
            if wait:
                snapshot = await follow(api, output, task_id)
        output.result(snapshot)
        return exit_of(snapshot) if wait else Exit.OK

    finish(output, work())


def _manifests(files: list[str]) -> str:
    return "\n---\n".join(sys.stdin.read() if file == "-" else _read(Path(file)) for file in files)


def _title(files: list[str]) -> str:
    return "manifests" if files[0] == "-" else Path(files[0]).stem[:200]


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
