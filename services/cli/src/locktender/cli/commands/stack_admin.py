"""`locktender stack create|update|delete|list|show`: stacks as they are stored."""

from typing import Annotated, Any

import typer
from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.forms.asking import confirmed
from locktender.cli.render.stacks.deployment import deployment_lines, deployments_listing, next_steps
from locktender.cli.render.stacks.stack import stack_lines, stacks_listing
from locktender.cli.session import Session, command
from locktender.cli.stacks.archives import packed, uploaded
from locktender.cli.stacks.options import (
    CursorOption,
    LimitOption,
    MarkdownOption,
    SourceChoice,
    StackArgument,
    StackFacts,
    YesOption,
    git_token,
    source_body,
)
from locktender.cli.stacks.planning import markdown_of, planned, tell_plan
from locktender.runtime.clock import SystemClock

_SHOWN = 10


@command
async def create(session: Session, name: StackArgument, *, source: SourceChoice, facts: StackFacts) -> Exit:
    """Make a stack from a repository (--git) or a folder (--dir)."""
    wanted = source_body(source)
    if wanted is None:
        raise CommandError(Exit.USAGE, "nothing says where the configuration is", "Give --git URL or --dir DIR.")
    if source.directory is not None:
        await packed(source.directory)
    body = {"name": name, "source": wanted} | facts.body({}) | git_token(source)
    stack = await session.stacks.create(body)
    if source.directory is not None:
        sha256 = await uploaded(session.stacks, name, source.directory)
        stack = await session.stacks.update(name, {"source": wanted | {"sha256": sha256}})
    session.output.result(stack)
    session.output.say(Text.assemble("stack ", (name, "bold"), " is there"))
    session.output.say(Text(f"Plan it with: locktender stack plan {name}", style="dim"))
    return Exit.OK


@command
async def update(
    session: Session,
    name: StackArgument,
    *,
    source: SourceChoice,
    facts: StackFacts,
    forget_git_token: Annotated[bool, typer.Option("--forget-git-token", help="Forget the token.")] = False,
) -> Exit:
    """Change a stack. What is not named stays; --dir uploads the folder anew."""
    former = await session.stacks.stack(name)
    wanted = source_body(source, former["source"])
    if wanted is not None and source.directory is not None:
        wanted["sha256"] = await uploaded(session.stacks, name, source.directory)
    body: dict[str, Any] = ({} if wanted is None else {"source": wanted}) | facts.body(former["policy"])
    body |= {"gitToken": None} if forget_git_token else git_token(source)
    if not body:
        raise CommandError(Exit.USAGE, "nothing to change", "Name it with options; see --help.")
    stack = await session.stacks.update(name, body)
    session.output.result(stack)
    session.output.say(Text.assemble("stack ", (name, "bold"), " is changed; it holds from the next deployment on"))
    return Exit.OK


@command
async def delete(session: Session, name: StackArgument, *, yes: YesOption = False) -> Exit:
    """Forget a stack. What it made lives on, and is managed by nobody then; `destroy` comes before."""
    somebody = session.somebody(no_prompt=yes)
    if not yes:
        if somebody is None:
            raise CommandError(Exit.USAGE, "deleting needs a yes, and nobody is here to ask", "Pass --yes.")
        question = f"forget stack {name} and its states? What it made lives on."
        if not confirmed(question, somebody):
            raise CommandError(Exit.INTERRUPTED, "nothing was deleted")
    await session.stacks.delete(name)
    session.output.result({"deleted": name})
    session.output.say(Text.assemble("stack ", (name, "bold"), " is deleted"))
    return Exit.OK


@command
async def list_(
    session: Session,
    *,
    status: Annotated[
        list[str] | None, typer.Option("--status", help="Only where the newest deployment is this. May repeat.")
    ] = None,
    project: Annotated[str | None, typer.Option("-p", "--project", help="Only this project.")] = None,
    search: Annotated[str | None, typer.Option("--search", "-s", help="Only with this in the name.")] = None,
    sort: Annotated[str | None, typer.Option("--sort", help="created, activity or name.")] = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
) -> Exit:
    """List the stacks of the workspace. Each with what it is at, and who holds its lane."""
    asked = {"project": project, "search": search, "sort": sort, "cursor": cursor, "limit": str(limit)}
    given: dict[str, str | list[str]] = {key: value for key, value in asked.items() if value}
    page = await session.stacks.page(given | ({"status": status} if status else {}))
    session.answer(page, stacks_listing)
    if page["nextCursor"] and not session.output.as_json:
        session.output.say(Text(f"more: --cursor {page['nextCursor']}", style="dim"))
    return Exit.OK


@command
async def show(
    session: Session,
    name: StackArgument,
    number: Annotated[
        int | None, typer.Argument(min=1, metavar="NUMBER", help="A deployment of it.", show_default=False)
    ] = None,
    *,
    markdown: MarkdownOption = False,
) -> Exit:
    """Show a stack; with a number, one deployment and its plan."""
    output = session.output
    if number is None:
        if markdown:
            raise CommandError(Exit.USAGE, "--markdown is for one deployment; give its number too")
        stack = await session.stacks.stack(name)
        newest = await session.stacks.deployments(name, {"limit": str(_SHOWN)})
        output.result({"stack": stack, "deployments": newest["deployments"]})
        if not output.as_json:
            output.say(Text("\n").join(stack_lines(stack)))
            output.say("")
            output.say(deployments_listing(newest, SystemClock().now()))
        return Exit.OK
    plan = await planned(session.stacks, await session.stacks.deployment(name, number))
    if markdown:
        output.text(markdown_of(plan))
    output.result(plan.document)
    if not (output.as_json or markdown):
        output.say(Text("\n").join(deployment_lines(plan.deployment, SystemClock().now())))
        output.say("")
        tell_plan(output, plan)
        for line in next_steps(plan.deployment):
            output.say(line)
    return Exit.OK
