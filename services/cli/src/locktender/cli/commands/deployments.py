"""`locktender deployments`: everything about deployments that were asked for."""

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from locktender.cli.client import open_client
from locktender.cli.commands.answering import input_
from locktender.cli.commands.redeploy import redeploy
from locktender.cli.commands.source import source
from locktender.cli.connection import connect
from locktender.cli.exits import EXIT_CODES, Exit
from locktender.cli.following import Answering, detaching, exit_of, follow, learn_beginning, tell_end
from locktender.cli.forms.terminal import person
from locktender.cli.options import (
    DEFAULT_WORKSPACE,
    JsonOption,
    KubeconfigOption,
    NoPromptOption,
    TaskArgument,
    TokenOption,
    UrlOption,
    WorkspaceOption,
)
from locktender.cli.output import Output
from locktender.cli.render.facts import asked_lines
from locktender.cli.render.plan import plan_text
from locktender.cli.render.timeline import room_of
from locktender.cli.render.timing import Stages
from locktender.cli.render.tree import tree
from locktender.cli.render.words import status_text
from locktender.cli.request import known_kubeconfig
from locktender.cli.running import finish
from locktender.runtime.clock import SystemClock

app = typer.Typer(
    no_args_is_help=True,
    help="Look at deployments, answer what they ask, stop them, and deploy in their place.",
    epilog=EXIT_CODES,
)


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
    """One deployment: its steps and resources, what it waits for or asks, what it took the place of."""
    output = Output(as_json=as_json)

    async def work() -> Exit:
        stages = Stages()
        async with open_client(connect(url, token), workspace) as api:
            snapshot = await api.snapshot(task_id)
            await learn_beginning(api, stages, snapshot)
        output.result(snapshot)
        if not as_json:
            output.say(tree(snapshot, stages, SystemClock().now(), room_of(output.console)))
            for line in asked_lines(snapshot["task"]):
                output.say(line)
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
    no_prompt: NoPromptOption = False,
    kubeconfig: KubeconfigOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Follow one deployment to its end: exit code 0 if it completes, 1 if not.

    When it waits for inputs they are asked for right here; without a terminal the command ends with 7. Ctrl-C stops the
    watching, never the deployment.
    """
    output = Output(as_json=as_json)

    async def work() -> Exit:
        connection = connect(url, token)
        somebody = person(output, prompts=not no_prompt)
        answering = None if somebody is None else Answering(somebody, known_kubeconfig(kubeconfig, connection))
        async with open_client(connection, workspace) as api:
            with detaching(output, task_id):
                snapshot = await follow(api, output, task_id, stream_json=as_json, answering=answering)
        tell_end(output, snapshot)
        return exit_of(snapshot)

    finish(output, work())


@app.command()
def cancel(
    task_id: TaskArgument,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Until it has stopped; 1 if it ended otherwise.")] = False,
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
            if wait:
                with detaching(output, task_id, cancelling=True):
                    snapshot = await follow(api, output, task_id)
        output.result(snapshot)
        output.say(Text.assemble("deployment ", (task_id, "bold"), " is ", status_text(snapshot["task"])))
        return Exit.OK if not wait or snapshot["task"]["status"] == "cancelled" else Exit.FAILED

    finish(output, work())


app.command(name="input")(input_)
app.command(name="redeploy")(redeploy)
app.command(name="source")(source)


def _table(tasks: list[dict[str, Any]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("id", "name", "project", "status", "created", "waits for / note"):
        table.add_column(title, no_wrap=title == "id")
    for task in tasks:
        created = str(task["createdAt"])[:19].replace("T", " ")
        table.add_row(task["id"], task["displayName"], task["project"], status_text(task), created, _note(task))
    return table


def _note(task: dict[str, Any]) -> str:
    """What it waits for, or what took its place."""
    blocker: dict[str, str] | None = task.get("blockedBy")
    if blocker:
        return blocker["message"]
    return f"superseded by {task['supersededBy']}" if task.get("supersededBy") else ""
