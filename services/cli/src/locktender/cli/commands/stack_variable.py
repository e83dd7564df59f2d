"""`locktender stack variable`: values that runs of a stack are given."""

from dataclasses import dataclass
from typing import Annotated

import typer
from rich.text import Text

from locktender.cli.exits import EXIT_CODES, CommandError, Exit
from locktender.cli.files import text_of
from locktender.cli.render.stacks.holdings import variables_listing
from locktender.cli.session import Session, command
from locktender.cli.stacks.options import StackArgument

app = typer.Typer(no_args_is_help=True, help="Values that runs of a stack are given.", epilog=EXIT_CODES)

VariableArgument = Annotated[str, typer.Argument(metavar="VARIABLE", help="The name of the variable.")]


@dataclass(frozen=True, slots=True)
class KindOptions:
    """What kind of variable it is; without any of these, an input variable of the configuration."""

    environment: Annotated[
        bool, typer.Option("--env", help="An environment variable, not an input variable of the configuration.")
    ] = False
    # `--token` is the caller's own, in every command.
    identity_token: Annotated[
        bool,
        typer.Option(
            "--identity-token",
            help="An environment variable with a token that is signed for each run. Its value is the audience.",
        ),
    ] = False
    identity_token_file: Annotated[
        bool,
        typer.Option(
            "--identity-token-file", help="The same token in a file. The environment variable has the path of the file."
        ),
    ] = False

    def kind(self) -> str:
        """As the API calls it.

        Raises:
            CommandError: there are several.
        """
        named = {
            "environment": self.environment, "token": self.identity_token, "token-file": self.identity_token_file,
        }  # fmt: skip
        given = [kind for kind, wanted in named.items() if wanted]
        if len(given) > 1:
            raise CommandError(Exit.USAGE, "give one of --env, --identity-token and --identity-token-file")
        return given[0] if given else "variable"


@app.command(name="list")
@command
async def list_(session: Session, name: StackArgument) -> Exit:
    """All of them. Sensitive values are shown to nobody again."""
    session.answer(await session.stacks.variables(name), variables_listing)
    return Exit.OK


@app.command(name="set")
@command
async def set_(
    session: Session,
    name: StackArgument,
    variable: VariableArgument,
    value: Annotated[
        str | None,
        typer.Argument(help="Its value; others see it in the list of processes. Not with --file.", show_default=False),
    ] = None,
    *,
    file: Annotated[
        str | None, typer.Option("-f", "--file", help="Read the value from here; - is standard input.")
    ] = None,
    kind: KindOptions,
    sensitive: Annotated[bool, typer.Option("--sensitive", help="Keep it encrypted, and never show it.")] = False,
) -> Exit:
    """Set one. A name that sounds secret makes it sensitive anyway. At a terminal, a missing value is asked for."""
    named = kind.kind()
    given = _value(session, variable, value, file)
    if sensitive and value is not None:
        session.output.warn("warning: the list of processes showed this value; use --file - for secrets")
    body = {"value": given, "sensitive": sensitive}
    found = await session.stacks.set_variable(name, named, variable, body)
    session.output.result(found)
    session.output.say(Text.assemble((variable, "bold"), " is set; it holds from the next plan on"))
    return Exit.OK


@app.command()
@command
async def unset(session: Session, name: StackArgument, variable: VariableArgument, *, kind: KindOptions) -> Exit:
    """Forget one."""
    await session.stacks.unset_variable(name, kind.kind(), variable)
    session.output.result({"unset": variable})
    session.output.say(Text.assemble((variable, "bold"), " is unset"))
    return Exit.OK


def _value(session: Session, variable: str, value: str | None, file: str | None) -> str:
    """The value from where it was given.

    Raises:
        CommandError: it was given twice, or nowhere and nobody can be asked.
    """
    if value is not None and file is not None:
        raise CommandError(Exit.USAGE, "give the value or --file, not both")
    if value is not None:
        return value
    if file is not None:
        # An editor ends a file with a line break, which nobody means as a part of the value.
        return text_of(file).removesuffix("\n").removesuffix("\r")
    somebody = session.somebody(no_prompt=False)
    if somebody is None:
        raise CommandError(Exit.USAGE, f"no value for {variable}", "Give it, or --file FILE.")
    return somebody.hidden(f"{variable}: ")
