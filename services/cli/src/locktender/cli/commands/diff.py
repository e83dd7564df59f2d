"""`locktender diff`: what deploying would change, asked of the cluster, with nothing applied."""

from typing import Annotated, Any

import typer

from locktender.cli.client import open_client
from locktender.cli.connection import connect
from locktender.cli.exits import CommandError, Exit
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
from locktender.cli.render.plan import plan_text
from locktender.cli.request import Given, request_of, source_of
from locktender.cli.running import finish

_STUCK = ("conflict", "refused")
_MOVING = ("create", "change", "replace", "unknown")


def diff(
    *,
    file: FileOption,
    project: ProjectOption = DEFAULT_PROJECT,
    namespace: NamespaceOption = None,
    force: ForceOption = False,
    replace: ReplaceOption = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 6 if something would change.")] = False,
    kubeconfig: KubeconfigOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what deploying would change. Nothing is applied; Secrets are withheld.

    Ends with 0 if it would go well, with 4 if a document conflicts or is refused, and with 6 if something would change
    and --exit-code was given.
    """
    output = Output(as_json=as_json)
    given = Given(file, project, namespace, kubeconfig, force, replace or [])

    async def work() -> Exit:
        source = source_of(file, None)
        if source is None:
            raise CommandError(Exit.USAGE, "nothing to compare", "Give -f FILE.")
        connection = connect(url, token)
        async with open_client(connection, workspace) as api:
            plan = await api.preview(request_of(given, source, connection))
        output.result(plan)
        if not as_json:
            output.say(plan_text(plan))
        return _exit(plan["summary"], exit_code=exit_code)

    finish(output, work())


def _exit(summary: dict[str, Any], *, exit_code: bool) -> Exit:
    if any(summary[action] for action in _STUCK):
        return Exit.CONFLICT
    return Exit.CHANGES if exit_code and any(summary[action] for action in _MOVING) else Exit.OK
