"""The keeper of the directory of one run: when the runner dies, it ends what is left, and removes the directory.

A program of its own (`python -I -S warden.py MARK DIRECTORY LOCK`) that imports next to nothing, so that it starts in
milliseconds, and that lives as long as the run. A byte on its standard input is a goodbye: the runner has cleared up
for itself. The end of its standard input means that the runner is dead. The warden shares the runner's lock on the
directory, so that until it has ended no sweep comes in between; should it be killed as well, the lock is free, and the
next sweep does its work. Its environment is empty: it does not carry the mark, and what kills a run spares it.

What cannot be killed or removed is left with its lock to the next sweep.

As a module it is how marked processes are found and killed, and directories removed; runners do the same.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

MARK = "LOCKTENDER_RUN"
"""The environment variable that says whose a process is."""

ROUNDS = 400
PAUSE = 0.025
CALM = 2
"""So many looks in a row must find nothing: a process may have been between two places of the list."""

_GUARDIANS = 25.0
"""Seconds for the guardian of a command to end it, who is better at it; its own bound is shorter."""
_REMOVING = 30.0
"""Seconds in which the directory must be gone: a git that nobody reads any more may write a moment longer."""
_TICK = 0.1
_GONE = b"ZX"


def main(mark: str, directory: str, lock: str) -> None:
    """Wait for the runner to say goodbye, or for its death, and then clear up after it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.read(0, 1):
        return
    needle = needle_of(mark)
    until = time.monotonic() + _GUARDIANS
    while any(found(needle)) and time.monotonic() < until:
        time.sleep(_TICK)
    if _killed(needle) and _removed(directory):
        os.unlink(lock)  # noqa: PTH108 - importing pathlib takes longer than all the rest


def needle_of(mark: str, *, any_epoch: bool = False) -> bytes:
    """What to look for in an environment: a whole mark, or the run that a mark begins with."""
    return os.fsencode(f"\0{MARK}={mark}/" if any_epoch else f"\0{MARK}={mark}\0")


def found(needle: bytes) -> Iterator[tuple[int, int]]:
    """Number and birth of each live process whose environment has the needle, and of all that descend from one.

    The birth tells a process from a later one with its number. This process itself never counts.
    """
    everything = dict(_all_live())
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in everything.items():
        children.setdefault(parent, []).append(pid)
    pending = [pid for pid in everything if _carries(pid, needle)]
    seen = {os.getpid()}
    while pending:
        pid = pending.pop()
        if pid not in seen:
            seen.add(pid)
            pending += children.get(pid, [])
            yield pid, everything[pid][1]


def kill_found(needle: bytes) -> frozenset[tuple[int, int]]:
    """SIGKILL everything that is found, and return it."""
    victims = frozenset(found(needle))
    for pid, born in victims:
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            # The handle cannot come to mean another process; that it means this one is seen by its birth.
            now = _live(pid)
            if now is not None and now[1] == born:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        except OSError:
            pass  # It died, or belongs to another user: then it is found again, and that is said in the end.
        finally:
            os.close(handle)
    return victims


def remove(directory: str) -> None:
    """Remove a directory as far as that is possible now. What is left is removed by a later sweep."""
    import shutil  # noqa: PLC0415 - a warden needs it only when its runner died

    try:
        shutil.rmtree(directory, onerror=_after_unlocking)
    except OSError:
        return


def _after_unlocking(again: Callable[..., object], path: str, _fault: object) -> None:
    """Some tools leave directories in which nothing may be removed."""
    os.chmod(os.path.dirname(path), 0o700)  # noqa: PTH101, PTH120 - see above
    if again is os.unlink or again is os.rmdir:
        again(path)


def _killed(needle: bytes) -> bool:
    calm = 0
    for _ in range(ROUNDS):
        calm = 0 if kill_found(needle) else calm + 1
        if calm == CALM:
            return True
        time.sleep(PAUSE)
    return False


def _removed(directory: str) -> bool:
    until = time.monotonic() + _REMOVING
    while os.path.lexists(directory):
        if time.monotonic() > until:
            return False
        remove(directory)
        time.sleep(PAUSE)
    return True


def _all_live() -> Iterator[tuple[int, tuple[int, int]]]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 - see above
        if entry.isdigit() and (live := _live(int(entry))) is not None:
            yield int(entry), live


def _live(pid: int) -> tuple[int, int] | None:
    """The parent and the birth of a process that is not dead."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - see above
            stat = file.read()
    except OSError:
        return None
    # The name stands in parentheses and may hold anything, parentheses too.
    fields = stat.rpartition(b")")[2].split()
    return None if fields[0] in _GONE else (int(fields[1]), int(fields[19]))


def _carries(pid: int, needle: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - see above
            return needle in b"\0" + file.read() + b"\0"
    except OSError:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
