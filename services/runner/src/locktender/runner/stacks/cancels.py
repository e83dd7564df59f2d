"""Hearing of cancel requests within milliseconds. The row decides; a message only says which row to look at."""

import asyncio
from uuid import UUID

import structlog
from nats.aio.msg import Msg

from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.runner.stacks.live import LiveStackRuns
from locktender.runner.stacks.renewal import RunRenewal
from locktender.runtime.abort import AbortReason
from locktender.runtime.bus import Bus

_log = structlog.stdlib.get_logger(__name__)

_RETRY_SECONDS = 0.2


class RunCancels:
    """Looks at the runs that `lt.cancel.<id>` names. A lost message costs the time to the next renewal."""

    def __init__(self, live: LiveStackRuns, renewal: RunRenewal, *, ttl: float, clock: Clock) -> None:
        self._live = live
        self._renewal = renewal
        self._ttl = ttl
        self._clock = clock
        self._named: set[UUID] = set()
        self._any = asyncio.Event()

    async def listen(self, bus: Bus) -> None:
        """Hear of requests from now on; `look_forever` has to run as well.

        Raises:
            Unavailable: the connection is closed.
        """
        await bus.subscribe(subjects.CANCELS, self._hear)

    async def look_forever(self) -> None:
        """Look at what was named, until cancelled."""
        while True:
            await self._any.wait()
            self._any.clear()
            named, self._named = self._named, set()
            try:
                await self._look(named)
            except Unavailable as error:
                _log.warning("cannot look at a cancel request, trying again", reason=str(error))
                self._named |= named
                self._any.set()
                await self._clock.sleep(_RETRY_SECONDS)
            except Exception:  # noqa: BLE001 - renewals bring the request too; the loop must live on
                _log.exception("looking at a cancel request failed")

    async def _hear(self, message: Msg) -> None:
        try:
            run_id = UUID(message.subject.rpartition(".")[2])
        except ValueError:
            return
        if self._live.of(run_id):
            self._named.add(run_id)
            self._any.set()

    async def _look(self, named: set[UUID]) -> None:
        runs = {(run.lease.row_id, run.lease.epoch): run for run_id in named for run in self._live.of(run_id)}
        if not runs:
            return
        for answer in await self._renewal.renew([run.lease for run in runs.values()], self._ttl):
            signal = runs[answer.row_id, answer.epoch].signal
            if not answer.held:
                signal.trip(AbortReason.SUPERSEDED)
            elif answer.cancel_requested:
                signal.trip(AbortReason.CANCELLED)
