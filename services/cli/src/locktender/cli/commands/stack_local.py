"""`locktender stack local-plan|run-command`: a plan of a working tree, and a script with the credentials of a stack."""

from pathlib import Path
from typing import Annotated

import typer

from locktender.cli.exits import CommandError, Exit
from locktender.cli.files import text_of
from locktender.cli.session import Session, command
from locktender.cli.stacks.archives import described, uploaded
from locktender.cli.stacks.launching import Telling, launched
from locktender.cli.stacks.options import (
    CheckOption,
    DetailedOption,
    FollowOption,
    KeyOption,
    LogOption,
    MarkdownOption,
    NarrowOptions,
    NoteOption,
    OrderOptions,
    StackArgument,
)


@command
async def local_plan(
    session: Session,
    name: StackArgument,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The working tree.")] = Path(),
    *,
    path: Annotated[str, typer.Option("--path", help="The folder of the stack within DIR.")] = ".",
    narrow: NarrowOptions,
    note: NoteOption = "",
    key: KeyOption = None,
    wait: FollowOption = True,
    log: LogOption = None,
    markdown: MarkdownOption = False,
    detailed: DetailedOption = False,
    check: CheckOption = False,
) -> Exit:
    """Plan the files of this machine against the state of a stack. Nothing can be applied from it.

    Left out is what git ignores, `.terraform` and local states.
    """
    telling = Telling(markdown=markdown, detailed=detailed, check=check, log=log)
    telling.aside(session.output)
    sha256 = await uploaded(session.stacks, name, directory)
    body = {"sha256": sha256, "path": path, "note": note or await described(directory)} | narrow.body()
    deployment = await session.stacks.deploy(name, body, verb=":local", key=key)
    return await launched(session, deployment, wait=wait, telling=telling)


@command
async def run_command(
    session: Session,
    name: StackArgument,
    *,
    file: Annotated[str, typer.Option("-f", "--file", help="The script, for bash; - is standard input.")],
    order: OrderOptions,
    wait: FollowOption = True,
) -> Exit:
    """Run a script with the variables and credentials of a stack. It holds the lane while it runs.

    The script itself is neither logged nor shown again; what it prints is the log.
    """
    script = text_of(file)
    if not script.strip():
        raise CommandError(Exit.USAGE, "the script is empty")
    body = {"script": script} | order.body()
    deployment = await session.stacks.deploy(name, body, verb=":run-command", key=order.key)
    return await launched(session, deployment, wait=wait, telling=Telling(log=True))
