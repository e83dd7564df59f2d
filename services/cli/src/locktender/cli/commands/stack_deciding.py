"""`locktender stack confirm|replan|skip`: what becomes of a plan that waits."""

from typing import Annotated

import typer
from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.render.stacks.deployment import headline
from locktender.cli.render.stacks.words import name_of
from locktender.cli.session import Session, command
from locktender.cli.stacks.confirming import agreed, check_waits, confirm_plan
from locktender.cli.stacks.launching import Telling, launched, stayed, told
from locktender.cli.stacks.numbers import number_of
from locktender.cli.stacks.options import (
    FollowOption,
    LogOption,
    MarkdownOption,
    NarrowOptions,
    NumberArgument,
    StackArgument,
    YesOption,
)
from locktender.cli.stacks.planning import planned, tell_sentence


@command
async def confirm(
    session: Session,
    name: StackArgument,
    number: NumberArgument = None,
    *,
    yes: YesOption = False,
    digest: Annotated[
        str | None,
        typer.Option("--plan-digest", help="Only if it is this plan: `run.binding.planDigest` of what was read."),
    ] = None,
    wait: FollowOption = True,
    log: LogOption = None,
    markdown: MarkdownOption = False,
) -> Exit:
    """Apply a plan that waits. It is applied as it was planned, or not at all."""
    telling = Telling(markdown=markdown, log=log)
    aside = telling.aside(session.output)
    found = await session.stacks.deployment(name, await number_of(session.stacks, name, number))
    plan = await planned(session.stacks, found)
    shown = check_waits(plan)
    if digest is not None and digest != shown:
        hint = f"Look at it again: locktender stack show {name} {found['number']}"
        raise CommandError(Exit.CONFLICT, "another plan waits there than the one that was named", hint)
    aside.say(headline(found))
    tell_sentence(aside, plan)
    agreement = agreed(session, f"apply {name_of(found)}?", yes=yes)
    if agreement is None:
        raise CommandError(Exit.PARKED, "nobody is here to ask; it still waits", "Pass --yes to confirm it.")
    if not agreement:
        raise CommandError(Exit.INTERRUPTED, "nothing was applied; it still waits")
    deployment = await confirm_plan(session, aside, plan, shown)
    if not wait:
        session.output.result({"deployment": deployment, "planChanges": plan.changes})
        return Exit.OK
    return told(session, aside, await stayed(session, aside, deployment, log=log), telling, shown=True)


@command
async def replan(
    session: Session,
    name: StackArgument,
    number: NumberArgument = None,
    *,
    narrow: NarrowOptions,
    wait: FollowOption = True,
    log: LogOption = None,
    markdown: MarkdownOption = False,
) -> Exit:
    """Plan what waits once more, narrowed to some resources."""
    telling = Telling(markdown=markdown, log=log)
    telling.aside(session.output)
    body = narrow.body()
    if not any(body.values()):
        raise CommandError(Exit.USAGE, "nothing says how to plan differently", "Give --target, --exclude or --replace.")
    wanted = await number_of(session.stacks, name, number)
    deployment = await session.stacks.act(name, wanted, "replan", body)
    return await launched(session, deployment, wait=wait, telling=telling)


@command
async def skip(session: Session, name: StackArgument, number: NumberArgument = None) -> Exit:
    """Drop a deployment that is queued or waits. Nothing of it is applied."""
    wanted = await number_of(session.stacks, name, number)
    deployment = await session.stacks.act(name, wanted, "skip")
    session.output.result(deployment)
    session.output.say(Text.assemble((name_of(deployment), "bold"), " is skipped; nothing was applied"))
    return Exit.OK
