"""Making a deployment of a stack, staying with it, and telling what came of it."""

from dataclasses import dataclass
from typing import Any

from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.output import Output
from locktender.cli.render.stacks.words import name_of, status_text
from locktender.cli.session import Session
from locktender.cli.stacks.endings import LIKE_TERRAFORM, exit_of
from locktender.cli.stacks.following import detaching, follow
from locktender.cli.stacks.planning import Planned, markdown_of, planned, tell_end, tell_plan

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Telling:
    """How a command tells what came of a deployment.

    Attributes:
        markdown: print a summary in Markdown, and all else on standard error.
        detailed: end with 2 where there are changes.
        check: end with 6 where a plan that only looks has found changes.
        log: follow the log. None: not on a terminal.
    """

    markdown: bool = False
    detailed: bool = False
    check: bool = False
    log: bool | None = None

    def aside(self, output: Output) -> Output:
        """Where progress goes.

        Raises:
            CommandError: both kinds of output for programs are asked for.
        """
        if not self.markdown:
            return output
        if output.as_json:
            raise CommandError(Exit.USAGE, "give either --json or --markdown, not both")
        # What talks to people beside JSON does so on standard error.
        return Output(as_json=True)


async def launched(session: Session, deployment: Json, *, wait: bool, telling: Telling) -> Exit:
    """Follow a deployment that was just made until it waits or ends, and tell its plan. The exit code for that."""
    aside = telling.aside(session.output)
    aside.say(Text.assemble("deployment ", (name_of(deployment), "bold"), ": ", status_text(deployment)))
    if not wait:
        session.output.result({"deployment": deployment, "planChanges": None})
        aside.say(Text(f"Watch it with: locktender stack watch {deployment['stack']} {deployment['number']}", "dim"))
        return Exit.OK
    plan = await stayed(session, aside, deployment, log=telling.log)
    return told(session, aside, plan, telling)


async def stayed(session: Session, aside: Output, deployment: Json, *, log: bool | None) -> Planned:
    """Follow a deployment until it waits or ends."""
    with detaching(aside, deployment):
        latest = await follow(session.stacks, aside, deployment, log=log)
    return await planned(session.stacks, latest)


def told(session: Session, aside: Output, plan: Planned, telling: Telling, *, shown: bool = False) -> Exit:
    """Tell how it ended and, unless people were shown it, the plan, in the way that was asked for; the exit code."""
    if telling.markdown:
        session.output.text(markdown_of(plan))
    elif not shown:
        tell_plan(aside, plan)
    tell_end(aside, plan)
    session.output.result(plan.document)
    return code_of(plan, telling)


def code_of(plan: Planned, telling: Telling) -> Exit:
    """The exit code of a command that has told a plan."""
    code = exit_of(plan.deployment, detailed=telling.detailed)
    changes = plan.run is not None and plan.run["hasChanges"] is True
    if code is Exit.OK and changes and plan.deployment["mode"] == "plan_unlocked":
        if telling.detailed:
            return LIKE_TERRAFORM
        return Exit.CHANGES if telling.check else Exit.OK
    return code
