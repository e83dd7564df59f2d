"""`locktender deployments source`: what was deployed, to edit and redeploy."""

from locktender.cli.client import open_client
from locktender.cli.connection import connect
from locktender.cli.exits import CommandError, Exit
from locktender.cli.options import DEFAULT_WORKSPACE, JsonOption, TaskArgument, TokenOption, UrlOption, WorkspaceOption
from locktender.cli.output import Output
from locktender.cli.running import finish


def source(
    task_id: TaskArgument,
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """What a deployment deploys, as it is stored: secrets are withheld. Edit it for `redeploy -f`."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        async with open_client(connect(url, token), workspace) as api:
            found = await api.source(task_id)
        output.result(found)
        if not as_json:
            stored = found["source"]
            text = stored.get("manifests") or stored.get("text")
            if text is None and stored.get("template"):
                raise CommandError(
                    Exit.CONFLICT,
                    f"it is the template {stored['template']} of the catalogue, which has no text of its own here",
                    f"See: locktender templates show {stored['template']}",
                )
            output.text(text or "")
        return Exit.OK

    finish(output, work())
