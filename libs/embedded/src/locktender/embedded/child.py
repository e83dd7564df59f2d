"""One child process: started in its own session, logged, watched, stopped by a ladder of signals, reaped."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from locktender.embedded.account import Account
from locktender.embedded.errors import EmbeddedError
from locktender.embedded.log import ChildLog

_SHIM = Path(__file__).with_name("shim.py")
_LOG_CHECK_SECONDS = 60.0
_POLL_SECONDS = 0.1
T = TypeVar("T")

Ladder = Sequence[tuple[signal.Signals, float]]
"""Signals to send in turn, each with the seconds to wait for the end before the next one."""


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """How to start a child and how to stop it.

    Attributes:
        name: for messages.
        argv: an absolute program and its arguments. Never a secret: arguments are visible to every user.
        env: the whole environment of the child; nothing is inherited.
        log: file that takes its output.
        stop: the ladder; its last step should be SIGKILL.
        account: user to run as, or `None` for the user of this process.
        end_with_parent: signal that the kernel sends when this process ends, even by SIGKILL (Linux; elsewhere
            nothing is sent). It is bound to the *thread* that starts the child: start from a thread that stays.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    log: Path
    stop: Ladder
    cwd: Path = Path("/")
    account: Account | None = None
    end_with_parent: signal.Signals | None = None


class Child:
    """A started child. It is bound to no event loop, so that it can be started in one and stopped in another."""

    def __init__(self, spec: ChildSpec) -> None:
        """Start it.

        Raises:
            EmbeddedError: the program cannot be executed.
        """
        self.spec = spec
        self.log = ChildLog(spec.log)
        output = self.log.open()
        try:
            # It has its own session, so that Ctrl-C in a terminal reaches the supervisor alone, which then stops
            # its children in the right order.
            self._process = subprocess.Popen(
                _with_shim(spec),
                env=dict(spec.env),
                cwd=spec.cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            raise EmbeddedError(
                f"{spec.name} start",
                f"{spec.argv[0]} cannot be executed ({error.strerror})",
                "Install the packages again; they may be meant for another platform.",
            ) from error
        finally:
            os.close(output)

    @property
    def pid(self) -> int:
        """Process id; it is not reused before the child is reaped by `alive`, `wait` or `stop`."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs. A child that ended is reaped here."""
        return self._process.poll() is None

    async def wait(self) -> int:
        """Return the exit code once it has ended (negative: the signal that ended it). Keeps the log bounded."""
        while (code := self._process.poll()) is None:
            self.log.trim()
            await _until_exit(self.pid)
        return code

    async def stop(self) -> int:
        """Walk the ladder until it has ended, and return the exit code. Does nothing to one that already ended.

        A cancelled stop kills the child at once rather than leave it behind.

        Raises:
            EmbeddedError: it survived even the last step.
        """
        try:
            for step, patience in self.spec.stop:
                if not self.alive:
                    break
                self._send(step)
                with suppress(TimeoutError):
                    async with asyncio.timeout(patience):
                        return await self.wait()
        except asyncio.CancelledError:
            self.kill()
            raise
        if self.alive:
            raise EmbeddedError(
                f"{self.spec.name} stop", f"process {self.pid} does not end", "Look at what blocks it in the kernel."
            )
        return await self.wait()

    def kill(self) -> None:
        """End it and the rest of its process group by SIGKILL, and reap it."""
        if self.alive:
            self._send(signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5)

    def _send(self, step: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            if step is signal.SIGKILL:
                os.killpg(self.pid, step)
            else:
                os.kill(self.pid, step)


async def eventually(probe: Callable[[], bool], within: float, every: float = 0.02) -> bool:
    """Whether `probe` came true within `within` seconds. For facts that only the operating system knows."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            while not probe():  # noqa: ASYNC110 - the kernel offers no event for the processes of others
                await asyncio.sleep(every)
            return True
    return probe()


async def in_thread(work: Callable[[], T]) -> T:
    """Run blocking `work` beside the event loop. When cancelled, this returns only after the work has ended.

    So whatever the work does is over before the caller gives up the lock it holds.
    """
    running = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait((running,))
        if not running.cancelled():
            running.exception()  # the cancellation outranks it
        raise


def _with_shim(spec: ChildSpec) -> list[str]:
    if spec.account is None and spec.end_with_parent is None:
        return list(spec.argv)
    user = (-1, -1) if spec.account is None else (spec.account.uid, spec.account.gid)
    orders = (os.getpid(), int(spec.end_with_parent or 0), *user)
    return [sys.executable, "-I", "-S", str(_SHIM), *map(str, orders), *spec.argv]


async def _until_exit(pid: int) -> None:
    """Return when `pid` has ended, or after a while: the caller looks again."""
    if not hasattr(os, "pidfd_open"):
        await asyncio.sleep(_POLL_SECONDS)
        return
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        await asyncio.sleep(_POLL_SECONDS)
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(handle, ended.set)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOG_CHECK_SECONDS):
                await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
