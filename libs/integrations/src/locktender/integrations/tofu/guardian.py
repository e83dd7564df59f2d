"""The parent of one command: it sees to it that nothing the command started outlives whoever asked for it.

A program of its own (`python -I -S guardian.py`) that imports next to nothing, so that it starts in milliseconds. It
is the *subreaper* of all that the command starts: a child that leaves the group or the session, or whose parent dies,
becomes a child of the guardian. Hence "`waitpid` knows of no child" is the proof that nothing is left, and the guardian
ends only after it, or says that it gave up.

Standard input is a socket to whoever asked. First comes the order (`order_of`): the guardian's own environment is not
the command's, so that nothing in it disturbs the guardian, and nobody reads it there. Words that come in after it:
`term` (SIGTERM to the command itself), `term-group` (SIGTERM to its process group), `kill`; its end means `kill`,
because whoever asked is dead. Words that go out, each once: `started PID`, or `unstartable ERRNO`, then `ended CODE`
(negative: the signal), and `empty` with the proof. Exit status: EMPTY, or LEFT.
"""

import ctypes
import errno
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

EMPTY = 0
"""Nothing that the command started is alive."""
LEFT = 71
"""Something could not be killed in time."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CONTROL = 0
_LENGTH = 8
_KILLING = 20.0
"""Seconds until killing is given up: a process that sleeps inside the kernel dies only when it wakes up."""
_TICK_MS = 500
"""How often it is checked that whoever asked lives, should another process hold its end of the socket open."""


def main() -> int:
    """Run what was ordered with the directory and the output of this process, and see to its end."""
    asked_by = os.getppid()
    order = _order()
    if order is None:
        return EMPTY
    wakeup = _woken_by_children()
    try:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        leader = _start(*order)
    except OSError as fault:
        _say(f"unstartable {fault.errno or 0}")
        return EMPTY
    _say(f"started {leader}")
    # Now the command's processes alone hold the output open: its end tells the reader that they are gone.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    _obey(leader, asked_by, wakeup)
    if not _kill_all(leader):
        return LEFT
    _say("empty")
    return EMPTY


def order_of(argv: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """What to write to the guardian first. No argument, name or value may hold a null character.

    The length of the rest (8 bytes, big-endian), then the number of arguments, the arguments and NAME=VALUE for each
    variable, each ended by a null byte.
    """
    words = [str(len(argv)), *argv, *(f"{name}={value}" for name, value in environment.items())]
    body = b"".join(os.fsencode(word) + b"\0" for word in words)
    return len(body).to_bytes(_LENGTH, "big") + body


def _order() -> tuple[list[bytes], dict[bytes, bytes]] | None:
    """What to run, or None when whoever asked died before it was said."""
    length = _exactly(_LENGTH)
    body = _exactly(int.from_bytes(length, "big")) if length else None
    if body is None:
        return None
    count, *words = body.split(b"\0")[:-1]
    argv, pairs = words[: int(count)], words[int(count) :]
    return argv, dict(pair.split(b"=", 1) for pair in pairs)


def _exactly(length: int) -> bytes | None:
    read = bytearray()
    while len(read) < length:
        piece = os.read(_CONTROL, length - len(read))
        if not piece:
            return None
        read += piece
    return bytes(read)


def _obey(leader: int, asked_by: int, wakeup: int) -> None:
    """Until the command has ended, or all of it is to be killed."""
    watch = select.poll()
    watch.register(_CONTROL, select.POLLIN)
    watch.register(wakeup, select.POLLIN)
    while os.getppid() == asked_by:
        ready = dict(watch.poll(_TICK_MS))
        if wakeup in ready:
            os.read(wakeup, 512)
        if _reap(leader):
            return
        if _CONTROL in ready:
            words = _heard()
            if not words or "kill" in words:
                return
            if "term" in words:
                os.kill(leader, signal.SIGTERM)
            if "term-group" in words:
                os.killpg(leader, signal.SIGTERM)


def _heard() -> list[str]:
    """The words that came in; none when whoever asked is gone."""
    try:
        return os.read(_CONTROL, 512).decode("ascii", errors="replace").split()
    except OSError:
        return []


def _reap(leader: int) -> bool:
    """Take in what died. True when the command itself did, which is reported."""
    ended = False
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if pid == leader:
            _say(f"ended {os.waitstatus_to_exitcode(status)}")
            ended = True


def _kill_all(leader: int) -> bool:
    """Kill every descendant until there is none. False when that took too long."""
    until = time.monotonic() + _KILLING
    while time.monotonic() < until:
        _reap(leader)
        if not _has_children():
            return True
        for pid in _descendants(os.getpid()):
            _kill(pid)
        time.sleep(0.005)
    return False


def _kill(pid: int) -> None:
    # Only we reap our descendants' orphans, but a descendant may reap its own child, and its number be given away.
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _is_below(pid, os.getpid()):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        pass  # It died, or belongs to another user: then it is still there when time is up, and that is said.
    finally:
        os.close(handle)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _descendants(root: int) -> Iterator[int]:
    """Everything below `root` in the tree of processes."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - importing pathlib takes longer than all the rest
        if entry.isdigit() and (parent := _parent_of(int(entry))) is not None:
            children.setdefault(parent, []).append(int(entry))
    # A tree that changes while it is read may seem to have a circle.
    seen: set[int] = set()
    pending = children.get(root, [])
    while pending:
        pid = pending.pop()
        if pid not in seen:
            seen.add(pid)
            pending += children.get(pid, [])
            yield pid


def _is_below(pid: int, root: int) -> bool:
    seen: set[int] = set()
    above = _parent_of(pid)
    while above and above != root and above not in seen:
        seen.add(above)
        above = _parent_of(above)
    return above == root


def _parent_of(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - see above
            stat = file.read()
    except OSError:
        return None
    # The name stands in parentheses and may hold anything, parentheses too.
    return int(stat.rpartition(b")")[2].split()[1])


def _start(argv: Sequence[bytes], environment: Mapping[bytes, bytes]) -> int:
    """Start the command in a session of its own; it dies when this process does."""
    guardian = os.getpid()
    failed_in, failed_out = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(argv, environment, guardian, failed_out)
    os.close(failed_out)
    told = os.read(failed_in, 16)
    os.close(failed_in)
    if told:
        os.waitpid(pid, 0)
        raise OSError(int(told), "the command cannot be started")
    return pid


def _become(argv: Sequence[bytes], environment: Mapping[bytes, bytes], guardian: int, failed: int) -> None:
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guardian:
            os._exit(1)
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), _CONTROL)
        os.execve(argv[0], list(argv), dict(environment))  # noqa: S606 - there is no shell on purpose
    except OSError as fault:
        os.write(failed, str(fault.errno or errno.EINVAL).encode())
    finally:
        os._exit(127)


def _woken_by_children() -> int:
    """A file that can be read whenever a child has ended. Signals that end programs are left to the socket to say."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    return readable


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _say(words: str) -> None:
    try:
        os.write(_CONTROL, f"{words}\n".encode("ascii"))
    except OSError:
        return  # Whoever asked is gone, and nobody else wants to know.


if __name__ == "__main__":
    sys.exit(main())
