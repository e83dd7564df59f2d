"""An event loop whose time passes only while nothing happens.

@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return VIRTUAL_TIME

Everything that asks the loop for the time lives in this one time: `asyncio.sleep`, `asyncio.timeout`, the timeouts of
HTTP clients and servers, and a `VirtualClock`. Client and server have to be in the process of the test: bytes between
them are there at once, so a loop in which nothing is ready has nothing to wait for but its next timer, and jumps there.
A minute of a cluster then takes as long as the work of that minute.

Threads that the loop's executor runs (`asyncio.to_thread`, name resolution) are waited for in real time. Other threads,
other processes and other machines are not: do not talk to them under this loop.
"""

import asyncio
import selectors
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple, Unpack

from locktender.runtime.clock import SystemClock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_STUCK_SECONDS = 5.0
_THREAD_POLL = 0.02


class NothingToWaitFor(AssertionError):
    """No socket is ready, no timer is set, no thread works: whoever waits would wait for ever."""


class _Leaping(selectors.DefaultSelector):
    """Polls, and where the loop asks it to wait, moves time on instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.jumps = 0
        self.threads = 0
        self.watch: Callable[[], None] = lambda: None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.watch()
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self.threads:
            return super().select(_THREAD_POLL)
        if timeout is None:
            return self._nothing_planned()
        self.jumps += 1
        self.now += timeout
        return ready

    def _nothing_planned(self) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(_STUCK_SECONDS)
        if not ready:
            raise NothingToWaitFor("nothing is ready and no timer is set")
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop. Its time starts at 0."""

    def __init__(self) -> None:
        self._leaping = _Leaping()
        super().__init__(self._leaping)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._leaping.now

    @property
    def jumps(self) -> int:
        """How often time moved on."""
        return self._leaping.jumps

    def watch(self, look: Callable[[], None]) -> None:
        """Call `look` at every turn of the loop, in place of an earlier one."""
        self._leaping.watch = look

    def run_in_executor(self, executor: Any, func: Callable[[Unpack[Ts]], T], *args: *Ts) -> asyncio.Future[T]:
        """As ever; time stands still until the thread is done."""
        future = super().run_in_executor(executor, func, *args)
        self._leaping.threads += 1
        future.add_done_callback(self._thread_done)
        return future

    def _thread_done(self, _: asyncio.Future[T]) -> None:
        self._leaping.threads -= 1


VIRTUAL_TIME: tuple[str, dict[str, Any]] = ("asyncio", {"loop_factory": VirtualLoop})
"""The value of a module's `anyio_backend` fixture."""


class VirtualClock:
    """Implements `locktender.contracts.kernel.clock.Clock` on the running loop. Made under a `VirtualLoop`.

    Wall time starts at the machine's, because certificates are checked against that.
    """

    def __init__(self) -> None:
        self._began = SystemClock().now() - timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """Virtual seconds."""
        return asyncio.get_running_loop().time()

    def now(self) -> datetime:
        """The wall time at which the loop was made, plus the virtual seconds since."""
        return self._began + timedelta(seconds=self.monotonic())

    async def sleep(self, seconds: float) -> None:
        """Return once that much virtual time has passed."""
        await asyncio.sleep(seconds)


@asynccontextmanager
async def bounded(*, real_seconds: float, jumps: int) -> AsyncGenerator[None]:
    """End the block, as a failed test, when it takes longer than it may. Not to be nested.

    Args:
        real_seconds: of the machine; whatever the loop is busy with.
        jumps: how often time may move on, which bounds a block that only ever waits.

    Raises:
        AssertionError: the block was ended.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert isinstance(loop, VirtualLoop), "not under a virtual loop"
    assert task is not None
    deadline, last, over = time.monotonic() + real_seconds, loop.jumps + jumps, list[str]()

    def look() -> None:
        if over or (time.monotonic() < deadline and loop.jumps <= last):
            return
        over.append(f"{loop.jumps - last + jumps} jumps to {loop.time():.1f} virtual seconds")
        loop.call_soon(task.cancel)

    loop.watch(look)
    try:
        yield
    except asyncio.CancelledError:
        if not over:
            raise
        task.uncancel()
        raise AssertionError(f"not done within {real_seconds:g} real seconds and {jumps} jumps: {over[0]}") from None
    finally:
        loop.watch(lambda: None)
