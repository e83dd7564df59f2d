"""Reading the files that commands are given."""

import sys
from pathlib import Path

from locktender.cli.exits import CommandError, Exit

STDIN = "-"
LARGEST = 32 * 1024 * 1024
"""Bytes. More than any API takes; the bound is for files that never end."""


def text_of(path: Path | str) -> str:
    """The text of a file; `-` is standard input.

    Raises:
        CommandError: it cannot be read, is too large, or is no UTF-8 text.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    try:
        if str(path) == STDIN:
            content = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(path).open("rb") as file:
                content = file.read(LARGEST + 1)
    except OSError as error:
        raise CommandError(Exit.USAGE, f"{name} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST:
        raise CommandError(Exit.USAGE, f"{name} is larger than {LARGEST // (1024 * 1024)} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(Exit.USAGE, f"{name} is not UTF-8 text") from error
