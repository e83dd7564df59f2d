"""The command line within this process: for what takes less time than starting a process does."""

import asyncio
from functools import partial
from pathlib import Path

from typer.testing import CliRunner

from locktender.cli.app import app
from locktender.testkit.commands import Ran


async def invoked(folder: Path, *arguments: str, stdin: str = "", **environment: str) -> Ran:
    """Run the command to its end beside the state folder of a system, without a terminal; it never raises."""
    known = {"LOCKTENDER_STATE": str(folder), **environment}
    invoke = partial(CliRunner().invoke, app, arguments, input=stdin, env=known)
    ended = await asyncio.to_thread(invoke)
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    return Ran(ended.exit_code, ended.stdout, ended.stderr)
