"""The log of a run on its way to the API: in batches, in order, each byte once."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import structlog

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.contracts.stacks.wire import LeaseGone
from locktender.runtime.race import first_of
from locktender.runtime.runs.errors import RunRefused
from locktender.runtime.runs.terms import PortTerms

_log = structlog.stdlib.get_logger(__name__)

Send = Callable[[int, bytes], Awaitable[int]]
"""Sends a piece that starts at an offset, and returns where the log that is kept ends."""


class LogSender:
    """Takes pieces from one writer and sends them in batches.

    Guaranteed: what is kept is a beginning of what was written, without gaps or repeats inside it, except where a
    write was refused with `Unavailable`: that piece is missing. No more than `buffer_bytes` (and one piece) wait here.
    """

    def __init__(self, send: Send, *, clock: Clock, terms: PortTerms) -> None:
        self._send = send
        self._clock = clock
        self._terms = terms
        self._waiting = bytearray()
        self._offset = 0
        self._failures = 0
        self._over: Exception | None = None
        self._filled = asyncio.Event()
        self._hurry = asyncio.Event()
        self._moved = asyncio.Event()

    async def write(self, chunk: bytes) -> None:
        """Take a piece, and wait for room where there is none.

        Raises:
            LeaseGone: nothing is kept any more.
            Unavailable: the API does not take the log, so this piece is lost.
        """
        if not chunk:
            return
        await self._room(len(chunk))
        if self._over is not None:
            raise self._over
        self._waiting += chunk
        self._filled.set()
        if len(self._waiting) >= self._terms.batch_bytes:
            self._hurry.set()

    async def flush(self) -> bool:
        """Send all that waits now. False: it could not be sent in time, and is lost."""
        self._hurry.set()
        try:
            async with asyncio.timeout(self._terms.flush_seconds):
                while self._waiting and self._over is None:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            _log.warning("the end of a log could not be sent", bytes=len(self._waiting))
            self._waiting.clear()
            return False
        return self._over is None

    async def run(self) -> None:
        """Send what is written, until cancelled."""
        while self._over is None:
            await self._filled.wait()
            if not self._hurry.is_set():
                await first_of(self._hurry.wait(), self._clock.sleep(self._terms.batch_seconds))
            await self._send_batch()
            if not self._waiting:
                self._filled.clear()
            if len(self._waiting) < self._terms.batch_bytes:
                self._hurry.clear()
            self._moved.set()

    async def _room(self, size: int) -> None:
        if self._failures == 0:
            try:
                async with asyncio.timeout(self._terms.backpressure_seconds):
                    while self._is_full(size) and self._over is None:
                        self._moved.clear()
                        await self._moved.wait()
            except TimeoutError:
                self._failures += 1
        if self._is_full(size) and self._over is None:
            # A tool at work must not be held up by an API that is away: it is the log that suffers.
            raise Unavailable("the API does not take the log of the run")

    def _is_full(self, size: int) -> bool:
        return bool(self._waiting) and len(self._waiting) + size > self._terms.buffer_bytes

    async def _send_batch(self) -> None:
        piece = bytes(self._waiting[: self._terms.batch_bytes])
        if not piece:
            return
        try:
            end = await self._send(self._offset, piece)
        except LeaseGone as gone:
            self._end(gone)
        except RunRefused as error:
            _log.warning("the API refuses the log of a run", reason=str(error))
            self._end(Unavailable(str(error)))
        except LocktenderError as error:
            await self._trouble(str(error))
        else:
            await self._kept(end, len(piece))

    async def _kept(self, end: int, size: int) -> None:
        taken = min(max(end - self._offset, 0), size)
        del self._waiting[:taken]
        # Where the API is behind us, what it lacks is lost; where it is ahead, this piece was taken before.
        self._offset = max(end, 0)
        if taken:
            self._failures = 0
        else:
            await self._trouble("the API keeps nothing of the log")

    async def _trouble(self, reason: str) -> None:
        self._failures += 1
        if self._failures == 1:
            _log.warning("the log of a run cannot be sent, trying again", reason=reason)
        await self._clock.sleep(self._terms.retry.delay(self._failures, random.random()))  # noqa: S311 - spreads load

    def _end(self, over: Exception) -> None:
        self._over = over
        self._waiting.clear()
