"""From what was seen of an object to a verdict, also where nothing could be seen."""

from collections.abc import Iterator
from datetime import datetime
from typing import assert_never

from locktender.contracts.deployments.cards import CardStatus, Readiness
from locktender.contracts.deployments.models import Card
from locktender.contracts.deployments.patience import Patience
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.errors import KubeDenied, KubeError, KubeUnauthorized, KubeUnavailable
from locktender.runner.executors.observe import Sight, Sighting
from locktender.runner.executors.vigil import Vigil

_REFUSALS = 3
"""Looks in a row at one object that the cluster refuses before the run gives up."""


class Judging:
    """Verdicts on the objects of one run."""

    def __init__(self, clock: Clock, patience: Patience) -> None:
        self._clock = clock
        self._vigil = Vigil(clock, patience)
        self._refusals: dict[int, int] = {}
        self.lost_since: datetime | None = None
        """Since when the cluster does not answer; None while it does."""

    def judge(self, card: Card, sighting: Sighting) -> Readiness:
        """The verdict on one object.

        Raises:
            KubeUnauthorized, KubeDenied: the account may not look at it, again and again.
        """
        match sighting:
            case Sight(body, related):
                self._answered(card.index)
                return self._vigil.judge(card.index, body, related)
            case KubeUnavailable():
                self._vigil.forget(card.index)
                return self._lost(sighting)
            case KubeError():
                self._vigil.forget(card.index)
                self._count(card, sighting)
                return Readiness(CardStatus.UNKNOWN, "not-observed", str(sighting))
            case None:
                self._answered(card.index)
                self._vigil.forget(card.index)
                gone = "it is no longer in the cluster"
                return Readiness(CardStatus.UNKNOWN, "gone", gone, "deploy again to create it anew")
            case _:
                assert_never(sighting)

    def passing(self) -> Iterator[tuple[int, Readiness]]:
        """The verdicts that time may have changed."""
        return self._vigil.passing()

    def due(self) -> float:
        """Seconds until the first moment at which that may be so; infinite when there is none."""
        return self._vigil.due()

    def _answered(self, index: int) -> None:
        self.lost_since = None
        self._refusals.pop(index, None)

    def _lost(self, error: KubeUnavailable) -> Readiness:
        if self.lost_since is None:
            self.lost_since = self._clock.now()
        message = f"the cluster does not answer since {self.lost_since:%H:%M:%S} UTC: {error}"
        hint = "nothing is known until it answers again; the run waits for that until its deadline"
        return Readiness(CardStatus.UNKNOWN, "cluster-lost", message, hint)

    def _count(self, card: Card, error: KubeError) -> None:
        if not isinstance(error, KubeUnauthorized | KubeDenied) or not (
            card.required or isinstance(error, KubeUnauthorized)
        ):
            return
        self._refusals[card.index] = self._refusals.get(card.index, 0) + 1
        if self._refusals[card.index] >= _REFUSALS:
            raise error
