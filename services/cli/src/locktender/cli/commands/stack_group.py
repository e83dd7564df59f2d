"""`locktender stack group`: pools of remote runners."""

from typing import Annotated

import typer
from rich.text import Text

from locktender.cli.exits import EXIT_CODES, Exit
from locktender.cli.render.stacks.groups import groups_listing
from locktender.cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="Pools of remote runners (`locktender runner`).", epilog=EXIT_CODES)

GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="The name of the group.")]


@app.command(name="list")
@command
async def list_(session: Session) -> Exit:
    """All groups, and their runners. The group `default` is Locktender's own runner, and is not listed."""
    session.answer(await session.stacks.groups(), groups_listing)
    return Exit.OK


@app.command()
@command
async def create(
    session: Session,
    group: GroupArgument,
    *,
    label: Annotated[list[str] | None, typer.Option("--label", help="What its runners offer. May be repeated.")] = None,
    capacity: Annotated[int, typer.Option("--capacity", min=1, help="Runs at once, at most.")] = 10,
) -> Exit:
    """Make a group. Its token is told this once: keep it, and give it to the runners."""
    made = await session.stacks.create_group({"name": group, "labels": label or [], "capacity": capacity})
    session.output.result(made)
    session.output.say(Text.assemble((group, "bold"), " is made. Its token, told this once:"))
    session.output.say(Text(str(made["token"])))
    session.output.say(Text(f"LOCKTENDER_RUNNER_TOKEN=… locktender runner --group {group}", style="dim"))
    return Exit.OK


@app.command()
@command
async def delete(session: Session, group: GroupArgument) -> Exit:
    """Forget a group; its token is void then. Refused while a stack names it, or a runner of it works."""
    await session.stacks.delete_group(group)
    session.output.result({"deleted": group})
    session.output.say(Text.assemble((group, "bold"), " is gone"))
    return Exit.OK


@app.command(name="delete-runner")
@command
async def delete_runner(
    session: Session, group: GroupArgument, runner: Annotated[str, typer.Argument(metavar="RUNNER", help="Its id.")]
) -> Exit:
    """Give a runner up at once. Its run fails; what an apply has changed by then is unknown until a refresh."""
    await session.stacks.delete_runner(group, runner)
    session.output.result({"deleted": runner})
    session.output.say(Text.assemble((runner, "bold"), " is given up"))
    return Exit.OK
