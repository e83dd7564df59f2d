"""Watching applied objects: what changed since the last look, by shared watches, or by looking where those fail."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from locktender.contracts.deployments.models import Card
from locktender.contracts.deployments.observed import Observed, Related
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.informing.hub import Subscriber
from locktender.integrations.kube.informing.interest import Named
from locktender.integrations.kube.informing.view import Lost, Refused, Sure, View
from locktender.integrations.kube.json_value import as_object, as_text
from locktender.integrations.kube.reader import KubeReader
from locktender.integrations.kube.secrets import is_secret
from locktender.runner.executors.looking import Found, Looker
from locktender.runner.executors.relations import Relations, StorageClasses
from locktender.runtime.race import first_of

SHORTEST, LONGEST = 0.25, 2.0
"""Seconds between two looks without a watch: short while things move, long while they do not."""
_GATHER_SECONDS = 0.05
"""Changes that come within so long of each other are looked at together."""


@dataclass(frozen=True, slots=True)
class Sight:
    """An object as it is in the cluster, and what bears on it."""

    body: Observed
    related: Related


Sighting = Sight | KubeError | None
"""What is seen of an object; why it cannot be seen; or None when it is not there."""


@dataclass(slots=True)
class _Watched:
    card: Card
    relations: Relations
    view: View | None = field(default=None)
    """None where the object has to be asked for."""


class Observer:
    """Looks at the objects of one run. Raises nothing that a cluster may say, except on `begin`."""

    def __init__(self, reader: KubeReader, subscriber: Subscriber, clock: Clock) -> None:
        self._reader = reader
        self._subscriber = subscriber
        self._clock = clock
        self._looker = Looker(reader)
        self._classes = StorageClasses(reader, clock)
        self._watched: dict[int, _Watched] = {}
        self._changed: set[int] = set()
        self._bell = asyncio.Event()
        self._pause = SHORTEST
        self._due = clock.monotonic()
        self._versions: dict[int, str] = {}
        self._again: set[int] = set()

    async def begin(self, cards: Sequence[Card]) -> None:
        """Look at the objects of these cards from now on."""
        for card in cards:
            told = partial(self._tell, card.index)
            watched = _Watched(card, Relations(card.ref, self._reader, self._subscriber, self._classes, told))
            self._watched[card.index] = watched
            # Nothing that holds values is kept where several runs see it.
            if is_secret({"apiVersion": card.ref.api_version, "kind": card.ref.kind}):
                continue
            try:
                resource = await self._reader.resource_for(card.ref.api_version, card.ref.kind)
            except KubeError:
                continue
            namespace = self._reader.namespace_of(resource, card.ref.namespace)
            watched.view = self._subscriber.look(resource, namespace, Named(card.ref.name), told)

    async def news(self) -> dict[int, Sighting]:
        """What is seen of each object that changed since the last call, or that had to be asked for."""
        self._bell.clear()
        changed, self._changed = self._changed | self._again, set()
        self._again = set()
        seen: dict[int, Sighting] = {}
        for index in sorted(changed):
            watched = self._watched[index]
            if watched.view is None:
                continue
            standing = watched.view.standing
            match standing:
                case Sure.LOADING:
                    pass
                case Lost(error=error):
                    seen[index] = error
                case Refused():
                    self._ask_for(watched)
                case Sure.KNOWN:
                    await self._add(seen, watched, watched.view.objects.get(watched.card.ref.name))
                case _:
                    assert_never(standing)
        if self._asked and self._clock.monotonic() >= self._due:
            seen |= await self._ask()
        return seen

    async def look(self, indices: Collection[int]) -> dict[int, Sighting]:
        """What a fresh look shows of each, whatever the watches say."""
        seen: dict[int, Sighting] = {}
        found = await self._looker.look([self._watched[index].card for index in indices])
        for index, each in found.items():
            await self._add(seen, self._watched[index], each)
        return seen

    def doubt(self, indices: Collection[int]) -> None:
        """Ask for these from now on: a fresh look has shown something else than the watch."""
        for index in indices:
            self._ask_for(self._watched[index])

    async def wait(self, seconds: float) -> None:
        """Return when there may be news, after `seconds` at the latest."""
        if self._again:
            seconds = min(seconds, LONGEST)
        if self._asked:
            seconds = min(seconds, self._due - self._clock.monotonic())
        if await first_of(self._clock.sleep(max(seconds, 0.0)), self._bell.wait()) == 1:
            await self._clock.sleep(_GATHER_SECONDS)

    def _tell(self, index: int) -> None:
        self._changed.add(index)
        self._bell.set()

    @property
    def _asked(self) -> list[Card]:
        return [watched.card for watched in self._watched.values() if watched.view is None]

    def _ask_for(self, watched: _Watched) -> None:
        if watched.view is not None:
            watched.view.close()
            watched.view = None
            self._due = self._clock.monotonic()

    async def _ask(self) -> dict[int, Sighting]:
        seen: dict[int, Sighting] = {}
        before, self._versions = self._versions, {}
        for index, found in (await self._looker.look(self._asked)).items():
            self._versions[index] = _version(found)
            await self._add(seen, self._watched[index], found)
        self._pause = SHORTEST if self._versions != before else min(self._pause * 1.5, LONGEST)
        self._due = self._clock.monotonic() + self._pause
        return seen

    async def _add(self, seen: dict[int, Sighting], watched: _Watched, found: Found) -> None:
        """Put what was found together with what bears on it; nothing while that is not known yet."""
        if not isinstance(found, dict):
            seen[watched.card.index] = found
            return
        relations = watched.relations
        await relations.follow(found)
        if relations.unanswered is not None:
            self._again.add(watched.card.index)
        if not relations.loading:
            seen[watched.card.index] = relations.lost or Sight(found, relations.related())


def _version(found: Found) -> str:
    return as_text(as_object(found.get("metadata")).get("resourceVersion")) if isinstance(found, dict) else ""
