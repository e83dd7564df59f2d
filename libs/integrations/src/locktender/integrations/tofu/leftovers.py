"""Processes of a run, found by the mark in their environment, and ended for certain.

Guaranteed: whatever a run started and that kept its environment, or descends from such a process, is found, whichever
session, group or parent it has now. Not guaranteed: a process that dropped its environment *and* whose ancestors of
the run are all dead; while the guardian of a run lives there is no such process.

This needs `/proc` of Linux.
"""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from locktender.integrations.tofu.failures import ProcessesLeft

MARK = "LOCKTENDER_RUN"
"""The environment variable that says whose a process is."""

_ROUNDS = 400
_PAUSE = 0.025
_CALM = 2
"""So many looks in a row must find nothing: a process may have been between two places of the list."""
_GONE = frozenset("ZX")


@dataclass(frozen=True, slots=True)
class Mark:
    """Says in the environment of a process to which run, and to which epoch of it, it belongs."""

    run: str
    epoch: int

    @property
    def value(self) -> str:
        """What the variable holds."""
        return f"{self.run}/{self.epoch}"

    @property
    def environment(self) -> dict[str, str]:
        """What to add to the environment of everything that the run starts."""
        return {MARK: self.value}


@dataclass(frozen=True, slots=True)
class Live:
    """A process that is not dead: `born` tells it from a later one with its number."""

    pid: int
    parent: int
    born: int


def processes_of(mark: Mark | str) -> frozenset[int]:
    """Numbers of the live processes of one epoch of a run, or, given the id of a run, of any epoch of it.

    It reads all of `/proc`: milliseconds, and it blocks, so call it in a thread. This process itself never counts.
    """
    return frozenset(live.pid for live in _found(mark))


async def kill_all(mark: Mark | str) -> int:
    """SIGKILL every process of one epoch of a run, or of a run, until two looks in a row find none.

    Returns how many were killed.

    Raises:
        ProcessesLeft: some are still there after ten seconds.
    """
    calm = 0
    killed: set[tuple[int, int]] = set()
    for _ in range(_ROUNDS):
        found = await asyncio.to_thread(_kill_found, mark)
        killed |= found
        calm = 0 if found else calm + 1
        if calm == _CALM:
            return len(killed)
        await asyncio.sleep(_PAUSE)
    raise ProcessesLeft(await asyncio.to_thread(processes_of, mark))


def _kill_found(mark: Mark | str) -> frozenset[tuple[int, int]]:
    found = list(_found(mark))
    for live in found:
        with suppress(OSError):
            handle = os.pidfd_open(live.pid)
            try:
                # The handle cannot come to mean another process; that it means this one is seen by its birth.
                now = _live(live.pid)
                if now is not None and now.born == live.born:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)
    return frozenset((live.pid, live.born) for live in found)


def _found(mark: Mark | str) -> Iterator[Live]:
    everything = {live.pid: live for live in _all_live()}
    children: dict[int, list[int]] = {}
    for live in everything.values():
        children.setdefault(live.parent, []).append(live.pid)
    pending = [pid for pid in everything if _carries(pid, mark)]
    seen = {os.getpid()}
    while pending:
        pid = pending.pop()
        if pid not in seen:
            seen.add(pid)
            pending += children.get(pid, [])
            yield everything[pid]


def _all_live() -> Iterator[Live]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (live := _live(int(entry.name))) is not None:
            yield live


def _live(pid: int) -> Live | None:
    try:
        stat = Path("/proc", str(pid), "stat").read_bytes()
    except OSError:
        return None
    # The name stands in parentheses and may hold anything, parentheses too.
    fields = stat.rpartition(b")")[2].decode().split()
    return None if fields[0] in _GONE else Live(pid=pid, parent=int(fields[1]), born=int(fields[19]))


def _carries(pid: int, mark: Mark | str) -> bool:
    try:
        environment = b"\0" + Path("/proc", str(pid), "environ").read_bytes()
    except OSError:
        return False
    if isinstance(mark, Mark):
        return f"\0{MARK}={mark.value}\0".encode() in environment + b"\0"
    return f"\0{MARK}={mark}/".encode() in environment
