"""Work that repeats until the process stops, and lives on when one round fails."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import structlog

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError
from locktender.runtime.race import first_of, pause
from locktender.runtime.stop import Stop

_log = structlog.stdlib.get_logger(__name__)

OnError = Callable[[Exception], None]


class Waker:
    """Cuts a pause short. A call during the work counts for the pause after it, so no wake is lost."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def wake(self) -> None:
        """End the present pause, or the next one. Call it from the loop's own thread."""
        self._event.set()

    def clear(self) -> None:
        """Forget the wakes so far: what they announced is looked at now."""
        self._event.clear()

    async def wait(self) -> None:
        """Return as soon as there is an unforgotten wake."""
        await self._event.wait()


async def every(
    seconds: float,
    work: Callable[[], Awaitable[object]],
    *,
    stop: Stop,
    clock: Clock,
    jitter: float = 0.1,
    on_error: OnError | None = None,
    name: str = "work",
) -> None:
    """Run `work` now and then about every `seconds`, measured from the end of a round, until `stop`.

    Rounds never overlap. The pause varies by up to `jitter` (a fraction of it) so that replicas drift apart.
    A round that raises is logged, told to `on_error`, and followed by the next one: an error never ends the loop.
    """
    while not stop.requested:
        await _attempt(work, name, on_error)
        await pause(seconds * (1 + random.uniform(-jitter, jitter)), clock=clock, stop=stop)  # noqa: S311 - spreads load


async def adaptive(
    work: Callable[[], Awaitable[bool]],
    *,
    stop: Stop,
    clock: Clock,
    waker: Waker | None = None,
    floor: float = 0.02,
    ceiling: float = 0.25,
    on_error: OnError | None = None,
    name: str = "work",
) -> None:
    """Run `work` until `stop`: again at once while it finds something to do, ever more rarely while it does not.

    `work` says whether it did something. The pause doubles from `floor` to `ceiling` seconds and starts over after
    a wake. Choose a ceiling of a second or more where pokes arrive: an idle system should ask little.
    A round that raises counts as idle, with pauses that grow to 5 s or the ceiling, whichever is longer.
    """
    waker = waker or Waker()
    trouble = Backoff(first=max(floor, 0.05), ceiling=max(ceiling, 5.0))
    idle, failures = floor, 0
    while not stop.requested:
        # Cleared before the work, not after: a poke that arrives meanwhile must lead to another look.
        waker.clear()
        did = await _attempt(work, name, on_error)
        if did:
            idle, failures = floor, 0
            await asyncio.sleep(0)
            continue
        failures = failures + 1 if did is None else 0
        delay = trouble.delay(failures, random.random()) if failures else idle  # noqa: S311 - spreads load
        woken = await first_of(stop.wait(), clock.sleep(delay), waker.wait()) == 2  # noqa: PLR2004 - the third wait
        idle = floor if woken else min(idle * 2, ceiling)


async def _attempt(work: Callable[[], Awaitable[object]], name: str, on_error: OnError | None) -> bool | None:
    """Whether the work said that it did something; None when it failed."""
    try:
        return bool(await work())
    except LocktenderError as expected:
        _log.warning("round failed", work=name, reason=str(expected))
        error: Exception = expected
    except Exception as unexpected:  # noqa: BLE001 - one failed round must not end the loop
        _log.exception("round failed unexpectedly", work=name)
        error = unexpected
    if on_error is not None:
        on_error(error)
    return None
