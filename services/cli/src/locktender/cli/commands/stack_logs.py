"""`locktender stack logs|watch`: what runs say, and what a deployment is at."""

from contextlib import aclosing
from typing import Annotated, Any

import typer

from locktender.cli.exits import CommandError, Exit
from locktender.cli.render.stacks.words import name_of, runs_of, visible
from locktender.cli.session import Session, command
from locktender.cli.stacks.endings import is_over, waits
from locktender.cli.stacks.following import detaching, follow
from locktender.cli.stacks.launching import Telling, code_of, told
from locktender.cli.stacks.logs import RunAddress, log_lines
from locktender.cli.stacks.numbers import number_of
from locktender.cli.stacks.options import LogOption, NumberArgument, StackArgument
from locktender.cli.stacks.planning import planned


@command
async def logs(
    session: Session,
    name: StackArgument,
    number: NumberArgument = None,
    *,
    follow_it: Annotated[bool, typer.Option("--follow", "-f", help="Until the run has ended.")] = False,
    run: Annotated[
        int | None, typer.Option("--run", min=1, metavar="N", help="The N-th run of it. Default: the newest.")
    ] = None,
) -> Exit:
    """Print the log of a run, as its runner told it. With --json, one object a line."""
    deployment = await session.stacks.deployment(name, await number_of(session.stacks, name, number))
    chosen = _chosen(deployment, run)
    address = RunAddress(name, deployment["number"], chosen["id"])
    output = session.output
    if follow_it:
        with detaching(output, deployment):
            async with aclosing(log_lines(session.stacks, address)) as lines:
                async for line in lines:
                    output.text(visible(line) + "\n")
                    output.result({"runId": chosen["id"], "line": line})
        return Exit.OK
    text = await session.stacks.log(name, address.number, address.run_id)
    for line in text.splitlines():
        output.text(visible(line) + "\n")
        output.result({"runId": chosen["id"], "line": line})
    if not text:
        output.warn(f"{name_of(deployment)} has said nothing yet; --follow waits for it")
    return Exit.OK


@command
async def watch(session: Session, name: StackArgument, number: NumberArgument = None, *, log: LogOption = None) -> Exit:
    """Follow a deployment until it ends or waits for a person. With --json, one object for each change."""
    deployment = await session.stacks.deployment(name, await number_of(session.stacks, name, number))
    output = session.output
    latest = deployment
    if is_over(deployment) or waits(deployment):
        output.result(deployment)
    else:
        with detaching(output, deployment):
            latest = await follow(session.stacks, output, deployment, told=output.result, log=log)
    plan = await planned(session.stacks, latest)
    return code_of(plan, Telling()) if output.as_json else told(session, output, plan, Telling())


def _chosen(deployment: dict[str, Any], number: int | None) -> dict[str, Any]:
    """The run that is meant.

    Raises:
        CommandError: there is no such run.
    """
    runs = list(runs_of(deployment))
    if not runs:
        raise CommandError(Exit.CONFLICT, f"{name_of(deployment)} has no run yet")
    if number is None:
        begun = [run for run in runs if run["logBytes"] or run["startedAt"]]
        return (begun or runs)[-1]
    if number > len(runs):
        there = f"{len(runs)} run{'' if len(runs) == 1 else 's'}"
        raise CommandError(Exit.DENIED, f"{name_of(deployment)} has {there} only")
    return runs[number - 1]
