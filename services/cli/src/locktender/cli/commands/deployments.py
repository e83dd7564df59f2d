"""`locktender deployments`: list, show, watch and cancel."""

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from locktender.cli.client import open_client
from locktender.cli.connection import connect
from locktender.cli.exits import Exit
from locktender.cli.following import exit_of, follow
from locktender.cli.options import DEFAULT_WORKSPACE, JsonOption, TokenOption, UrlOption, WorkspaceOption
from locktender.cli.output import Output
from locktender.cli.render.plan import plan_text
from locktender.cli.render.timeline import timeline
from locktender.cli.render.words import status_text
from locktender.cli.running import finish

app = typer.Typer(no_args_is_help=True, help="Look at deployments and stop them.")

TaskArgument = Annotated[str, typer.Argument(help="The id of a deployment.")]


@app.command(name="list")
def list_(
    *,
    status: Annotated[list[str] | None, typer.Option("--status", help="Only this status. May repeat.")] = None,
    project: Annotated[str | None, typer.Option("-p", "--project", help="Only this project.")] = None,
    limit: Annotated[int, typer.Option(help="At most this many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where an earlier list ended.")] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """The newest deployments."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        asked: dict[str, str | list[str]] = {"limit": str(limit)}
        asked |= {"status": status} if status else {}
        asked |= {"project": project} if project else {}
        asked |= {"cursor": cursor} if cursor else {}
        async with open_client(connect(url, token), workspace) as api:
            page = await api.page(asked)
        output.result(page)
        if not as_json:
            output.console.print(_table(page["tasks"]))
            if page["nextCursor"]:
                output.say(Text(f"more: --cursor {page['nextCursor']}", style="dim"))
        return Exit.OK

    finish(output, work())


@app.command()
def show(
    task_id: TaskArgument,
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """One deployment: its resources, and what it waits for."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        async with open_client(connect(url, token), workspace) as api:
            snapshot = await api.snapshot(task_id)
        output.result(snapshot)
        if not as_json:
            output.console.print(timeline(snapshot))
        return Exit.OK

    finish(output, work())


@app.command()
def plan(
    task_id: TaskArgument,
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """What the latest run of a deployment was going to do, field by field."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        async with open_client(connect(url, token), workspace) as api:
            found = await api.plan(task_id)
        output.result(found)
        if not as_json:
            output.say(plan_text(found))
        return Exit.OK

    finish(output, work())


@app.command()
def watch(
    task_id: TaskArgument,
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Follow one deployment to its end; exit code 1 if it does not complete."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        async with open_client(connect(url, token), workspace) as api:
            return exit_of(await follow(api, output, task_id, stream_json=as_json))

    finish(output, work())


@app.command()
def cancel(
    task_id: TaskArgument,
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a deployment to stop. What was applied stays; nothing is deleted."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        async with open_client(connect(url, token), workspace) as api:
            snapshot = await api.cancel(task_id)
        output.result(snapshot)
        output.say(Text.assemble("deployment ", (task_id, "bold"), " is ", status_text(snapshot["task"])))
        return Exit.OK

    finish(output, work())


def _table(tasks: list[dict[str, Any]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("id", "name", "project", "status", "created", "waits for"):
        table.add_column(title, no_wrap=title == "id")
    for task in tasks:
        blocker: dict[str, str] = task.get("blockedBy") or {}
        created = str(task["createdAt"])[:19].replace("T", " ")
        table.add_row(
            task["id"], task["displayName"], task["project"], status_text(task), created, blocker.get("message", "")
        )
    return table
