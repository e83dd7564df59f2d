"""One kind in one namespace, observed: list, then watch, with full lists now and then that decide."""

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing

from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.errors import KubeDenied, KubeError, KubeUnavailable, Outage, WatchExpired
from locktender.integrations.kube.informing.cache import EVERYTHING, Cache, Load
from locktender.integrations.kube.informing.interest import Scope
from locktender.integrations.kube.informing.outcome import first_outcome
from locktender.integrations.kube.informing.pace import AGAIN, InformerPace
from locktender.integrations.kube.informing.slots import Slots
from locktender.integrations.kube.informing.view import Lost, Refused, View
from locktender.integrations.kube.reader import KubeReader, Listing
from locktender.integrations.kube.resource import Resource
from locktender.integrations.kube.watching import Change

_GATHER_SECONDS = 0.02
"""Those who come within so long of each other are served by one request."""
_FEW = 4
"""So many are served by requests of their own, more by a full list."""
_SETTLED_SECONDS = 10.0
"""A watch that lasted so long did its work; one that ends sooner is begun again with growing pauses."""
_GONE = {Outage.TIMEOUT, Outage.UNREACHABLE, Outage.TLS}
_DEAF = 2
"""Full lists in a row that bring what the watch did not tell, until it counts as deaf."""


class Informer:
    """Fills the views of its `cache` until it is cancelled, or the cluster refuses the list for good.

    Guaranteed: what a view shows follows the cluster after at most `pace.level` seconds plus the time of one list, as
    long as the cluster answers. While it does not, views stand as `Lost` and keep what they had.
    """

    def __init__(
        self,
        reader: KubeReader,
        resource: Resource,
        namespace: str | None,
        *,
        clock: Clock,
        pace: InformerPace,
        slots: Slots,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.cache = Cache()
        self.refused = False
        self._reader = reader
        self._resource = resource
        self._namespace = namespace
        self._clock = clock
        self._pace = pace
        self._slots = slots
        self._chance = chance
        self._joined = asyncio.Event()
        self._scope = EVERYTHING
        self._watchable = True
        self._misses = 0
        self._failures = 0

    def join(self, view: View) -> None:
        """Fill a view from now on."""
        self.cache.join(view)
        self._joined.set()

    async def run(self) -> None:
        """See the class. Raises nothing that a cluster may say."""
        failures = 0
        while not self.refused:
            began, wait = self._clock.monotonic(), 0.0
            try:
                await self._follow(await self._list())
            except WatchExpired:
                pass
            except KubeUnavailable as error:
                wait = error.retry_after or 0.0
            except KubeError as error:
                self.refuse(error)
                return
            failures = 0 if self._clock.monotonic() - began >= _SETTLED_SECONDS else failures + 1
            if failures > 1 or wait:
                await self._clock.sleep(max(AGAIN.delay(failures - 1, self._chance()), wait))

    def refuse(self, error: KubeError) -> None:
        """Tell everybody that nothing will come."""
        self.refused = True
        self.cache.stand(Refused(error))

    async def _list(self) -> str:
        """Read everything that somebody looks at. Returns the version to watch from."""
        await asyncio.sleep(_GATHER_SECONDS)
        self._joined.clear()
        self._scope = self.cache.scope
        with self.cache.loading() as load:
            return await self._level(load)

    async def _level(self, load: Load) -> str:
        listing = await self._ask(self._scope)
        news = self.cache.replace(load, listing.items, listing.resource_version)
        self._misses = self._misses + 1 if news else 0
        return listing.resource_version

    async def _follow(self, version: str) -> None:
        """Keep up with changes for as long as that works, and with full lists in between."""
        self._misses = 0
        with self._slots.slot(wanted=self._watchable) as free:
            if not free:
                await first_outcome(self._clock.sleep(self._pace.unwatched), self._joined.wait())
                return
            try:
                await first_outcome(self._watch(version), self._keep_level())
            except KubeDenied:
                # An account may list and not watch. Whether it may still list is found out next.
                self._watchable = False

    async def _watch(self, version: str) -> None:
        events = self._reader.watch(
            self._resource,
            self._namespace,
            resource_version=version,
            label_selector=self._scope.label_selector,
            field_selector=self._scope.field_selector,
            timeout_seconds=int(self._pace.watch * (1 - self._chance() / 5)),
            silence_seconds=self._pace.silence,
        )
        async with aclosing(events):
            async for event in events:
                match event.change:
                    case Change.ADDED | Change.MODIFIED:
                        self.cache.changed(event.body)
                    case Change.DELETED:
                        self.cache.deleted(event.body)
                    case Change.BOOKMARK:
                        pass

    async def _keep_level(self) -> None:
        """List again now and then, and for those who joined. Ends when the watch has to begin anew."""
        due = self._clock.monotonic() + self._pace.level
        while self._misses < _DEAF:
            left = max(due - self._clock.monotonic(), 0.0)
            joined = await first_outcome(self._clock.sleep(left), self._joined.wait()) == 1
            if joined:
                await asyncio.sleep(_GATHER_SECONDS)
                self._joined.clear()
                if self._scope not in {EVERYTHING, self.cache.scope}:
                    return
            with self.cache.loading() as load:
                scopes = {view.interest.scope for view in load.joining}
                if not joined or len(scopes) > _FEW:
                    await self._level(load)
                    due = self._clock.monotonic() + self._pace.level
                else:
                    found = [item for scope in scopes for item in (await self._ask(scope)).items]
                    self.cache.add(load, found)

    async def _ask(self, scope: Scope) -> Listing:
        try:
            async with asyncio.timeout(self._pace.answer):
                listing = await self._reader.list(
                    self._resource,
                    self._namespace,
                    label_selector=scope.label_selector,
                    field_selector=scope.field_selector,
                    at_most=self._pace.objects,
                    pick=self.cache.pick,
                )
        except TimeoutError:
            slow = KubeUnavailable("the cluster did not answer in time; check its address and network", Outage.TIMEOUT)
            self._unanswered(slow)
            raise slow from None
        except KubeUnavailable as error:
            self._unanswered(error)
            raise
        self._failures = 0
        if not listing.complete:
            raise KubeError(f"there are more than {self._pace.objects} {self._resource.plural} to look at")
        return listing

    def _unanswered(self, error: KubeUnavailable) -> None:
        """One busy or broken answer is no outage yet: the next list follows at once."""
        self._failures += 1
        if error.outage in _GONE or self._failures > 1:
            standings = [view.standing for view in self.cache.views]
            since = next((standing.since for standing in standings if isinstance(standing, Lost)), self._clock.now())
            self.cache.stand(Lost(since, error))
