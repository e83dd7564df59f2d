"""The commands of `locktender`, and what belongs to all of them."""

from importlib.metadata import version
from typing import Annotated

import typer

from locktender.cli.commands import deployments, ops, stack, templates
from locktender.cli.commands.demo import demo
from locktender.cli.commands.deploy import deploy
from locktender.cli.commands.diff import diff
from locktender.cli.commands.events import events
from locktender.cli.commands.runner import runner
from locktender.cli.commands.up import up
from locktender.cli.exits import EXIT_CODES

app = typer.Typer(
    name="locktender",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:  # noqa: FBT001 - typer calls it like this
    if asked:
        typer.echo(f"locktender {version('locktender-cli')}")
        raise typer.Exit


@app.callback()
def locktender(
    *,
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """A deployment control plane whose statuses are always true."""


app.command(name="up")(up)
app.command(name="runner")(runner)
app.command(name="demo")(demo)
app.command(name="diff")(diff)
app.command(name="deploy")(deploy)
app.add_typer(deployments.app, name="deployments")
app.add_typer(templates.app, name="templates")
app.add_typer(stack.app, name="stack")
app.command(name="events")(events)
app.add_typer(ops.app, name="ops")
