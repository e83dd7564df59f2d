"""`locktender deploy`: manifests from a file or standard input."""

from typing import Annotated

import typer
from rich.text import Text

from locktender.cli.client import open_client
from locktender.cli.connection import connect
from locktender.cli.exits import Exit
from locktender.cli.following import exit_of, follow
from locktender.cli.options import (
    DEFAULT_PROJECT,
    DEFAULT_WORKSPACE,
    FileOption,
    ForceOption,
    JsonOption,
    KubeconfigOption,
    NamespaceOption,
    ProjectOption,
    ReplaceOption,
    TokenOption,
    UrlOption,
    WorkspaceOption,
)
from locktender.cli.output import Output
from locktender.cli.request import Given, request_of, title_of
from locktender.cli.running import finish


def deploy(
    *,
    file: FileOption,
    project: ProjectOption = DEFAULT_PROJECT,
    namespace: NamespaceOption = None,
    name: Annotated[str | None, typer.Option("--name", help="A name for people. Default: the file's.")] = None,
    force: ForceOption = False,
    replace: ReplaceOption = None,
    kubeconfig: KubeconfigOption = None,
    key: Annotated[str | None, typer.Option("--idempotency-key", help="The same key never deploys twice.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Follow it to its end; exit code 1 if it fails.")] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deploy Kubernetes manifests with your own kubeconfig."""
    output = Output(as_json=as_json)
    given = Given(file, project, namespace, kubeconfig, force, replace or [])

    async def work() -> Exit:
        connection = connect(url, token)
        body = request_of(given, connection) | {"displayName": name or title_of(file)}
        async with open_client(connection, workspace) as api:
            snapshot = await api.create(body, idempotency_key=key)
            task_id = snapshot["task"]["id"]
            output.say(Text.assemble("deployment ", (task_id, "bold"), f" is {snapshot['task']['status']}"))
            if wait:
                snapshot = await follow(api, output, task_id)
        output.result(snapshot)
        return exit_of(snapshot) if wait else Exit.OK

    finish(output, work())
