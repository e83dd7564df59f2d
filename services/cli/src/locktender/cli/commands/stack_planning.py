"""`locktender stack plan|apply|destroy|refresh`: a new deployment, followed until it waits or ends."""

from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.session import Session, command
from locktender.cli.stacks.confirming import agreed, check_waits, confirm_plan
from locktender.cli.stacks.endings import waits
from locktender.cli.stacks.launching import Telling, launched, stayed, told
from locktender.cli.stacks.options import (
    CheckOption,
    DetailedOption,
    FollowOption,
    LogOption,
    MarkdownOption,
    NarrowOptions,
    OrderOptions,
    StackArgument,
)
from locktender.cli.stacks.planning import tell_plan

AutoConfirmOption = Annotated[
    bool, typer.Option("--auto-confirm", help="Confirm the plan that was shown without asking.")
]


@command
async def plan(
    session: Session,
    name: StackArgument,
    *,
    narrow: NarrowOptions,
    order: OrderOptions,
    unlocked: Annotated[
        bool, typer.Option("--unlocked", help="Only look: wait for nobody, hold nobody up, apply nothing.")
    ] = False,
    wait: FollowOption = True,
    log: LogOption = None,
    markdown: MarkdownOption = False,
    detailed: DetailedOption = False,
    check: CheckOption = False,
) -> Exit:
    """Plan a stack, and show what would change. What waits for a confirmation then ends with 7."""
    telling = Telling(markdown=markdown, detailed=detailed, check=check, log=log)
    telling.aside(session.output)
    body = {"mode": "plan_unlocked" if unlocked else "plan"} | order.body() | narrow.body()
    deployment = await session.stacks.deploy(name, body, key=order.key)
    return await launched(session, deployment, wait=wait, telling=telling)


@command
async def apply(
    session: Session,
    name: StackArgument,
    *,
    narrow: NarrowOptions,
    order: OrderOptions,
    auto_confirm: AutoConfirmOption = False,
    log: LogOption = None,
    markdown: MarkdownOption = False,
    detailed: DetailedOption = False,
) -> Exit:
    """Plan a stack, ask, and apply exactly what was shown."""
    telling = Telling(markdown=markdown, detailed=detailed, log=log)
    body = {"mode": "plan"} | order.body() | narrow.body()
    return await _through(session, name, (body, order.key), telling, auto_confirm=auto_confirm)


@command
async def destroy(
    session: Session,
    name: StackArgument,
    *,
    narrow: NarrowOptions,
    order: OrderOptions,
    auto_confirm: AutoConfirmOption = False,
    log: LogOption = None,
    markdown: MarkdownOption = False,
    detailed: DetailedOption = False,
) -> Exit:
    """Plan to destroy what a stack made, ask, and do it."""
    telling = Telling(markdown=markdown, detailed=detailed, log=log)
    body = {"mode": "destroy"} | order.body() | narrow.body()
    return await _through(session, name, (body, order.key), telling, auto_confirm=auto_confirm)


@command
async def refresh(
    session: Session,
    name: StackArgument,
    *,
    narrow: NarrowOptions,
    order: OrderOptions,
    auto_confirm: AutoConfirmOption = False,
    log: LogOption = None,
    markdown: MarkdownOption = False,
    detailed: DetailedOption = False,
) -> Exit:
    """Bring the state up to what is really there, after asking. Ends the doubt about an uncertain stack."""
    telling = Telling(markdown=markdown, detailed=detailed, log=log)
    body = {"mode": "refresh"} | order.body() | narrow.body()
    return await _through(session, name, (body, order.key), telling, auto_confirm=auto_confirm)


async def _through(
    session: Session, name: str, asked: tuple[dict[str, Any], str | None], telling: Telling, *, auto_confirm: bool
) -> Exit:
    """Make it, show its plan, have it confirmed, and stay until it has ended. Nobody to ask: it stays waiting."""
    aside = telling.aside(session.output)
    body, key = asked
    found = await stayed(session, aside, await session.stacks.deploy(name, body, key=key), log=telling.log)
    if not waits(found.deployment):
        return told(session, aside, found, telling)
    digest = check_waits(found)
    tell_plan(aside, found)
    yes = agreed(session, f"apply it to {name}?", yes=auto_confirm)
    if yes is False:
        number = found.deployment["number"]
        hint = f"It still waits. Drop it with: locktender stack skip {name} {number}"
        raise CommandError(Exit.INTERRUPTED, "nothing was applied", hint)
    if yes is None:
        aside.say(Text("nobody is here to ask, so it waits (--auto-confirm goes on by itself)", style="yellow"))
        return told(session, aside, found, telling, shown=True)
    confirmed = await confirm_plan(session, aside, found, digest)
    return told(session, aside, await stayed(session, aside, confirmed, log=telling.log), telling, shown=True)
