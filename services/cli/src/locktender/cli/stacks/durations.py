"""Lengths of time as people write them on a command line."""

import re

import typer

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_ONE = r"(\d{1,9})\s*([smhd]?)"
NEVER = -1
"""What `never` is read as, where it may be said."""


def length(text: str) -> int:
    """Seconds: `90`, `90s`, `15m`, `2h`, `7d`, `1h30m`.

    Raises:
        typer.BadParameter: it is none.
    """
    told = str(text).strip().lower()
    if not re.fullmatch(rf"(?:{_ONE})+", told):
        raise typer.BadParameter(f"{text!r} is no length of time; write 90s, 15m, 2h or 7d")
    return sum(int(number) * _UNITS[unit] for number, unit in re.findall(_ONE, told))


def limit(text: str) -> int:
    """The same, or `never` (also -1).

    Raises:
        typer.BadParameter: it is neither.
    """
    return NEVER if str(text).strip().lower() in {"never", "-1"} else length(text)
