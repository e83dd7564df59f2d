"""`locktender ops`: for those who run a Locktender."""

import os
from typing import Annotated

import typer
from rich.text import Text

from locktender.cli.connection import connect
from locktender.cli.exits import CommandError, Exit
from locktender.cli.options import JsonOption
from locktender.cli.output import Output
from locktender.cli.running import finish

app = typer.Typer(no_args_is_help=True, help="Check and repair a running system.")

_LIMIT = 1000


@app.callback()
def ops() -> None:
    """Check a running system."""


DatabaseOption = Annotated[
    str | None,
    typer.Option("--database-url", help="Default: LOCKTENDER_DATABASE_URL, else the local system's."),
]


@app.command()
def migrate(*, database_url: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Bring a database to the newest schema, with the roles of the services. Running it again does nothing."""
    output = Output(as_json=as_json)
    finish(output, _migrate(output, _database(database_url)))


@app.command()
def verify(*, database_url: DatabaseOption = None, as_json: JsonOption = False) -> None:
    """Check the invariants on the live database; exit code 1 when one is broken."""
    output = Output(as_json=as_json)
    finish(output, _verify(output, _database(database_url)))


def _database(given: str | None) -> str | None:
    return given or os.environ.get("LOCKTENDER_DATABASE_URL")


def _known(dsn: str | None) -> str:
    dsn = dsn or connect(None, None).database_url
    if dsn is None:
        raise CommandError(Exit.USAGE, "no database is known here", "Pass --database-url.")
    return dsn


async def _migrate(output: Output, dsn: str | None) -> Exit:
    from locktender.storage.migrations import migrate as bring_up  # noqa: PLC0415 - slow to import, rarely needed
    from locktender.storage.roles import apply_roles  # noqa: PLC0415 - the same

    known = _known(dsn)
    await bring_up(known)
    await apply_roles(known, {})
    output.say("the schema and the roles are up to date; set the passwords of the roles yourself")
    output.result({"ok": True})
    return Exit.OK


async def _verify(output: Output, dsn: str | None) -> Exit:
    from locktender.storage.kernel.database import open_database  # noqa: PLC0415 - slow to import, and rarely needed
    from locktender.storage.verify import INVARIANTS, UNCHECKED, violations  # noqa: PLC0415 - the same

    async with open_database(_known(dsn), name="locktender-verify", size=2, deadline=60.0) as database:
        found = await violations(database)
    broken = {violation.invariant for violation in found}
    for invariant, text in INVARIANTS.items():
        mark = ("✗", "red") if invariant in broken else ("✓", "green")
        output.say(Text.assemble("  ", mark, f" {invariant} ", (text, "dim")))
    for invariant, reason in UNCHECKED.items():
        output.say(Text(f"  - {invariant} not checked: {reason}", style="dim"))
    for violation in found[:_LIMIT]:
        output.say(Text(f"  {violation.invariant} {violation.subject}: {violation.message}", style="red"))
    output.result(
        {
            "ok": not found,
            "violations": [
                {"invariant": v.invariant, "subject": v.subject, "message": v.message} for v in found[:_LIMIT]
            ],
        }
    )
    return Exit.FAILED if found else Exit.OK
