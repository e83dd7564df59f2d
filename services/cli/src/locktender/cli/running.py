"""From a coroutine to an exit code: one place where errors become words and codes."""

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, NoReturn

import typer

from locktender.cli.exits import CommandError, Exit
from locktender.cli.output import Output
from locktender.contracts.kernel.errors import LocktenderError, Unavailable


def finish(output: Output, work: Coroutine[Any, Any, Exit]) -> NoReturn:
    """Run a command to its end and exit.

    Raises:
        typer.Exit: always.
    """
    try:
        code = asyncio.run(work)
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = Exit.UNREAD
    except Exception as error:  # noqa: BLE001 - what is not known is raised again
        code = _explained(output, error)
    raise typer.Exit(int(code))


def _explained(output: Output, error: Exception) -> Exit:
    known = _first_known(error)
    if known is None:
        raise error
    output.problem(known)
    return known.code


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
