"""Reading the files that commands are given."""

import sys
from pathlib import Path

from locktender.cli.exits import CommandError, Exit

STDIN = "-"


def text_of(path: Path | str) -> str:
    """The text of a file; `-` is standard input.

    Raises:
        CommandError: it cannot be read, or is no UTF-8 text.
    """
    if str(path) == STDIN:
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(Exit.USAGE, f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(Exit.USAGE, f"{path} is not UTF-8 text") from error
