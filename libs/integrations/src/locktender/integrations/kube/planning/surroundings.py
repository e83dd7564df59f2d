"""What the verdict on a document depends on besides its object: kinds, namespaces, autoscalers. Asked for once."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from locktender.contracts.deployments.ordering import Phase, phase_of
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.desired import Autoscalers
from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text
from locktender.integrations.kube.planning.asking import Asking, Item, about_one
from locktender.integrations.kube.resource import Resource

_AUTOSCALING = ("autoscaling/v2", "HorizontalPodAutoscaler")
_NEVER_SCALED = frozenset({"Job", "CronJob", "DaemonSet", "Pod"})
_ANY_NAMESPACED = Resource("v1", "Pod", "pods", namespaced=True)


class Place(Enum):
    """What is known of a namespace."""

    THERE = auto()
    MISSING = auto()
    TERMINATING = auto()
    UNKNOWN = auto()
    """The account may not look at it, or the cluster could not tell."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was found out before the first dry run.

    Attributes:
        kinds: how the cluster serves each kind of the source, or why that is not known.
        defined: groups and kinds of which the source itself brings the definition.
        places: the namespaces that documents go to.
        brought: the namespaces that the source itself creates.
    """

    kinds: Mapping[tuple[str, str], Resource | KubeError]
    defined: frozenset[tuple[str, str]]
    places: Mapping[str, Place]
    brought: frozenset[str]
    autoscalers: Autoscalers

    def defines(self, ref: ObjectRef) -> bool:
        """Whether the source brings the definition of the kind of `ref`."""
        return (ref.api_version.rpartition("/")[0], ref.kind) in self.defined

    def place(self, namespace: str | None) -> Place:
        """What is known of a namespace. Kinds without one are always in place."""
        return Place.THERE if namespace is None else self.places.get(namespace, Place.UNKNOWN)


async def surroundings(
    client: KubeClient, items: Sequence[Item], namespace: str | None, asking: Asking
) -> Surroundings:
    """Look at everything that several documents share. Raises what `asking` raises."""
    kinds: dict[tuple[str, str], Resource | KubeError] = {}

    async def learn(kind: tuple[str, str]) -> None:
        try:
            kinds[kind] = await asking.ask(lambda: client.resource_for(*kind))
        except KubeError as error:
            kinds[kind] = about_one(error)

    await asking.each(dict.fromkeys((item.ref.api_version, item.ref.kind) for item in items), learn)
    used, scaled = set[str](), set[str]()
    for item in items:
        resource = kinds[item.ref.api_version, item.ref.kind]
        if isinstance(resource, KubeError):
            continue
        place = client.namespace_of(resource, item.ref.namespace or namespace)
        if place is not None:
            used.add(place)
            if item.ref.kind not in _NEVER_SCALED and "spec" in item.body:
                scaled.add(place)
    places: dict[str, Place] = {}
    listed: list[JsonObject] = []
    await asking.each(sorted(used), _looking(client, asking, places))
    there = sorted(name for name in scaled if places[name] is not Place.MISSING)
    await asking.each(there, _listing(client, asking, listed))
    default = client.namespace_of(_ANY_NAMESPACED, namespace) or "default"
    bodies = [item.body for item in items]
    return Surroundings(
        kinds=kinds,
        defined=frozenset(_defined(items)),
        places=places,
        brought=frozenset(item.ref.name for item in items if _is_namespace(item)),
        autoscalers=Autoscalers.among(listed, default).joined(Autoscalers.among(bodies, default)),
    )


def _looking(client: KubeClient, asking: Asking, places: dict[str, Place]) -> Callable[[str], Awaitable[None]]:
    async def look(name: str) -> None:
        ref = ObjectRef(api_version="v1", kind="Namespace", name=name)
        try:
            found = await asking.ask(lambda: client.get(ref))
        except KubeError as error:
            about_one(error)
            places[name] = Place.UNKNOWN
            return
        if found is None:
            places[name] = Place.MISSING
        else:
            going = as_object(found.get("status")).get("phase") == "Terminating"
            places[name] = Place.TERMINATING if going else Place.THERE

    return look


def _listing(client: KubeClient, asking: Asking, listed: list[JsonObject]) -> Callable[[str], Awaitable[None]]:
    async def collect(name: str) -> None:
        try:
            resource = await asking.ask(lambda: client.resource_for(*_AUTOSCALING))
            found = await asking.ask(lambda: client.list(resource, name))
        except KubeError as error:
            # Nothing is known then; what others own shows as a conflict.
            about_one(error)
            return
        listed.extend(found.items)

    return collect


def _is_namespace(item: Item) -> bool:
    return item.ref.api_version == "v1" and item.ref.kind == "Namespace"


def _defined(items: Iterable[Item]) -> Iterable[tuple[str, str]]:
    for item in items:
        if phase_of(item.ref.api_version, item.ref.kind) is Phase.DEFINITIONS:
            spec = as_object(item.body.get("spec"))
            yield as_text(spec.get("group")), as_text(as_object(spec.get("names")).get("kind"))
