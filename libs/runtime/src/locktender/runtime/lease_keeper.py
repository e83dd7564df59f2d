"""Renewing every lease of a process, apart from the work: on a thread, a loop and a connection of its own."""

import asyncio
import random
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from types import TracebackType
from typing import Protocol, Self

import structlog

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.contracts.kernel.lease import Lease
from locktender.runtime.abort import Abort
from locktender.runtime.clock import SystemClock
from locktender.runtime.renewals import RenewalAnswer, Renewals

_log = structlog.stdlib.get_logger(__name__)

_JOIN_SECONDS = 5.0
_RETRY = Backoff(first=0.1, ceiling=1.0)


class Renewal(Protocol):
    """The keeper's own way to the database."""

    async def renew(self, leases: Sequence[Lease], ttl: float) -> Sequence[RenewalAnswer]:
        """Extend every lease that is still held to `ttl` seconds from now, and say how each stands. One statement."""
        ...


OpenRenewal = Callable[[], AbstractAsyncContextManager[Renewal]]


class LeaseKeeper:
    """Keeps leases alive while runs work, and fences the runs whose leases it cannot keep.

    Guaranteed, however busy or blocked the main loop is: every kept lease is renewed about every `renew_every`
    seconds, all in one call; a failed call is repeated at once on a fresh connection. A lease that turns out lost,
    or that had no answer for 0.7 of `ttl` since the last successful call began, is given up for good: `on_fence`
    runs on the keeper's thread, and the run's abort trips with `SUPERSEDED`. A cancel request trips `CANCELLED`, and
    the lease goes on. A stop of the process changes nothing here: leases are renewed until `close`.

    Without leases nothing is asked.
    """

    def __init__(
        self,
        open_renewal: OpenRenewal,
        *,
        ttl: float,
        renew_every: float,
        on_fence: Callable[[Lease], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._open_renewal = open_renewal
        self._ttl = ttl
        self._renew_every = renew_every
        self._patience = ttl / 5
        self._clock: Clock = clock or SystemClock()
        self._renewals = Renewals(ttl, on_fence)
        self._loop = asyncio.new_event_loop()
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run_thread, name="lease-keeper", daemon=True)
        self._connected = True

    @contextmanager
    def keep(self, lease: Lease, abort: Abort, *, since: float | None = None) -> Generator[None]:
        """Keep `lease` while the context is open, and trip `abort` when it is lost or a cancel is requested.

        `since` is the monotonic time at which the claim was sent; now, if not given.

        Raises:
            Unavailable: the keeper does not run.
        """
        if not self._thread.is_alive():
            raise Unavailable("the lease keeper does not run, so no lease can be kept")
        self._renewals.add(lease, abort, self._clock.monotonic() if since is None else since)
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._wake.set)
        try:
            yield
        finally:
            self._renewals.remove(lease)

    def overdue(self, lease: Lease) -> bool:
        """Whether the run of `lease` has to stop now. For the moment before an effect.

        A process that was frozen asks this before its keeper, which was frozen too, can tell it anything.
        """
        return self._renewals.overdue(lease, self._clock.monotonic())

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop renewing and wait for the thread, at most 5 s. What is still kept loses its lease when it expires."""
        if self._thread.is_alive():
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join(_JOIN_SECONDS)
        elif not self._loop.is_closed():
            self._loop.close()

    async def check(self) -> None:
        """A health check.

        Raises:
            Unavailable: the thread has ended, or the last renewal failed and leases are still kept.
        """
        if not self._thread.is_alive():
            raise Unavailable("the lease keeper has ended")
        # Without leases nothing is asked, so an old failure would stand for ever.
        if not self._connected and not self._renewals.empty:
            raise Unavailable("leases cannot be renewed at this moment")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run_thread(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(self._run())
            except Exception:  # noqa: BLE001 - whatever it was, runs without a keeper must end
                _log.exception("the lease keeper failed; every lease is given up")
                self._renewals.fence_all()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(self._renew_forever()), group.create_task(self._fence_forever())]
            await self._closing.wait()
            for worker in workers:
                worker.cancel()

    async def _renew_forever(self) -> None:
        failures = 0
        while True:
            try:
                async with self._opened() as renewal:
                    while True:
                        await self._until_due(failures)
                        await self._renew(renewal)
                        failures = 0
                        self._note(connected=True)
            except (LocktenderError, OSError, TimeoutError) as error:
                self._note(connected=False, reason=str(error) or type(error).__name__)
            except Exception:  # noqa: BLE001 - drivers raise errors of their own, and giving up would lose every lease
                self._note(connected=False, reason="unexpected error")
                _log.exception("renewing leases failed")
            failures += 1
            if failures > 1:
                await self._clock.sleep(_RETRY.delay(failures - 1, random.random()))  # noqa: S311 - spreads load

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Renewal]:
        # Neither opening nor closing a broken connection may use up the time of the leases.
        stack = AsyncExitStack()
        try:
            async with asyncio.timeout(self._patience):
                renewal = await stack.enter_async_context(self._open_renewal())
            yield renewal
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience):
                    await stack.aclose()

    async def _until_due(self, failures: int) -> None:
        """Return when there are leases to renew, after the usual pause unless the last try failed."""
        while not self._renewals.due():
            self._wake.clear()
            if not self._renewals.due():
                await self._wake.wait()
                failures = 0
        if failures == 0:
            await self._clock.sleep(self._renew_every)

    async def _renew(self, renewal: Renewal) -> None:
        leases = self._renewals.due()
        if not leases:
            return
        asked_at = self._clock.monotonic()
        async with asyncio.timeout(self._patience):
            answers = await renewal.renew(leases, self._ttl)
        self._renewals.answered(answers, asked_at)

    async def _fence_forever(self) -> None:
        while True:
            now = self._clock.monotonic()
            for lease in self._renewals.fence(now):
                _log.error(
                    "no answer about a lease in time, its run is fenced", row=str(lease.row_id), epoch=lease.epoch
                )
            fence_at = self._renewals.next_fence()
            # A lease added meanwhile is due later than the longest pause, so none is overlooked.
            longest = self._ttl * 0.05
            await self._clock.sleep(longest if fence_at is None else min(max(fence_at - now, 0.001), longest))

    def _note(self, *, connected: bool, reason: str = "") -> None:
        if connected and not self._connected:
            _log.info("leases are renewed again")
        elif self._connected and not connected:
            _log.warning("leases cannot be renewed, trying again", reason=reason)
        self._connected = connected
