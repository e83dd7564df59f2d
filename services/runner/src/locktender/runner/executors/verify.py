"""Waiting until every required object is ready, and giving up on those that will not be."""

import asyncio
import random
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import assert_never

from locktender.contracts.deployments.cards import CardStatus, Readiness
from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.models import Card, FailureReason
from locktender.contracts.deployments.readiness import settled, watches_pods
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeDenied, KubeError, KubeUnauthorized, KubeUnavailable, Outage
from locktender.runner.executors.observe import Observer, Sighting
from locktender.runner.executors.run import RunHandle

SHORTEST, LONGEST = 0.25, 2.0
"""Seconds between two looks: short while things move, long while they do not."""

_LOOK_SECONDS = 15.0
_REFUSALS = 3
"""Looks in a row that the cluster refuses before the run gives up."""
_WORDS_SECONDS = 5.0
"""Between two records of which only the words differ; a changed status is recorded at once."""
_TROUBLED = {CardStatus.BLOCKED, CardStatus.UNKNOWN, CardStatus.FAILED}
_NAMED = 5
_ENDED = "completed"


class Verifying:
    """The verify phase of one run: looks again and again, records what changed, never deletes anything."""

    def __init__(self, client: KubeClient, handle: RunHandle, *, clock: Clock, seconds: float) -> None:
        self._observer = Observer(client)
        self._handle = handle
        self._clock = clock
        self._seconds = seconds
        self._troubles: dict[int, tuple[str | None, float]] = {}
        self._unsaid: dict[int, Card] = {}
        self._told_at = clock.monotonic()
        self._refusals = 0

    async def run(self) -> bool:
        """Whether all required objects became ready. If not, the run has been told as failed.

        Raises:
            KubeError: the account may not look at its objects.
        """
        waiting = [card for card in self._cards() if card.status is not CardStatus.RUNNING]
        watched = [card.index for card in self._cards() if card in waiting or watches_pods(card.ref.kind)]
        if not waiting:
            return True
        pause, end = SHORTEST, self._clock.monotonic() + self._seconds
        self._handle.expect_by(self._clock.now() + timedelta(seconds=self._seconds))
        await self._tell()
        while True:
            moved = await self._look_around(watched)
            if not self._missing():
                return True
            if await self._failed():
                return False
            if moved or (self._unsaid and self._clock.monotonic() - self._told_at >= _WORDS_SECONDS):
                await self._tell()
            if self._clock.monotonic() >= end:
                await self._time_out()
                return False
            pause = SHORTEST if moved else min(pause * 1.5, LONGEST)
            # Never in step with what is looked at: a container that crashes every second is not always seen running.
            varied = pause * random.uniform(0.6, 1.0)  # noqa: S311 - see above
            await self._clock.sleep(min(varied, max(end - self._clock.monotonic(), 0.0)))

    async def _look_around(self, watched: Collection[int]) -> bool:
        """Look at what is not ready, then once more at all that is watched. Whether any status changed."""
        before = {card.index: card.status for card in self._cards()}
        await self._look([card for card in self._cards() if card.status is not CardStatus.RUNNING])
        if not self._missing():
            # Ready one after the other is not enough: all of them have to be, in one look.
            await self._look([card for card in self._cards() if card.index in watched and _may_turn(card)])
        return any(before[card.index] is not card.status for card in self._cards())

    def _cards(self) -> tuple[Card, ...]:
        return self._handle.timeline.cards

    def _missing(self) -> list[Card]:
        return [card for card in self._cards() if card.required and card.status is not CardStatus.RUNNING]

    async def _look(self, cards: Sequence[Card]) -> None:
        """Look once, and stage what changed."""
        if not cards:
            return
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                seen = await self._observer.look(cards)
        except TimeoutError:
            silent = KubeUnavailable("the cluster does not answer in time", Outage.TIMEOUT)
            seen = dict[int, Sighting]({card.index: silent for card in cards})
        self._count_refusals(seen)
        after = [self._judged(card, seen[card.index]) for card in cards]
        changed = {new.index: new for old, new in zip(cards, after, strict=True) if new != old}
        self._handle.stage(*changed.values())
        self._unsaid |= changed

    def _count_refusals(self, seen: Mapping[int, Sighting]) -> None:
        refused = [error for error in seen.values() if isinstance(error, KubeUnauthorized | KubeDenied)]
        self._refusals = self._refusals + 1 if refused else 0
        if self._refusals >= _REFUSALS:
            raise refused[0]

    def _judged(self, card: Card, sighting: Sighting) -> Card:
        match sighting:
            case Readiness():
                return _worded(card, self._settled(card.index, sighting))
            case KubeError():
                return _worded(card, Readiness(CardStatus.UNKNOWN, "not-observed", str(sighting)))
            case None:
                gone = "it is no longer in the cluster"
                return _worded(card, Readiness(CardStatus.UNKNOWN, "gone", gone, "deploy again to create it anew"))
            case _:
                assert_never(sighting)

    def _settled(self, index: int, verdict: Readiness) -> Readiness:
        if verdict.trouble is None:
            self._troubles.pop(index, None)
            return verdict
        # Counted by container and not by reason: a pull that fails is called by two names in turn.
        now, known, container = self._clock.monotonic(), self._troubles.get(index), verdict.trouble.container
        since = known[1] if known is not None and known[0] == container else now
        self._troubles[index] = (container, since)
        return settled(verdict, troubled_for=now - since)

    async def _tell(self) -> None:
        changed, self._unsaid = self._unsaid.values(), dict[int, Card]()
        required = [card for card in self._cards() if card.required]
        said = f"{len(required) - len(self._missing())} of {len(required)} required resources are ready"
        fresh = [str(card.ref) for card in changed if card.status is CardStatus.RUNNING]
        if fresh:
            said += f"; ready now: {_named(fresh)}"
        troubled = [f"{card.ref} ({card.reason})" for card in changed if card.status in _TROUBLED]
        if troubled:
            said += f"; in trouble: {_named(troubled)}"
        self._told_at = self._clock.monotonic()
        await self._handle.emit(said, phase=TaskPhase.VERIFY)

    async def _failed(self) -> bool:
        broken = [card for card in self._missing() if card.status is CardStatus.FAILED]
        if not broken:
            return False
        first = broken[0]
        more = f"; and {len(broken) - 1} more" if len(broken) > 1 else ""
        message = f"{first.ref} failed: {first.message}{more}"
        await self._handle.fail(FailureReason.RESOURCE_FAILED, TaskPhase.VERIFY, message, first.hint)
        return True

    async def _time_out(self) -> None:
        late = _named([f"{card.ref} ({card.message})" for card in self._missing()])
        message = f"not ready within {self._seconds:g} s: {late}"
        hint = "what was applied stays in the cluster and may still become ready"
        await self._handle.fail(FailureReason.READINESS_TIMEOUT, TaskPhase.VERIFY, message, hint)


def _may_turn(card: Card) -> bool:
    """Whether a ready object can cease to be ready. What has completed cannot, and may even be removed."""
    return card.required and card.reason != _ENDED


def _worded(card: Card, verdict: Readiness) -> Card:
    words = {"status": verdict.status, "reason": verdict.reason, "message": verdict.message, "hint": verdict.hint}
    return card.model_copy(update=words)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
