"""How long trouble lasts, and how long nothing moves: what turns verdicts of a moment into verdicts that count."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from locktender.contracts.deployments.cards import CardStatus, Grace, Readiness
from locktender.contracts.deployments.observed import Observed, Related
from locktender.contracts.deployments.patience import Patience
from locktender.contracts.deployments.readiness import assess, progress_mark, settled
from locktender.contracts.kernel.clock import Clock


@dataclass(slots=True)
class _Watch:
    """What was last seen of one object, and since when it is so."""

    verdict: Readiness
    mark: Hashable
    still_since: float
    trouble: tuple[Grace, str | None] | None
    troubled_since: float


class Vigil:
    """Judges objects by what is seen of them and by how long it has been so. An object is called by its index."""

    def __init__(self, clock: Clock, patience: Patience) -> None:
        self._clock = clock
        self._patience = patience
        self._watches: dict[int, _Watch] = {}

    def judge(self, index: int, body: Observed, related: Related) -> Readiness:
        """The verdict on what is seen now."""
        now, before = self._clock.monotonic(), self._watches.get(index)
        verdict, mark = assess(body, related), progress_mark(body, related)
        trouble = verdict.trouble.key if verdict.trouble is not None else None
        still = before is not None and before.mark == mark
        lasts = before is not None and before.trouble == trouble
        watch = _Watch(
            verdict,
            mark,
            before.still_since if before is not None and still else now,
            trouble,
            before.troubled_since if before is not None and lasts else now,
        )
        self._watches[index] = watch
        return self._settled(watch)

    def forget(self, index: int) -> None:
        """It cannot be seen any more. Whatever lasted ends here, for nobody knows whether it went on."""
        self._watches.pop(index, None)

    def passing(self) -> Iterator[tuple[int, Readiness]]:
        """What the verdicts that time may change have become by now."""
        for index, watch in self._watches.items():
            if watch.verdict.status is not CardStatus.RUNNING or watch.verdict.doubt is not None:
                yield index, self._settled(watch)

    def due(self) -> float:
        """Seconds until the first moment at which time alone may change a verdict; infinite when there is none."""
        now = self._clock.monotonic()
        moments = [moment for watch in self._watches.values() for moment in self._moments(watch) if moment > now]
        return min(moments, default=math.inf) - now

    def _moments(self, watch: _Watch) -> Iterator[float]:
        verdict, patience = watch.verdict, self._patience
        if verdict.doubt is not None:
            yield watch.still_since + patience.before(verdict.doubt)
        if verdict.status is not CardStatus.RUNNING:
            yield watch.still_since + patience.progress
            if verdict.trouble is not None:
                yield watch.troubled_since + patience.of(verdict.trouble.grace)

    def _settled(self, watch: _Watch) -> Readiness:
        now = self._clock.monotonic()
        return settled(
            watch.verdict,
            troubled_for=now - watch.troubled_since,
            still_for=now - watch.still_since,
            patience=self._patience,
        )
