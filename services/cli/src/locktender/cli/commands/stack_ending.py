"""`locktender stack cancel|retry|skip-all|prioritize|deprioritize`: stopping, repeating and ordering deployments."""

from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.render.stacks.deployment import endings
from locktender.cli.render.stacks.words import name_of, status_text
from locktender.cli.session import Session, command
from locktender.cli.stacks.confirming import agreed
from locktender.cli.stacks.endings import is_over
from locktender.cli.stacks.following import detaching, follow
from locktender.cli.stacks.launching import Telling, launched
from locktender.cli.stacks.numbers import number_of
from locktender.cli.stacks.options import (
    FollowOption,
    LogOption,
    MarkdownOption,
    NumberArgument,
    OneArgument,
    StackArgument,
    YesOption,
)


@command
async def cancel(
    session: Session,
    name: StackArgument,
    number: NumberArgument = None,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Until it has stopped; 1 if it ended otherwise.")] = False,
) -> Exit:
    """Ask a deployment to stop. What was applied stays; nothing is rolled back."""
    wanted = await number_of(session.stacks, name, number)
    deployment = await session.stacks.act(name, wanted, "cancel")
    if wait and not is_over(deployment):
        with detaching(session.output, deployment):
            deployment = await follow(session.stacks, session.output, deployment, rests=is_over)
    session.output.result(deployment)
    session.output.say(Text.assemble((name_of(deployment), "bold"), ": ", status_text(deployment)))
    for line in endings(deployment):
        session.output.say(line)
    return Exit.OK if not wait or deployment["status"] in {"cancelled", "skipped"} else Exit.FAILED


@command
async def retry(
    session: Session,
    name: StackArgument,
    number: NumberArgument = None,
    *,
    wait: FollowOption = True,
    log: LogOption = None,
    markdown: MarkdownOption = False,
) -> Exit:
    """Do the same again as a new deployment. Same mode, same commit."""
    telling = Telling(markdown=markdown, log=log)
    telling.aside(session.output)
    wanted = await number_of(session.stacks, name, number)
    deployment = await session.stacks.act(name, wanted, "retry")
    return await launched(session, deployment, wait=wait, telling=telling)


@command
async def skip_all(session: Session, name: StackArgument, *, yes: YesOption = False) -> Exit:
    """Drop all deployments of a stack that wait. Plans that only look go on."""
    agreement = agreed(session, f"skip everything of {name} that waits?", yes=yes)
    if agreement is None:
        raise CommandError(Exit.USAGE, "this needs a yes, and nobody is here to ask", "Pass --yes.")
    if not agreement:
        raise CommandError(Exit.INTERRUPTED, "nothing was skipped")
    found = await session.stacks.skip_all(name)
    session.answer(found, skipped_text)
    return Exit.OK


@command
async def prioritize(session: Session, name: StackArgument, number: OneArgument) -> Exit:
    """Let a deployment go first. Those that were prioritized before stay ahead, and what runs is not interrupted."""
    return await _ordered(session, name, number, "prioritize", "goes first")


@command
async def deprioritize(session: Session, name: StackArgument, number: OneArgument) -> Exit:
    """Put a deployment back into its usual place."""
    return await _ordered(session, name, number, "deprioritize", "waits for its turn")


def skipped_text(found: dict[str, Any]) -> Text:
    """How many were skipped by one request."""
    more = ", and there are more: do it again" if found["more"] else ""
    return Text(f"{len(found['skipped']) or 'nothing'} skipped{more}")


async def _ordered(session: Session, name: str, number: int, action: str, words: str) -> Exit:
    deployment = await session.stacks.act(name, number, action)
    session.output.result(deployment)
    session.output.say(Text.assemble((name_of(deployment), "bold"), f" {words}"))
    return Exit.OK
