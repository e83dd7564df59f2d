"""Looking at applied objects: as few requests as the account's rights allow, and a verdict for each object."""

import re
from collections.abc import Iterator, Sequence

from locktender.contracts.deployments.cards import CardStatus, Readiness
from locktender.contracts.deployments.models import Card, ObjectRef
from locktender.contracts.deployments.observed import labels
from locktender.contracts.deployments.readiness import assess, pod_selector, watches_pods
from locktender.integrations.kube.client import KubeClient, Listing
from locktender.integrations.kube.errors import KubeDenied, KubeError
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text

Sighting = Readiness | KubeError | None
"""The verdict on an object; why it could not be seen; or None when it is not there."""

_AT_MOST = 2_000
_EQUALITIES = re.compile(r"[^,=!() ]+=[^,=!() ]+(?:,[^,=!() ]+=[^,=!() ]+)*")


class Observer:
    """Reads objects of one cluster. Remembers which lists the account may not read, and asks one by one instead."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._unlistable: set[tuple[str, str, str | None]] = set()

    async def look(self, cards: Sequence[Card]) -> dict[int, Sighting]:
        """What is seen of each card's object, by the card's index. Raises nothing that a cluster may say."""
        seen: dict[int, Sighting] = {}
        pods = _Pods(self._client, self._unlistable)
        for group in _groups(cards):
            for card, found in zip(group, await self._read(group), strict=True):
                seen[card.index] = await self._verdict(found, pods) if isinstance(found, dict) else found
        return seen

    async def _read(self, group: Sequence[Card]) -> list[JsonObject | KubeError | None]:
        listed = await self._listed(group) if len(group) > 1 else {}
        return [listed.get(card.ref.name) or await self._get(card.ref) for card in group]

    async def _listed(self, group: Sequence[Card]) -> dict[str, JsonObject]:
        """The objects of a group that one list shows. What it lacks is asked for by name."""
        ref = group[0].ref
        key = (ref.api_version, ref.kind, ref.namespace)
        if key in self._unlistable:
            return {}
        try:
            resource = await self._client.resource_for(ref.api_version, ref.kind)
            listing = await self._client.list(resource, ref.namespace, at_most=_AT_MOST)
        except KubeDenied:
            self._unlistable.add(key)
            return {}
        except KubeError:
            return {}
        if not listing.complete:
            self._unlistable.add(key)
        return {as_text(as_object(item.get("metadata")).get("name")): item for item in listing.items}

    async def _get(self, ref: ObjectRef) -> JsonObject | KubeError | None:
        try:
            return await self._client.get(ref)
        except KubeError as error:
            return error

    async def _verdict(self, found: JsonObject, pods: "_Pods") -> Readiness:
        verdict = assess(found)
        if verdict.status is CardStatus.RUNNING or not watches_pods(as_text(found.get("kind"))):
            return verdict
        return assess(found, await pods.of(found))


class _Pods:
    """The pods of one look: one list a namespace, as long as that is small and selectors are simple."""

    def __init__(self, client: KubeClient, unlistable: set[tuple[str, str, str | None]]) -> None:
        self._client = client
        self._unlistable = unlistable
        self._listings: dict[str | None, Listing | None] = {}

    async def of(self, workload: JsonObject) -> list[JsonObject]:
        """The pods that a workload selects; none when they cannot be read."""
        selector = pod_selector(workload)
        if selector is None:
            return []
        namespace = as_text(as_object(workload.get("metadata")).get("namespace")) or None
        if namespace not in self._listings:
            self._listings[namespace] = await self._list(namespace, None)
        everything = self._listings[namespace]
        if everything is None:
            return []
        if everything.complete and _EQUALITIES.fullmatch(selector):
            wanted = dict(term.split("=", 1) for term in selector.split(","))
            return [pod for pod in everything.items if wanted.items() <= dict(labels(pod)).items()]
        selected = await self._list(namespace, selector)
        return [] if selected is None else selected.items

    async def _list(self, namespace: str | None, selector: str | None) -> Listing | None:
        key = ("v1", "Pod", namespace)
        if key in self._unlistable:
            return None
        try:
            resource = await self._client.resource_for("v1", "Pod")
            return await self._client.list(resource, namespace, label_selector=selector, at_most=_AT_MOST)
        except KubeDenied:
            self._unlistable.add(key)
        except KubeError:
            pass
        return None


def _groups(cards: Sequence[Card]) -> Iterator[list[Card]]:
    """Cards by kind and namespace."""
    groups: dict[tuple[str, str, str | None], list[Card]] = {}
    for card in cards:
        groups.setdefault((card.ref.api_version, card.ref.kind, card.ref.namespace), []).append(card)
    yield from groups.values()
