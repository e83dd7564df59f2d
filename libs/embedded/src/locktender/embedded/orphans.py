"""Servers that outlived their supervisor: found by what they run on, never by a bare process id.

A process id in a file may belong to anybody by now. What counts is a living program of the right name that names our
folder in its arguments or works in it.
"""

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from locktender.embedded.child import Ladder, eventually
from locktender.embedded.errors import EmbeddedError

_PROC = Path("/proc")


def naming(program: str, argument: Path) -> set[int]:
    """Living processes of the executable `program` that have `argument` as one of their arguments."""
    if not _PROC.joinpath("self", "cmdline").exists():
        return _naming_by_ps(program, argument)
    wanted = os.fsencode(argument)
    return {pid for pid in _running(program) if wanted in _arguments(pid)}


def working_in(program: str, folder: Path) -> set[int]:
    """Living processes of the executable `program` whose working directory is `folder` (Linux; elsewhere none)."""
    return {pid for pid in _running(program) if _link(pid, "cwd") == str(folder)}


async def retire(what: str, find: Callable[[], set[int]], ladder: Ladder, grace: float = 0.0) -> None:
    """Wait `grace` seconds for what `find` returns to end by itself, then walk the ladder.

    Raises:
        EmbeddedError: something is left after the last step.
    """
    if await eventually(lambda: not find(), grace):
        return
    for step, patience in ladder:
        for pid in find():
            with suppress(ProcessLookupError):
                os.kill(pid, step)
        if await eventually(lambda: not find(), patience):
            return
    left = ", ".join(map(str, sorted(find())))
    raise EmbeddedError(
        f"{what} start", f"an earlier server (process {left}) does not end", "Stop that process, then try again."
    )


KILL: Ladder = ((signal.SIGKILL, 10.0),)


def _running(program: str) -> set[int]:
    if not _PROC.is_dir():
        return set()
    pids = (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal())
    return {pid for pid in pids if pid != os.getpid() and _executable(pid) == program}


def _executable(pid: int) -> str:
    # A zombie has no executable any more, so it never counts as living.
    return Path(_link(pid, "exe").removesuffix(" (deleted)")).name


def _arguments(pid: int) -> list[bytes]:
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _link(pid: int, name: str) -> str:
    try:
        return str((_PROC / str(pid) / name).readlink())
    except OSError:
        return ""


def _naming_by_ps(program: str, argument: Path) -> set[int]:
    listing = subprocess.run(
        ("/bin/ps", "-axo", "pid=,command="), capture_output=True, text=True, check=False, timeout=10
    ).stdout
    rows = (line.split(None, 1) for line in listing.splitlines())
    return {
        int(row[0])
        for row in rows
        if len(row) > 1 and Path(row[1].split()[0]).name == program and f" {argument} " in f"{row[1]} "
    }
