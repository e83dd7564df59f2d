"""`locktender events`: what was recorded about a deployment."""

from rich.text import Text

from locktender.cli.client import open_client
from locktender.cli.connection import connect
from locktender.cli.exits import Exit
from locktender.cli.options import DEFAULT_WORKSPACE, JsonOption, TaskArgument, TokenOption, UrlOption, WorkspaceOption
from locktender.cli.output import Output
from locktender.cli.running import finish

_PAGES = 1000


def events(
    task_id: TaskArgument,
    *,
    after: int = 0,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Every event of one deployment, oldest first; one JSON object a line with --json."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        last = after
        async with open_client(connect(url, token), workspace) as api:
            for _ in range(_PAGES):
                page = (await api.events(task_id, last))["events"]
                for event in page:
                    output.result(event)
                    if not as_json:
                        output.say(_line(event))
                if not page:
                    break
                last = page[-1]["revision"]
        return Exit.OK

    finish(output, work())


def _line(event: dict[str, object]) -> Text:
    moment = str(event["createdAt"])[11:23]
    return Text.assemble(
        (f"{event['revision']:>4} {moment} ", "dim"), (f"{event['kind']:<18}", "bold"), str(event["message"])
    )
