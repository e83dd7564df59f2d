"""From a coroutine to an exit code: one place where errors become words and codes."""

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, NoReturn

import typer

from locktender.cli.exits import CommandError, Exit
from locktender.cli.output import Output
from locktender.contracts.kernel.errors import LocktenderError, Unavailable

DEBUG = "LOCKTENDER_DEBUG"
"""The variable of the environment that makes errors tell where they happened."""


def finish(output: Output, work: Coroutine[Any, Any, Exit]) -> NoReturn:
    """Run a command to its end and exit. An error that nobody thought of is told in a line, too.

    Raises:
        typer.Exit: always, but for such an error where `LOCKTENDER_DEBUG` is set: that is raised on.
    """
    try:
        code = asyncio.run(work)
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except Exception as error:
        known, first = _first_known(error), _first(error)
        if known is None and isinstance(first, BrokenPipeError):
            # Whoever read our output has gone; the interpreter must not complain about it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise typer.Exit(int(Exit.UNREAD)) from None
        if known is None and os.environ.get(DEBUG):
            raise
        known = known or unexpected(first)
        output.problem(known)
        code = known.code
    raise typer.Exit(int(code))


def unexpected(error: BaseException) -> CommandError:
    """What people are told of an error that nobody thought of: its kind, as its text may hold what is secret."""
    reason = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
    hint = f"{DEBUG}=1 shows where it happened."
    return CommandError(Exit.FAILED, f"unexpected error: {type(error).__name__}{reason}", hint)


def _first(error: BaseException) -> BaseException:
    """The first one in a group of errors, else the error itself."""
    match error:
        case BaseExceptionGroup():
            return _first(error.exceptions[0])
        case _:
            return error


def _first_known(error: BaseException) -> CommandError | None:
    match error:
        case CommandError():
            return error
        case Unavailable():
            return CommandError(Exit.UNAVAILABLE, str(error))
        case LocktenderError():
            return CommandError(Exit.FAILED, str(error))
        case BaseExceptionGroup():
            found = (_first_known(inner) for inner in error.exceptions)
            return next((known for known in found if known is not None), None)
        case _:
            return None
