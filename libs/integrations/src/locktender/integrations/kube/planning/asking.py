"""Asking a cluster many things at once: a few at a time, each again for a moment, and not at all once it is away."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.errors import KubeError, KubeTerminating, KubeUnauthorized, KubeUnavailable, Outage
from locktender.integrations.kube.json_value import JsonObject
from locktender.integrations.kube.retry import retrying

K = TypeVar("K")
T = TypeVar("T")

PATIENCE = 5.0
"""Seconds for which one question is asked again while the cluster is busy."""


_ABOUT_ONE = (Outage.SERVER_ERROR, Outage.WEBHOOK, Outage.OVERLOADED)


class Item(Protocol):
    """One document of a source."""

    @property
    def index(self) -> int: ...

    @property
    def ref(self) -> ObjectRef: ...

    @property
    def body(self) -> JsonObject: ...


class Asking:
    """The questions of one survey."""

    def __init__(self, clock: Clock, *, concurrency: int) -> None:
        self._clock = clock
        self._concurrency = concurrency
        self._away: KubeError | None = None

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T:
        """The answer; a busy cluster is asked again for `PATIENCE` seconds. Raises `KubeError`."""

        async def attempt() -> T | KubeTerminating:
            try:
                return await call()
            except KubeTerminating as answer:
                # It is worth telling, and not worth waiting for.
                return answer

        answer = await retrying(attempt, clock=self._clock, deadline_seconds=PATIENCE)
        if isinstance(answer, KubeTerminating):
            raise answer
        return answer

    async def each(self, keys: Iterable[K], handle: Callable[[K], Awaitable[None]]) -> None:
        """Handle every key, in order, some at the same time.

        Raises:
            KubeError: the first one that `handle` raised; no key was begun after it.
        """
        waiting = iter(keys)

        async def work() -> None:
            for key in waiting:
                if self._away is not None:
                    return
                try:
                    await handle(key)
                except KubeError as error:
                    self._away = self._away or error

        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(work())
        if self._away is not None:
            raise self._away


def about_one(error: KubeError) -> KubeError:
    """`error`, when it is about what was asked for.

    Raises:
        KubeUnauthorized, KubeUnavailable: nothing else would be answered either, because the cluster is away or does
            not know the account.
    """
    about_all = isinstance(error, KubeUnauthorized) or (
        isinstance(error, KubeUnavailable) and error.outage not in _ABOUT_ONE
    )
    if about_all:
        raise error
    return error
