"""`locktender deployments`: everything about deployments that were asked for."""

from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.commands.answering import input_
from locktender.cli.commands.redeploy import redeploy
from locktender.cli.commands.source import source
from locktender.cli.exits import EXIT_CODES, Exit
from locktender.cli.following import detaching, follow, learn_beginning
from locktender.cli.launching import stayed
from locktender.cli.options import KubeconfigOption, NoPromptOption, TaskArgument
from locktender.cli.render.facts import asked_lines
from locktender.cli.render.listing import Listing
from locktender.cli.render.plan import plan_text
from locktender.cli.render.timeline import room_of
from locktender.cli.render.timing import Stages
from locktender.cli.render.tree import tree
from locktender.cli.render.words import status_text
from locktender.cli.request import known_kubeconfig
from locktender.cli.session import Session, command
from locktender.runtime.clock import SystemClock

app = typer.Typer(
    no_args_is_help=True,
    help="Look at deployments, answer what they ask, stop them, and deploy in their place.",
    epilog=EXIT_CODES,
)


@app.command(name="list")
@command
async def list_(
    session: Session,
    *,
    status: Annotated[list[str] | None, typer.Option("--status", help="Only this status. May repeat.")] = None,
    project: Annotated[str | None, typer.Option("-p", "--project", help="Only this project.")] = None,
    limit: Annotated[int, typer.Option(help="At most this many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where an earlier list ended.")] = None,
) -> Exit:
    """The newest deployments."""
    asked: dict[str, str | list[str]] = {"limit": str(limit)}
    asked |= {"status": status} if status else {}
    asked |= {"project": project} if project else {}
    asked |= {"cursor": cursor} if cursor else {}
    page = await session.api.page(asked)
    session.answer(page, _told)
    if page["nextCursor"] and not session.output.as_json:
        session.output.say(Text(f"more: --cursor {page['nextCursor']}", style="dim"))
    return Exit.OK


@app.command()
@command
async def show(session: Session, task_id: TaskArgument) -> Exit:
    """One deployment: its steps and resources, what it waits for or asks, what it took the place of."""
    stages = Stages()
    snapshot = await session.api.snapshot(task_id)
    await learn_beginning(session.api, stages, snapshot)

    def told(found: dict[str, Any]) -> Text:
        picture = tree(found, stages, SystemClock().now(), room_of(session.output.console))
        return Text("\n").join([picture, *asked_lines(found["task"])])

    session.answer(snapshot, told)
    return Exit.OK


@app.command()
@command
async def plan(session: Session, task_id: TaskArgument) -> Exit:
    """What the latest run of a deployment was going to do, field by field."""
    session.answer(await session.api.plan(task_id), plan_text)
    return Exit.OK


@app.command()
@command
async def watch(
    session: Session,
    task_id: TaskArgument,
    *,
    no_prompt: NoPromptOption = False,
    kubeconfig: KubeconfigOption = None,
) -> Exit:
    """Follow one deployment to its end: exit code 0 if it completes, 1 if not.

    When it waits for inputs they are asked for right here; without a terminal the command ends with 7. Ctrl-C stops the
    watching, never the deployment.
    """
    somebody = session.somebody(no_prompt=no_prompt)
    credentials = None if somebody is None else known_kubeconfig(kubeconfig, session.connection)
    return await stayed(session, task_id, somebody, credentials, stream_json=session.output.as_json)


@app.command()
@command
async def cancel(
    session: Session,
    task_id: TaskArgument,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Until it has stopped; 1 if it ended otherwise.")] = False,
) -> Exit:
    """Ask a deployment to stop. What was applied stays; nothing is deleted."""
    snapshot = await session.api.cancel(task_id)
    if wait:
        with detaching(session.output, task_id, cancelling=True):
            snapshot = await follow(session.api, session.output, task_id)
    session.output.result(snapshot)
    session.output.say(Text.assemble("deployment ", (task_id, "bold"), " is ", status_text(snapshot["task"])))
    return Exit.OK if not wait or snapshot["task"]["status"] == "cancelled" else Exit.FAILED


app.command(name="input")(input_)
app.command(name="redeploy")(redeploy)
app.command(name="source")(source)


def _told(page: dict[str, Any]) -> Listing | Text:
    if not page["tasks"]:
        return Text("there are no deployments here", style="dim")
    rows = [
        (
            *(task["id"], task["displayName"], task["project"], status_text(task)),
            str(task["createdAt"])[:19].replace("T", " "),
            _note(task),
        )
        for task in page["tasks"]
    ]
    return Listing(("id", "name", "project", "status", "created", "waits for / note"), rows)


def _note(task: dict[str, Any]) -> str:
    """What it waits for, or what took its place."""
    blocker: dict[str, str] | None = task.get("blockedBy")
    if blocker:
        return blocker["message"]
    return f"superseded by {task['supersededBy']}" if task.get("supersededBy") else ""
