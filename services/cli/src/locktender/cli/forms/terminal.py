"""The person at the terminal: lines are read with what they begin with, secrets without showing them."""

import getpass
import importlib
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.text import Text

from locktender.cli.exits import CommandError, Exit
from locktender.cli.output import Output


class Person(Protocol):
    """Somebody who can be asked."""

    def tell(self, text: Text) -> None:
        """Show a line."""
        ...

    def line(self, prompt: str, begun: str = "") -> str:
        """What was typed, `begun` being there already. Raises `CommandError` when nobody will answer any more."""
        ...

    def hidden(self, prompt: str) -> str:
        """The same, without showing it."""
        ...


def person(output: Output, *, prompts: bool = True) -> Person | None:
    """Who can be asked: nobody in JSON mode, with `--no-prompt`, or where input or output is no terminal."""
    there = sys.stdin.isatty() and sys.stdout.isatty()
    return Terminal(output) if there and prompts and not output.as_json else None


class Terminal:
    """The terminal that this process was started at."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def tell(self, text: Text) -> None:
        """See `Person`."""
        self._output.say(text)

    def line(self, prompt: str, begun: str = "") -> str:
        """See `Person`."""
        with _interruptible(), _begun_with(begun) as shown:
            return input(prompt if shown or not begun else f"{prompt}[{begun}] ") or ("" if shown else begun)

    def hidden(self, prompt: str) -> str:
        """See `Person`."""
        with _interruptible():
            return getpass.getpass(prompt)


@contextmanager
def _interruptible() -> Generator[None]:
    """Ctrl-C and the end of input leave the question at once; the event loop alone would not hear of them."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        sys.stdout.write("\n")
        raise CommandError(Exit.INTERRUPTED, "interrupted; no answer was sent") from None
    except EOFError:
        sys.stdout.write("\n")
        raise CommandError(Exit.USAGE, "the input ended before all was answered; no answer was sent") from None
    finally:
        signal.signal(signal.SIGINT, former)


@contextmanager
def _begun_with(text: str) -> Generator[bool]:
    """Put `text` into the next line that is read. False where this Python cannot edit lines."""
    try:
        readline: Any = importlib.import_module("readline")
    except ImportError:
        yield False
        return
    # Answers are nobody's business afterwards, so they are not to be found with the arrow keys either.
    readline.set_auto_history(False)
    hook: Callable[[], None] = lambda: readline.insert_text(text)  # noqa: E731 - a hook is a value here
    readline.set_startup_hook(hook if text else None)
    try:
        yield True
    finally:
        readline.set_startup_hook(None)
