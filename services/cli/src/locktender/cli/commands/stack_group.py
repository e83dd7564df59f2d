"""`locktender stack group`: pools of remote runners."""

from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.exits import EXIT_CODES, CommandError, Exit
from locktender.cli.render.stacks.groups import groups_listing
from locktender.cli.render.stacks.words import when
from locktender.cli.session import Session, command
from locktender.cli.stacks.durations import length
from locktender.runtime.clock import SystemClock

app = typer.Typer(no_args_is_help=True, help="Pools of remote runners (`locktender runner`).", epilog=EXIT_CODES)

GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="The name of the group.")]
LabelsOption = Annotated[list[str] | None, typer.Option("--label", help="What its runners offer. May repeat.")]


@app.command(name="list")
@command
async def list_(session: Session) -> Exit:
    """List the groups and their runners. The group `default` is Locktender's own runner, and is not listed."""
    session.answer(await session.stacks.groups(), lambda found: groups_listing(found, SystemClock().now()))
    return Exit.OK


@app.command()
@command
async def create(
    session: Session,
    group: GroupArgument,
    *,
    label: LabelsOption = None,
    capacity: Annotated[int, typer.Option("--capacity", min=1, help="Runs at once, at most.")] = 10,
) -> Exit:
    """Make a group. Its token is told this once: keep it, and give it to the runners."""
    made = await session.stacks.create_group({"name": group, "labels": label or [], "capacity": capacity})
    session.output.result(made)
    session.output.say(Text.assemble("group ", (group, "bold"), " is there"))
    _tell_token(session, made, group)
    return Exit.OK


@app.command()
@command
async def update(
    session: Session,
    group: GroupArgument,
    *,
    label: LabelsOption = None,
    no_labels: Annotated[bool, typer.Option("--no-labels", help="Its runners offer nothing special.")] = False,
    capacity: Annotated[int | None, typer.Option("--capacity", min=1, help="Runs at once, at most.")] = None,
) -> Exit:
    """Change a group. What is not named stays; labels take the place of all of the old ones."""
    if label and no_labels:
        raise CommandError(Exit.USAGE, "give either --label or --no-labels, not both")
    labels = [] if no_labels else label or None
    body = {name: value for name, value in {"labels": labels, "capacity": capacity}.items() if value is not None}
    if not body:
        raise CommandError(Exit.USAGE, "nothing to change", "Give --label, --no-labels or --capacity.")
    found = await session.stacks.update_group(group, body)
    session.output.result(found)
    session.output.say(Text.assemble("group ", (group, "bold"), " is changed; what runs already goes on"))
    return Exit.OK


@app.command(name="rotate-token")
@command
async def rotate_token(
    session: Session,
    group: GroupArgument,
    *,
    keep_old: Annotated[
        int,
        typer.Option(
            "--keep-old",
            parser=length,
            metavar="TIME",
            help="How long the old one works too, as in 1h; at most 7d. Default: it is void at once.",
            show_default=False,
        ),
    ] = 0,
    again: Annotated[
        bool, typer.Option("--again", help="The last new token was lost: end it, and keep the one before it instead.")
    ] = False,
) -> Exit:
    """Give a group another token, told this once. Runs under way go on; runners ask for more with the new one."""
    made = await session.stacks.rotate_token(group, {"keepOldSeconds": keep_old, "again": again})
    session.output.result(made)
    until = made["group"]["oldTokenUntil"]
    old = "is void now" if until is None else f"works until {when(until)} UTC"
    session.output.say(Text.assemble("group ", (group, "bold"), f" has another token; the old one {old}"))
    _tell_token(session, made, group)
    return Exit.OK


@app.command()
@command
async def delete(session: Session, group: GroupArgument) -> Exit:
    """Forget a group; its tokens are void then. Refused while a stack names it, or a runner of it works."""
    await session.stacks.delete_group(group)
    session.output.result({"deleted": group})
    session.output.say(Text.assemble("group ", (group, "bold"), " is deleted"))
    return Exit.OK


@app.command(name="delete-runner")
@command
async def delete_runner(
    session: Session, group: GroupArgument, runner: Annotated[str, typer.Argument(metavar="RUNNER", help="Its id.")]
) -> Exit:
    """Give a runner up at once. Its run fails; what an apply has changed by then is unknown until a refresh."""
    await session.stacks.delete_runner(group, runner)
    session.output.result({"deleted": runner})
    session.output.say(Text.assemble("runner ", (runner, "bold"), " is given up"))
    return Exit.OK


def _tell_token(session: Session, made: dict[str, Any], group: str) -> None:
    """The token to people. To programs it is part of the answer, and shown nowhere else."""
    if session.output.as_json:
        return
    session.output.say("Its token, told this once:")
    session.output.say(Text(str(made["token"])))
    session.output.say(Text(f"Start a runner with: LOCKTENDER_RUNNER_TOKEN=… locktender runner --group {group}", "dim"))
