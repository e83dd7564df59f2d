"""Confirming a plan: exactly the one that was shown, or none."""

from typing import Any

from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.forms.asking import confirmed
from locktender.cli.output import Output
from locktender.cli.render.stacks.words import name_of, status_text
from locktender.cli.session import Session
from locktender.cli.stacks.endings import waits
from locktender.cli.stacks.planning import Planned

Json = dict[str, Any]


def check_waits(plan: Planned) -> str:
    """The digest of a plan that can be confirmed.

    Raises:
        CommandError: it does not wait, or has no plan to name.
    """
    deployment = plan.deployment
    if not waits(deployment):
        told = status_text(deployment).plain
        raise CommandError(Exit.CONFLICT, f"{name_of(deployment)} does not wait for a confirmation; it is {told}")
    if plan.digest is None:
        raise CommandError(Exit.CONFLICT, f"{name_of(deployment)} has no plan that could be confirmed")
    return plan.digest


def agreed(session: Session, question: str, *, yes: bool) -> bool | None:
    """Whether somebody says yes. None where nobody is here to ask."""
    if yes:
        return True
    somebody = session.somebody(no_prompt=False)
    return None if somebody is None else confirmed(question, somebody)


async def confirm_plan(session: Session, aside: Output, plan: Planned, digest: str) -> Json:
    """Confirm it; the deployment as it is then.

    Raises:
        CommandError: it is not this plan any more, or it does not wait any more.
    """
    stack, number = plan.deployment["stack"], plan.deployment["number"]
    deployment = await session.stacks.act(stack, number, "confirm", {"planDigest": digest})
    aside.say(Text.assemble((name_of(plan.deployment), "bold"), f" is confirmed, plan {digest[:12]}"))
    return deployment
