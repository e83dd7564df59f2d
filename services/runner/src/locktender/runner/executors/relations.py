"""What else is looked at for one object: its pods, warnings about it, its endpoints, and storage classes."""

import asyncio
from collections.abc import Callable, Mapping

from locktender.contracts.deployments.observed import Observed, Related
from locktender.contracts.deployments.readiness import Reads, pod_selector, reads
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.errors import KubeError, KubeUnavailable, Outage
from locktender.integrations.kube.informing.hub import Subscriber
from locktender.integrations.kube.informing.interest import About, Interest, Selected, name_of
from locktender.integrations.kube.informing.view import Lost, Sure, View
from locktender.integrations.kube.json_value import JsonObject, as_text
from locktender.integrations.kube.reader import KubeReader

_KINDS = {
    Reads.PODS: ("v1", "Pod"),
    Reads.EVENTS: ("v1", "Event"),
    Reads.ENDPOINT_SLICES: ("discovery.k8s.io/v1", "EndpointSlice"),
}
_CLASSES = ("storage.k8s.io/v1", "StorageClass")
_CLASSES_SECONDS = 30.0
_ANSWER_SECONDS = 5.0
_MOST_EVENTS = 200
_MOMENTS = ("lastTimestamp", "eventTime", "firstTimestamp")


class Relations:
    """The views that belong to one object. They open with the first look at it, and close with the subscriber."""

    def __init__(
        self,
        ref: ObjectRef,
        reader: KubeReader,
        subscriber: Subscriber,
        classes: "StorageClasses",
        on_change: Callable[[], None],
    ) -> None:
        self._ref = ref
        self._reader = reader
        self._subscriber = subscriber
        self._classes = classes
        self._on_change = on_change
        self._views: dict[Reads, View | None] = {}
        self._claims = False
        self.unanswered: KubeUnavailable | None = None
        """Why the cluster could not be asked how it serves what belongs to the object; follow again later."""

    async def follow(self, body: JsonObject) -> None:
        """Look at what belongs to the object, from its first sight on. Again is free."""
        self.unanswered = None
        wanted, ref = reads(body), self._ref
        selector = pod_selector(body)
        if selector is not None and Reads.PODS not in self._views:
            await self._open(Reads.PODS, Selected(selector))
        if Reads.EVENTS in wanted - self._views.keys():
            await self._open(Reads.EVENTS, About(ref.kind, ref.name))
        if Reads.ENDPOINT_SLICES in wanted - self._views.keys():
            await self._open(Reads.ENDPOINT_SLICES, Selected(f"kubernetes.io/service-name={ref.name}"))
        if Reads.STORAGE_CLASSES in wanted:
            self._claims = True
            await self._classes.refresh()

    @property
    def loading(self) -> bool:
        """Whether something is not known yet that would have a say in the verdict."""
        return any(view is not None and view.standing is Sure.LOADING for view in self._views.values())

    @property
    def lost(self) -> KubeError | None:
        """Why what belongs to it cannot be seen while the cluster does not answer."""
        if self.unanswered is not None:
            return self.unanswered
        pods = self._views.get(Reads.PODS)
        return pods.standing.error if pods is not None and isinstance(pods.standing, Lost) else None

    def related(self) -> Related:
        """All that is known. What the account may not see is missing."""
        slices = self._views.get(Reads.ENDPOINT_SLICES)
        return Related(
            pods=self._shown(Reads.PODS),
            events=sorted(self._shown(Reads.EVENTS), key=_moment)[-_MOST_EVENTS:],
            storage_classes=self._classes.known if self._claims else None,
            endpoint_slices=self._shown(Reads.ENDPOINT_SLICES) if slices and slices.standing is Sure.KNOWN else None,
        )

    def _shown(self, what: Reads) -> list[JsonObject]:
        view = self._views.get(what)
        return list(view.objects.values()) if view is not None else []

    async def _open(self, what: Reads, interest: Interest) -> None:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                resource = await self._reader.resource_for(*_KINDS[what])
        except TimeoutError:
            self.unanswered = KubeUnavailable("the cluster did not answer in time", Outage.TIMEOUT)
            return
        except KubeUnavailable as error:
            self.unanswered = error
            return
        except KubeError:
            # Without it verdicts say less, and are as right.
            self._views[what] = None
            return
        namespace = self._reader.namespace_of(resource, self._ref.namespace)
        self._views[what] = self._subscriber.look(resource, namespace, interest, self._on_change)


class StorageClasses:
    """The storage classes of a cluster, read again now and then, and only while a claim waits."""

    def __init__(self, reader: KubeReader, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._read_at: float | None = None
        self.known: Mapping[str, Observed] | None = None

    async def refresh(self) -> None:
        """Read them unless that was done a moment ago. What cannot be read stays unknown."""
        now = self._clock.monotonic()
        if self._read_at is not None and now - self._read_at < _CLASSES_SECONDS:
            return
        self._read_at = now
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                listing = await self._reader.list(await self._reader.resource_for(*_CLASSES))
        except (TimeoutError, KubeError):
            return
        self.known = {name_of(item): item for item in listing.items}


def _moment(event: JsonObject) -> str:
    return next((moment for field in _MOMENTS if (moment := as_text(event.get(field)))), "")
