"""`locktender stack state`: the versions of a stack's state."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.exits import EXIT_CODES, CommandError, Exit
from locktender.cli.files import text_of
from locktender.cli.render.stacks.holdings import state_lines, versions_listing
from locktender.cli.render.stacks.words import visible, when
from locktender.cli.session import Session, command
from locktender.cli.stacks.confirming import agreed
from locktender.cli.stacks.options import CursorOption, LimitOption, StackArgument, YesOption
from locktender.runtime.clock import SystemClock

app = typer.Typer(no_args_is_help=True, help="Look at states, bring one, go back to one.", epilog=EXIT_CODES)

VersionArgument = Annotated[str, typer.Argument(help="The id of a version; see `state list`.")]


@app.command(name="list")
@command
async def list_(session: Session, name: StackArgument, *, limit: LimitOption = 50, cursor: CursorOption = None) -> Exit:
    """List the versions, newest first, and who holds the lock."""
    page = await session.stacks.versions(name, {"limit": str(limit)} | ({"cursor": cursor} if cursor else {}))
    session.answer(page, lambda found: versions_listing(found, SystemClock().now()))
    if session.output.as_json:
        return Exit.OK
    lock: dict[str, Any] | None = page["lock"]
    if lock is not None:
        who = visible(lock["who"]) or "somebody"
        session.output.say(Text(f"locked by {who} since {when(lock['lockedAt'])} UTC, lock {lock['id']}", "yellow"))
    if page["nextCursor"]:
        session.output.say(Text(f"more: --cursor {page['nextCursor']}", style="dim"))
    return Exit.OK


@app.command()
@command
async def show(session: Session, name: StackArgument) -> Exit:
    """Show the state that counts: its serial, its lineage, where it came from."""
    page = await session.stacks.versions(name, {"limit": "1"})
    current = next((each for each in page["versions"] if each["current"]), None)
    found = {"current": current, "lock": page["lock"]}
    session.answer(found, lambda _: Text("\n").join(state_lines(current)))
    return Exit.OK


@app.command()
@command
async def pull(
    session: Session,
    name: StackArgument,
    version: Annotated[str | None, typer.Argument(help="An older version.", show_default=False)] = None,
) -> Exit:
    """Print a state as the engine wrote it. It may hold secrets in clear."""
    # What a state is has no second form, so it is printed as it is, whatever the command was told.
    typer.echo(await session.stacks.pull(name, version), nl=False)
    return Exit.OK


async def _push(
    session: Session,
    name: StackArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A state file; - is standard input.")],
) -> Exit:
    """Take over a local state, such as terraform.tfstate, when a stack moves in. Back ends are left out of it.

    Ends with 4 where the stack has a state already that this one does not follow.
    """
    text = text_of(file)
    _check(file, text)
    found = await session.stacks.push(name, text.encode())
    session.output.result(found)
    session.output.say(Text.assemble("the state of ", (name, "bold"), f" is now serial {found['serial']}"))
    session.output.say(Text(f"See that nothing changes: locktender stack plan {name}", style="dim"))
    return Exit.OK


app.command(name="push")(command(_push))
app.command(name="import")(command(_push))


@app.command()
@command
async def rollback(session: Session, name: StackArgument, version: VersionArgument, *, yes: YesOption = False) -> Exit:
    """Make an older version count again, as a new version. What is really there is not changed by it."""
    agreement = agreed(session, f"make version {version} the state of {name}? Nothing real is undone by it.", yes=yes)
    if agreement is None:
        raise CommandError(Exit.USAGE, "this needs a yes, and nobody is here to ask", "Pass --yes.")
    if not agreement:
        raise CommandError(Exit.INTERRUPTED, "nothing was changed")
    found = await session.stacks.roll_back(name, version)
    session.output.result(found)
    session.output.say(Text.assemble("the state of ", (name, "bold"), f" is now serial {found['serial']}"))
    session.output.say(Text(f"See what that means: locktender stack plan {name}", style="dim"))
    return Exit.OK


@app.command()
@command
async def unlock(
    session: Session,
    name: StackArgument,
    lock: Annotated[str, typer.Argument(metavar="LOCK", help="The id of the lock; see `state list`.")],
    *,
    yes: YesOption = False,
) -> Exit:
    """Break the lock of a state. Only where nobody works with it any more: two writers damage it."""
    agreement = agreed(session, f"break lock {lock} of {name}?", yes=yes)
    if agreement is None:
        raise CommandError(Exit.USAGE, "this needs a yes, and nobody is here to ask", "Pass --yes.")
    if not agreement:
        raise CommandError(Exit.INTERRUPTED, "nothing was changed")
    found = await session.stacks.unlock(name, lock)
    session.output.result(found)
    session.output.say(Text.assemble("the state of ", (name, "bold"), " is not locked any more"))
    return Exit.OK


def _check(file: str, text: str) -> None:
    """Raises `CommandError` where a file is plainly no state, before anything is sent."""
    try:
        state: Any = json.loads(text)
    except ValueError:
        state = None
    if not isinstance(state, dict) or not {"version", "serial", "lineage"} <= set(state):  # pyright: ignore[reportUnknownArgumentType]  # only its keys
        shown = "standard input" if file == "-" else Path(file).name
        raise CommandError(Exit.USAGE, f"{shown} is no state of Terraform or OpenTofu")
