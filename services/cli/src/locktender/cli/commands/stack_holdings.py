"""`locktender stack resources|outputs|activity`: what a stack has, and who did what to it."""

from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.render.stacks.holdings import (
    activity_lines,
    knowledge_lines,
    output_lines,
    resource_lines,
    resources_listing,
)
from locktender.cli.session import Session, command
from locktender.cli.stacks.numbers import number_of
from locktender.cli.stacks.options import NumberArgument, StackArgument


@command
async def resources(
    session: Session,
    name: StackArgument,
    address: Annotated[
        str | None, typer.Argument(metavar="ADDRESS", help="Everything about this one.", show_default=False)
    ] = None,
) -> Exit:
    """List what the state of a stack holds. As far as its runs have told it; with ADDRESS, all of one resource."""
    found = await session.stacks.resources(name, address)
    held: list[dict[str, Any]] | None = found["resources"]
    if address is not None and held == []:
        raise CommandError(Exit.DENIED, f"the state of {name} holds no {address}")
    _told(session, found)
    if held is not None and address is None:
        _say(session, resources_listing(held))
    for resource in (held or []) if address is not None else []:
        _say(session, Text("\n").join(resource_lines(resource)))
    return Exit.OK


@command
async def outputs(session: Session, name: StackArgument) -> Exit:
    """Show the outputs of a stack. Sensitive ones are withheld; `state pull` has them."""
    found = await session.stacks.outputs(name)
    _told(session, found)
    if found["outputs"] is not None:
        _say(session, Text("\n").join(output_lines(found["outputs"])))
    return Exit.OK


@command
async def activity(session: Session, name: StackArgument, number: NumberArgument = None) -> Exit:
    """Show who did what to a deployment, and how it ended."""
    wanted = await number_of(session.stacks, name, number)
    session.answer(await session.stacks.activity(name, wanted), lambda found: Text("\n").join(activity_lines(found)))
    return Exit.OK


def _told(session: Session, found: dict[str, Any]) -> None:
    """The answer to programs; to people, who found it out."""
    session.output.result(found)
    for line in knowledge_lines(found):
        _say(session, line)


def _say(session: Session, text: RenderableType) -> None:
    if not session.output.as_json:
        session.output.say(text)
