"""Turning hints on the bus into runs: fetch by free slots, claim together, acknowledge, run."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, assert_never

import structlog
from nats.aio.msg import Msg

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.runtime import answers
from locktender.runtime.bus import Bus
from locktender.runtime.hint import Hint, parse
from locktender.runtime.pull import Ending, Pull
from locktender.runtime.race import first_of, pause
from locktender.runtime.slots import Slots
from locktender.runtime.stop import Stop
from locktender.runtime.watchdog import Verdict, Watchdog

_log = structlog.stdlib.get_logger(__name__)

Run = Callable[[], Coroutine[Any, Any, None]]
"""A claimed piece of work, not yet begun. It handles its own errors; what it raises all the same is logged."""

Claim = Callable[[Sequence[Hint]], Awaitable[Sequence[Run]]]
"""Commits the claims of these rows, all at once, and returns a run for each one that was claimable."""

_CLAIM_PAUSE = Backoff(first=0.1, ceiling=5.0)
_DISCONNECTED_PAUSE = 0.1
_TROUBLE_PAUSE = Backoff(first=0.05, ceiling=2.0)


class JetStreamWorker:
    """One durable pull consumer, bound by name, feeding a bounded number of runs.

    A message only hints that a row can be claimed. The order is: fetch no more than there are free slots, claim the
    batch, commit, acknowledge, run. A crash anywhere costs a redelivery or a re-drive, never a row: acknowledgements
    have no authority. If the claim fails, its messages are given back with a growing delay and fetching pauses.

    The consumer, its stream or the server may be away or be made anew at any time; the worker waits and goes on.

    Fault points: `<name>.claimed` after the claim and before the acknowledgements, `<name>.acked` before the runs.
    """

    def __init__(
        self,
        bus: Bus,
        stream: str,
        consumer: str,
        *,
        slots: Slots,
        claim: Claim,
        clock: Clock,
        stop: Stop,
        faults: FaultPoints = NO_FAULTS,
        name: str = "worker",
        drain_seconds: float = 25.0,
        watch_seconds: float = 30.0,
    ) -> None:
        self._bus = bus
        self._consumer = consumer
        self._slots = slots
        self._claim = claim
        self._clock = clock
        self._stop = stop
        self._faults = faults
        self._name = name
        self._drain_seconds = drain_seconds
        self._pull = Pull(bus, stream, consumer, clock)
        self._watchdog = Watchdog(bus, stream, consumer, clock, watch_seconds)
        self._running: set[asyncio.Task[None]] = set()
        self._reserved = 0
        self._trouble = 0
        self._claim_failures = 0
        self._missing = False
        self._failure: Unavailable | None = None

    async def run(self) -> None:
        """Work until `stop`: then give back what was not begun and let the runs end, for at most the drain time.

        Raises:
            Unavailable: the connection closed for good, or the consumer stalls although messages wait. The process
                should end and be started afresh; `stop` was requested and everything drained before.
        """
        await self._pull.open()
        async with asyncio.TaskGroup() as runs:
            async with asyncio.TaskGroup() as feed:
                feed.create_task(self._interrupt())
                await self._work(runs)
            await answers.give_back(await self._pull.close(), delay=False)
            await self._drain()
        if self._failure is not None:
            raise self._failure

    async def check(self) -> None:
        """A health check.

        Raises:
            Unavailable: the consumer or its stream is missing at this moment.
        """
        if self._missing:
            raise Unavailable(f"consumer {self._consumer} is missing")

    async def _interrupt(self) -> None:
        # The loop is interrupted where it waits and never cancelled: a claim that commits must get its runs.
        await self._stop.wait()
        self._pull.interrupt()

    async def _work(self, runs: asyncio.TaskGroup) -> None:
        while not self._stop.requested:
            if self._slots.free <= 0:
                self._watchdog.saw_nothing_possible()
                await first_of(self._stop.wait(), self._slots.wait_free())
                continue
            if not self._bus.connected and not self._bus.dead:
                # A request made now would wait in the buffer, and be one of many that the server gets at once.
                self._watchdog.saw_nothing_possible()
                await pause(_DISCONNECTED_PAUSE, clock=self._clock, stop=self._stop)
                continue
            ending = await self._request()
            while ending is None:
                messages, ending = await self._pull.arrivals()
                if self._stop.requested:
                    await answers.give_back(messages, delay=False)
                else:
                    await self._take(messages, runs)
            self._slots.give_back(self._reserved)
            self._reserved = 0
            await self._after(ending)

    async def _request(self) -> Ending | None:
        """Ask for as much as there are free slots, and reserve them."""
        if self._bus.dead:
            self._give_up(Unavailable("the connection to NATS is closed for good"))
            return Ending.LOST
        self._reserved = self._slots.free
        self._slots.take(self._reserved)
        try:
            await self._pull.request(self._reserved)
        except Unavailable:
            return Ending.LOST
        return None

    async def _take(self, messages: Sequence[Msg], runs: asyncio.TaskGroup) -> None:
        """Claim what the messages point at, acknowledge them, and start the runs."""
        if not messages:
            return
        self._watchdog.saw_messages()
        room = self._reserved + max(self._slots.free, 0)
        # More than was asked for: what a request brought that we had given up.
        await answers.give_back(messages[room:], delay=False)
        messages = messages[:room]
        self._occupy(len(messages))
        hints = [(message, parse(message)) for message in messages]
        await answers.drop([message for message, hint in hints if hint is None])
        legible = [message for message, hint in hints if hint is not None]
        claimed = await self._claimed([hint for _, hint in hints if hint is not None])
        if claimed is None:
            self._slots.give_back(len(messages))
            await answers.give_back(legible, delay=True)
            await pause(_CLAIM_PAUSE.delay(self._claim_failures, _chance()), clock=self._clock, stop=self._stop)
            return
        self._occupied_by(len(claimed), instead_of=len(messages))
        await self._faults.reach(f"{self._name}.claimed")
        await answers.acknowledge(legible)
        await self._faults.reach(f"{self._name}.acked")
        for run in claimed:
            task = runs.create_task(self._run(run))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _claimed(self, hints: Sequence[Hint]) -> Sequence[Run] | None:
        """The runs of one committed claim; None when the claim failed."""
        if not hints:
            return ()
        try:
            claimed = await self._claim(hints)
        except LocktenderError as error:
            _log.warning("claim failed, giving the hints back", consumer=self._consumer, reason=str(error))
        except Exception:  # noqa: BLE001 - whatever it was, the hints go back and the worker goes on
            _log.exception("claim failed unexpectedly, giving the hints back", consumer=self._consumer)
        else:
            self._claim_failures = 0
            return claimed
        self._claim_failures += 1
        return None

    async def _run(self, run: Run) -> None:
        try:
            await run()
        except Exception:  # noqa: BLE001 - one run must not end its neighbours
            _log.exception("a run ended with an error that it should have handled", consumer=self._consumer)
        finally:
            self._slots.give_back(1)

    async def _after(self, ending: Ending) -> None:
        """Look after the consumer once a request has ended."""
        match ending:
            case Ending.FILLED | Ending.EXPIRED | Ending.INTERRUPTED:
                self._note(missing=False)
                self._trouble = 0
            case Ending.LOST | Ending.MISSING:
                if ending is Ending.MISSING:
                    self._note(missing=True)
                    self._watchdog.saw_nothing_possible()
                self._trouble += 1
                await pause(_TROUBLE_PAUSE.delay(self._trouble, _chance()), clock=self._clock, stop=self._stop)
            case _:
                assert_never(ending)
        match await self._watchdog.look():
            case Verdict.FINE:
                return
            case Verdict.RESUBSCRIBE:
                _log.warning("messages wait but none arrives, subscribing again", consumer=self._consumer)
                await self._reopen()
            case Verdict.GIVE_UP:
                self._give_up(Unavailable(f"consumer {self._consumer} has messages but delivers none"))

    async def _reopen(self) -> None:
        try:
            await self._pull.open()
        except Unavailable as error:
            self._give_up(error)

    def _note(self, *, missing: bool) -> None:
        if missing and not self._missing:
            _log.warning("the consumer or its stream is missing, waiting for it", consumer=self._consumer)
        elif self._missing and not missing:
            _log.info("the consumer is there again", consumer=self._consumer)
        self._missing = missing

    def _give_up(self, failure: Unavailable) -> None:
        self._failure = failure
        self._stop.request()

    def _occupy(self, count: int) -> None:
        reserved = min(count, self._reserved)
        self._reserved -= reserved
        self._slots.take(count - reserved)

    def _occupied_by(self, runs: int, *, instead_of: int) -> None:
        self._slots.give_back(instead_of - runs)

    async def _drain(self) -> None:
        if not self._running:
            return
        _log.info("waiting for runs to end", consumer=self._consumer, runs=len(self._running))
        await first_of(_all(tuple(self._running)), self._clock.sleep(self._drain_seconds))
        for task in tuple(self._running):
            _log.error("a run did not end within the drain time and is cut off", consumer=self._consumer)
            task.cancel()


async def _all(tasks: Sequence[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)


def _chance() -> float:
    return random.random()  # noqa: S311 - spreads load
