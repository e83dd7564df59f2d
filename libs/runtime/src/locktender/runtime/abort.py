"""How a run learns that it must end early, and why."""

import asyncio
from enum import StrEnum
from types import TracebackType
from typing import Self

from locktender.contracts.kernel.errors import LocktenderError


class AbortReason(StrEnum):
    """Why a run must end before its work is done."""

    CANCELLED = "cancelled"
    """Somebody asked for it. The run still owns its row and acknowledges."""
    SUPERSEDED = "superseded"
    """The lease is lost, or may be. The run must not write or touch anything any more."""
    SHUTDOWN = "shutdown"
    """The process ends. The run still owns its row and says that it was interrupted."""
    OVERRUN = "overrun"
    """The run passed its time limit. It still owns its row."""


class Aborted(LocktenderError):
    """Raised at the end of a scope that an abort cut short."""

    def __init__(self, reason: AbortReason) -> None:
        super().__init__(f"the run was aborted: {reason}")
        self.reason = reason


class Abort:
    """One run's abort signal. Belongs to one event loop.

    The first reason wins, except that `SUPERSEDED` replaces every other: it alone takes the right to write.
    """

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._reason: AbortReason | None = None
        self._scopes: set[AbortScope] = set()

    @property
    def reason(self) -> AbortReason | None:
        """Why, or None while the run may go on."""
        return self._reason

    @property
    def tripped(self) -> bool:
        """Whether the run must end."""
        return self._reason is not None

    def trip(self, reason: AbortReason) -> None:
        """Give the signal, and cancel the body of every open scope."""
        if self._reason is not None:
            if reason is AbortReason.SUPERSEDED:
                self._reason = reason
            return
        self._reason = reason
        self._event.set()
        for scope in tuple(self._scopes):
            scope.cut()

    def check(self) -> None:
        """Nothing, while the run may go on.

        Raises:
            Aborted: the signal was given.
        """
        if self._reason is not None:
            raise Aborted(self._reason)

    async def wait(self) -> AbortReason:
        """The reason, once the signal was given."""
        await self._event.wait()
        if self._reason is None:  # pragma: no cover - the event is set after the reason
            raise AssertionError("an abort without a reason")
        return self._reason

    def scope(self) -> "AbortScope":
        """`async with abort.scope():` cancels its body when the signal is given, and then raises `Aborted`.

        Cleanup inside the body runs as with any cancellation. A cancellation from elsewhere stays one.
        """
        return AbortScope(self)

    def enter(self, scope: "AbortScope") -> None:
        """Cut `scope` when the signal is given."""
        self.check()
        self._scopes.add(scope)

    def leave(self, scope: "AbortScope") -> None:
        """Leave `scope` alone from now on."""
        self._scopes.discard(scope)


class AbortScope:
    """The async context manager behind `Abort.scope`; it works as `asyncio.timeout` does."""

    def __init__(self, abort: Abort) -> None:
        self._abort = abort
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._was_cut = False

    def cut(self) -> None:
        """Cancel the body."""
        if self._task is not None and not self._was_cut:
            self._was_cut = True
            self._task.cancel()

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an abort scope needs a task to cancel")
        self._task, self._cancelling = task, task.cancelling()
        self._abort.enter(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._abort.leave(self)
        if not self._was_cut or self._task is None:
            return
        foreign = self._task.uncancel() > self._cancelling
        if error is None and not foreign:
            await self._swallow()
        if not foreign and (error is None or isinstance(error, asyncio.CancelledError)):
            raise Aborted(self._abort.reason or AbortReason.CANCELLED) from error

    async def _swallow(self) -> None:
        # The body ended before it met its cancellation. Before Python 3.13 `uncancel` leaves it pending,
        # and it would hit whatever the task awaits next.
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if self._task is not None and self._task.cancelling() > self._cancelling:
                raise
