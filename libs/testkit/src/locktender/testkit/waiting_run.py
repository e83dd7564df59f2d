"""A run that has applied its objects and waits for them, with what people see of it in memory."""

import asyncio
import time
from collections.abc import Callable, Sequence

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import Card, Step, Timeline
from locktender.contracts.deployments.wire import ObjectRef
from locktender.testkit.recorded_run import RecordedRun


class WaitingRun(RecordedRun):
    """A recorded run that lets a test wait for a card.

    Attributes:
        changed: set whenever a card changed.
        seen: each status that a card ever had, by its index.
        moments: when each record was written, on the machine's own clock.
    """

    def __init__(self, refs: Sequence[ObjectRef]) -> None:
        super().__init__(timeline=Timeline(cards=tuple(Card(index=index, ref=ref) for index, ref in enumerate(refs))))
        self.changed = asyncio.Event()
        self.seen: dict[int, list[CardStatus]] = {index: [] for index in range(len(refs))}
        self.moments: list[float] = []
        self.on_write = lambda _: self.moments.append(time.monotonic())

    def stage(self, *changes: Card | Step) -> None:
        """See `RunHandle`."""
        super().stage(*changes)
        for change in changes:
            if isinstance(change, Card):
                self.seen[change.index].append(change.status)
        self.changed.set()

    def at(self, index: int = 0) -> Card:
        """One card as it is now."""
        return self.timeline.cards[index]

    async def until(self, holds: Callable[[Card], bool], index: int = 0, *, seconds: float = 15.0) -> Card:
        """The card, as soon as `holds` is true of it.

        Raises:
            AssertionError: it did not become true in time; says how the card stands.
        """
        try:
            async with asyncio.timeout(seconds):
                while not holds(self.at(index)):
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise AssertionError(f"still not: {self.at(index)}") from None
        return self.at(index)
