"""Waiting until every required object is ready, and giving up on those that will not be."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from locktender.contracts.deployments.cards import CardStatus, Readiness
from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.models import Card, FailureReason
from locktender.contracts.deployments.patience import Patience
from locktender.contracts.deployments.readiness import watches_pods
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.informing.hub import InformerHub, informer_hub
from locktender.integrations.kube.reader import KubeReader
from locktender.integrations.kube.stamps import Stamp, stamp_of
from locktender.runner.executors.judging import Judging
from locktender.runner.executors.observe import Observer, Sight, Sighting
from locktender.runner.executors.run import RunHandle

_URGENT_SECONDS = 0.5
"""Between two records, however much happens."""
_WORDS_SECONDS = 5.0
"""Between two records of which only the words differ; a changed status is recorded as soon as may be."""
_BEAT_SECONDS = 10.0
"""The longest pause between two looks at what is known; what the cluster says is heard at once."""
_A_MOMENT = 0.01
"""So much later than the moment when patience ends, for it to have ended."""
_TROUBLED = {CardStatus.BLOCKED, CardStatus.UNKNOWN, CardStatus.FAILED}
_NAMED = 5
_ENDED = "completed"
USUAL = Patience()


class Verifying:
    """The verify phase of one run: watches, records what changed, never deletes anything.

    Guaranteed: it ends well only after one fresh look at all required objects has found all of them ready. A cluster
    that does not answer makes cards unknown and fails nothing before `seconds` are over.
    """

    def __init__(
        self,
        client: KubeReader,
        handle: RunHandle,
        *,
        clock: Clock,
        seconds: float,
        hub: InformerHub | None = None,
        patience: Patience = USUAL,
        stamp: Stamp | None = None,
    ) -> None:
        self._client = client
        self._stamp = stamp
        self._handle = handle
        self._clock = clock
        self._seconds = seconds
        self._hub = hub
        self._judging = Judging(clock, patience)
        self._unsaid: dict[int, Card] = {}
        self._urgent = False
        self._told_at = clock.monotonic()

    async def run(self) -> bool:
        """Whether all required objects became ready. If not, the run has been told as failed.

        Raises:
            KubeError: the account may not look at its objects.
        """
        waiting = [card for card in self._cards() if card.status is not CardStatus.RUNNING]
        watched = [card for card in self._cards() if card in waiting or watches_pods(card.ref.kind)]
        if not waiting:
            return True
        if self._hub is not None:
            return await self._watch(self._hub, watched)
        async with informer_hub(clock=self._clock) as hub:
            return await self._watch(hub, watched)

    async def _watch(self, hub: InformerHub, watched: Sequence[Card]) -> bool:
        end = self._clock.monotonic() + self._seconds
        self._handle.expect_by(self._clock.now() + timedelta(seconds=self._seconds))
        with hub.subscribed(self._client.access) as subscriber:
            observer = Observer(self._client, subscriber, self._clock)
            await observer.begin(watched)
            await self._tell()
            while True:
                seen = await observer.news()
                self._take(seen)
                self._stage(self._judging.passing())
                if suspected := self._overtaken(seen):
                    # A watch may lag behind our own apply, so the cluster itself is asked.
                    self._stage(self._overtaken(await observer.look(suspected)).items())
                if not self._missing() and await self._confirmed(observer, watched):
                    return True
                if await self._failed():
                    return False
                if self._clock.monotonic() >= end:
                    await self._time_out()
                    return False
                pause = await self._say()
                await observer.wait(min(pause, end - self._clock.monotonic()))

    def _cards(self) -> tuple[Card, ...]:
        return self._handle.timeline.cards

    def _missing(self) -> list[Card]:
        return [card for card in self._cards() if card.required and card.status is not CardStatus.RUNNING]

    async def _confirmed(self, observer: Observer, watched: Sequence[Card]) -> bool:
        """Whether one fresh look at all that can turn finds it ready. Ready one after the other is not enough."""
        watching = {card.index for card in watched}
        turning = [card.index for card in self._cards() if card.index in watching and _may_turn(card)]
        seen = await observer.look(turning)
        self._take(seen)
        self._stage(self._overtaken(seen).items())
        observer.doubt([card.index for card in self._missing() if card.index in seen])
        return not self._missing() and all(index in seen for index in turning)

    def _take(self, seen: Mapping[int, Sighting]) -> None:
        """Judge what was seen."""
        cards = {card.index: card for card in self._cards() if card.index in seen and not _ended(card)}
        self._stage((index, self._judging.judge(card, seen[index])) for index, card in cards.items())

    def _overtaken(self, seen: Mapping[int, Sighting]) -> dict[int, Readiness]:
        """The objects that others of our runs have applied since: what is ready there is not what this run applied."""
        verdicts: dict[int, Readiness] = {}
        for index, sighting in seen.items():
            found = stamp_of(sighting.body) if isinstance(sighting, Sight) else None
            if self._stamp is not None and found is not None and found != self._stamp:
                message = f"another deployment ({found.task_id}) has applied it while this one waited for it"
                if found.task_id == self._stamp.task_id:
                    message = "a newer run of this deployment has applied it"
                hint = "see the other deployment; deploy again if this state is the one that is wanted"
                verdicts[index] = Readiness(CardStatus.FAILED, FailureReason.OVERTAKEN, message, hint)
        return verdicts

    def _stage(self, verdicts: Iterable[tuple[int, Readiness]]) -> None:
        """Stage what is new, for the next record."""
        cards = {card.index: card for card in self._cards()}
        changed = {index: new for index, verdict in verdicts if (new := _worded(cards[index], verdict)) != cards[index]}
        if changed:
            self._urgent |= any(cards[index].status is not new.status for index, new in changed.items())
            self._unsaid |= changed
            self._handle.stage(*changed.values())

    async def _say(self) -> float:
        """Record what is due. Returns the seconds until the next look, if nothing happens."""
        due = self._told_at + (_URGENT_SECONDS if self._urgent else _WORDS_SECONDS)
        if self._unsaid and self._clock.monotonic() >= due:
            await self._tell()
        pause = min(_BEAT_SECONDS, self._judging.due() + _A_MOMENT)
        return min(pause, max(due - self._clock.monotonic(), 0.0)) if self._unsaid else pause

    async def _tell(self) -> None:
        changed, self._unsaid = self._unsaid.values(), dict[int, Card]()
        self._told_at, self._urgent = self._clock.monotonic(), False
        required = [card for card in self._cards() if card.required]
        said = f"{len(required) - len(self._missing())} of {len(required)} required resources are ready"
        fresh = [str(card.ref) for card in changed if card.status is CardStatus.RUNNING]
        if fresh:
            said += f"; ready now: {_named(fresh)}"
        troubled = [f"{card.ref} ({card.reason})" for card in changed if card.status in _TROUBLED]
        if troubled:
            said += f"; in trouble: {_named(troubled)}"
        await self._handle.emit(said, phase=TaskPhase.VERIFY)

    async def _failed(self) -> bool:
        broken = [card for card in self._missing() if card.status is CardStatus.FAILED]
        if not broken:
            return False
        first = broken[0]
        more = f"; and {len(broken) - 1} more" if len(broken) > 1 else ""
        overtaken = first.reason == FailureReason.OVERTAKEN
        reason = FailureReason.OVERTAKEN if overtaken else FailureReason.RESOURCE_FAILED
        message = f"{first.ref} {'was overtaken' if overtaken else 'failed'}: {first.message}{more}"
        await self._handle.fail(reason, TaskPhase.VERIFY, message, first.hint)
        return True

    async def _time_out(self) -> None:
        since = self._judging.lost_since
        if since is None:
            late = _named([f"{card.ref} ({card.message})" for card in self._missing()])
            message = f"not ready within {self._seconds:g} s: {late}"
        else:
            late = _named([str(card.ref) for card in self._missing()])
            message = (
                f"the cluster was not reachable from {since:%H:%M:%S} UTC on, so it is not known whether these were "
                f"ready within {self._seconds:g} s: {late}"
            )
        hint = "what was applied stays in the cluster and may still become ready"
        await self._handle.fail(FailureReason.READINESS_TIMEOUT, TaskPhase.VERIFY, message, hint)


def _may_turn(card: Card) -> bool:
    """Whether a ready object can cease to be ready and count."""
    return card.required and not _ended(card)


def _ended(card: Card) -> bool:
    """What has completed stays so, and may even be removed."""
    return card.status is CardStatus.RUNNING and card.reason == _ENDED


def _worded(card: Card, verdict: Readiness) -> Card:
    words = {"status": verdict.status, "reason": verdict.reason, "message": verdict.message, "hint": verdict.hint}
    return card.model_copy(update=words)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
