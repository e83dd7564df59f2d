"""`locktender diff`: what deploying would change, asked of the cluster, with nothing applied."""

from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.filling import chosen, filled, form_of_source
from locktender.cli.options import (
    DEFAULT_PROJECT,
    ApplyOptions,
    InputOptions,
    NoPromptOption,
    ProjectOption,
    SourceOptions,
)
from locktender.cli.render.plan import plan_text
from locktender.cli.request import request_of
from locktender.cli.session import Session, command

_STUCK = ("conflict", "refused")
_MOVING = ("create", "change", "replace", "unknown")


@command
async def diff(
    session: Session,
    *,
    wanted: SourceOptions,
    inputs: InputOptions,
    no_prompt: NoPromptOption = False,
    project: ProjectOption = DEFAULT_PROJECT,
    apply: ApplyOptions,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 6 if something would change.")] = False,
) -> Exit:
    """Show what deploying would change. Nothing is applied; Secrets are withheld.

    A template is planned under a name that is drawn for this once, so what an instance of it has in the cluster already
    shows as to be created.

    Ends with 0 if it would go well, with 4 if a document conflicts or is refused, and with 6 if something would change
    and --exit-code was given.
    """
    source, values = chosen(wanted, inputs)
    if source is None:
        raise CommandError(Exit.USAGE, "nothing to compare", "Give -f FILE or --template NAME.")
    body = request_of(source, project, apply, session.connection)
    somebody = session.somebody(no_prompt=no_prompt)
    form = filled(session.output, await form_of_source(session, source, values), values, somebody)
    if form.lacking:
        raise CommandError(
            Exit.USAGE, f"nothing can be planned without {', '.join(form.lacking)}", "Give it with --input KEY=VALUE."
        )
    plan = await session.api.preview(form.added_to(body))
    session.answer(plan, _told)
    return _exit(plan["summary"], exit_code=exit_code)


def _told(plan: dict[str, Any]) -> Text:
    if not plan.get("instance"):
        return plan_text(plan)
    named = Text(f"as {plan['instance']}, a name for this look alone; the deployment draws its own", style="dim")
    return Text("\n").join([plan_text(plan), named])


def _exit(summary: dict[str, Any], *, exit_code: bool) -> Exit:
    if any(summary[action] for action in _STUCK):
        return Exit.CONFLICT
    return Exit.CHANGES if exit_code and any(summary[action] for action in _MOVING) else Exit.OK
