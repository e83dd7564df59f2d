"""Trying again, for as long as it can help and no longer."""

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from locktender.contracts.kernel.backoff import Backoff
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.errors import KubeTerminating, KubeUnavailable

T = TypeVar("T")
_ATTEMPTS = 1_000


async def retrying(
    call: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    deadline_seconds: float,
    backoff: Backoff | None = None,
    chance: Callable[[], float] = random.random,
) -> T:
    """The result of `call`, repeated while the cluster is busy, broken, unreachable or still deleting.

    `call` must be safe to repeat, as every method of `KubeClient` is. Waits grow, and are never shorter than a
    `Retry-After`. No try begins after `deadline_seconds`; a try under way is bounded by the client's own timeouts.

    Raises:
        KubeError: the last refusal once time is up, or at once one that waiting does not change.
    """
    steps = backoff or Backoff(first=0.2, ceiling=10.0)
    end = clock.monotonic() + deadline_seconds
    for attempt in range(1, _ATTEMPTS):
        try:
            return await call()
        except KubeUnavailable as error:
            if not error.transient:
                raise
            wait = max(steps.delay(attempt, chance()), error.retry_after or 0.0)
            if clock.monotonic() + wait >= end:
                raise
        except KubeTerminating:
            wait = steps.delay(attempt, chance())
            if clock.monotonic() + wait >= end:
                raise
        await clock.sleep(wait)
    return await call()
