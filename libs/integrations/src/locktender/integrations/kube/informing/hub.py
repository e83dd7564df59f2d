"""All observation of a process: one informer for each kind and namespace that is looked at with the same rights."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.informing.informer import Informer
from locktender.integrations.kube.informing.interest import Interest
from locktender.integrations.kube.informing.pace import USUAL, InformerPace
from locktender.integrations.kube.informing.slots import Slots
from locktender.integrations.kube.informing.view import View
from locktender.integrations.kube.reader import KubeReader
from locktender.integrations.kube.resource import Resource

_log = logging.getLogger(__name__)


class _Link:
    """What is shared by those with the same rights to the same cluster."""

    def __init__(self, access: ClusterAccess, pace: InformerPace) -> None:
        self.access = access
        self.reader = KubeReader(access, connect_seconds=pace.connect, read_seconds=pace.read)
        self.subscribers = 0
        self.sweeping: asyncio.Task[None] | None = None
        self.informers: dict[tuple[Resource, str | None], tuple[Informer, asyncio.Task[None]]] = {}

    async def end(self, *, idle_only: bool) -> None:
        """End informers: all, or those that nobody looks at. With nobody left at all, close the connections."""
        ending: list[asyncio.Task[None]] = []
        for key, (informer, task) in tuple(self.informers.items()):
            if not idle_only or not any(informer.cache.views):
                del self.informers[key]
                task.cancel()
                ending.append(task)
        if ending:
            await asyncio.wait(ending)


class Subscriber:
    """One who looks at a cluster, with rights of its own. It ends with the block that it was made for."""

    def __init__(self, hub: "InformerHub", link: _Link) -> None:
        self._hub = hub
        self._link = link
        self._views: set[View] = set()

    def look(
        self, resource: Resource, namespace: str | None, interest: Interest, on_change: Callable[[], None]
    ) -> View:
        """A view that is filled from now on. Without a namespace, for kinds that have none."""
        informer = self._hub.informer(self._link, resource, namespace)

        def leave(view: View) -> None:
            informer.cache.leave(view)
            self._views.discard(view)
            self._hub.sweep(self._link)

        view = View(interest, on_change, leave)
        self._views.add(view)
        informer.join(view)
        return view

    def close(self) -> None:
        """Close every view."""
        for view in tuple(self._views):
            view.close()


class InformerHub:
    """See the module. Make it with `informer_hub`.

    Two subscribers share what they look at exactly if server, trust and credentials are all equal: nobody sees
    anything through another's rights. Credentials stay for as long as somebody uses them, and `pace.linger` longer.
    """

    def __init__(self, group: asyncio.TaskGroup, *, clock: Clock, pace: InformerPace) -> None:
        self._group = group
        self._clock = clock
        self._pace = pace
        self._slots = Slots(pace.watches)
        self._links: dict[ClusterAccess, _Link] = {}

    @contextmanager
    def subscribed(self, access: ClusterAccess) -> Generator[Subscriber]:
        """Look at a cluster for as long as the block lasts.

        Raises:
            KubeUnavailable: the certificates cannot be used.
        """
        key = replace(access, namespace=None)
        link = self._links.get(key)
        if link is None:
            link = self._links[key] = _Link(key, self._pace)
        link.subscribers += 1
        subscriber = Subscriber(self, link)
        try:
            yield subscriber
        finally:
            link.subscribers -= 1
            subscriber.close()
            self.sweep(link)

    def informer(self, link: _Link, resource: Resource, namespace: str | None) -> Informer:
        """The informer of a kind; a new one where there is none, or where the last was refused."""
        known = link.informers.get((resource, namespace))
        if known is not None and not known[0].refused:
            return known[0]
        informer = Informer(link.reader, resource, namespace, clock=self._clock, pace=self._pace, slots=self._slots)
        link.informers[resource, namespace] = informer, self._group.create_task(_guarded(informer))
        return informer

    def sweep(self, link: _Link) -> None:
        """End what nobody looks at any more, after a while."""
        if link.sweeping is None and link.access in self._links:
            link.sweeping = self._group.create_task(self._sweep(link))

    def status(self) -> dict[str, int]:
        """How much is observed now: accounts whose credentials are held, kinds in namespaces, watches, objects."""
        informers = [informer for link in self._links.values() for informer, _ in link.informers.values()]
        return {
            "accounts": len(self._links),
            "informers": len(informers),
            "watches": self._slots.used,
            "objects": sum(len(informer.cache) for informer in informers),
        }

    async def stop(self) -> None:
        """End everything at once."""
        links, self._links = self._links, {}
        for link in links.values():
            if link.sweeping is not None:
                link.sweeping.cancel()
            await link.end(idle_only=False)
            await link.reader.aclose()

    async def _sweep(self, link: _Link) -> None:
        await self._clock.sleep(self._pace.linger)
        link.sweeping = None
        idle = not link.subscribers
        if idle:
            del self._links[link.access]
        await link.end(idle_only=not idle)
        if idle:
            await link.reader.aclose()


@asynccontextmanager
async def informer_hub(*, clock: Clock, pace: InformerPace = USUAL) -> AsyncGenerator[InformerHub]:
    """A hub for as long as the block lasts. Leave every subscription first."""
    failure: Exception | None = None
    async with asyncio.TaskGroup() as group:
        hub = InformerHub(group, clock=clock, pace=pace)
        try:
            yield hub
        except Exception as error:  # noqa: BLE001 - raised again below, outside of the group, as what it is
            failure = error
        finally:
            await hub.stop()
    if failure is not None:
        raise failure


async def _guarded(informer: Informer) -> None:
    """A mistake in one informer ends that one alone, and those who look are told."""
    try:
        await informer.run()
    except Exception:  # noqa: BLE001 - see above
        _log.exception("observing a kind failed unexpectedly")
        informer.refuse(KubeError("observation failed unexpectedly; the operator's log has the details"))
