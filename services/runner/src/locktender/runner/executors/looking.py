"""Reading applied objects one look at a time: for who may not list, and for verdicts that need a fresh look."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress

from locktender.contracts.deployments.models import Card
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.errors import KubeDenied, KubeError, KubeUnavailable, Outage
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text
from locktender.integrations.kube.reader import KubeReader

Found = JsonObject | KubeError | None
"""An object; why it could not be read; or None when it is not there."""

_AT_MOST = 2_000
_LOOK_SECONDS = 15.0
"""What was not read by then counts as not answered."""


class Looker:
    """Asks a cluster as rarely as the account's rights allow: by lists, and object by object where it may not list."""

    def __init__(self, reader: KubeReader) -> None:
        self._reader = reader
        self._unlistable: set[tuple[str, str, str | None]] = set()

    async def look(self, cards: Sequence[Card]) -> dict[int, Found]:
        """The object of each card, by the card's index. Raises nothing that a cluster may say."""
        silent = KubeUnavailable("the cluster did not answer in time; check its address and network", Outage.TIMEOUT)
        seen = dict[int, Found]({card.index: silent for card in cards})
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                for group in _groups(cards):
                    listed = await self._listed(group) if len(group) > 1 else {}
                    for card in group:
                        seen[card.index] = listed.get(card.ref.name) or await self._get(card.ref)
        return seen

    async def _listed(self, group: Sequence[Card]) -> dict[str, JsonObject]:
        """The objects of a group that one list shows. What it lacks is asked for by name."""
        ref = group[0].ref
        key = (ref.api_version, ref.kind, ref.namespace)
        if key in self._unlistable:
            return {}
        wanted = {card.ref.name for card in group}
        try:
            resource = await self._reader.resource_for(ref.api_version, ref.kind)
            listing = await self._reader.list(
                resource,
                self._reader.namespace_of(resource, ref.namespace),
                at_most=_AT_MOST,
                pick=lambda item: item if _name(item) in wanted else None,
            )
        except KubeDenied:
            self._unlistable.add(key)
            return {}
        except KubeError:
            return {}
        return {_name(item): item for item in listing.items}

    async def _get(self, ref: ObjectRef) -> Found:
        try:
            return await self._reader.get(ref)
        except KubeError as error:
            return error


def _name(item: JsonObject) -> str:
    return as_text(as_object(item.get("metadata")).get("name"))


def _groups(cards: Sequence[Card]) -> Iterator[list[Card]]:
    """Cards by kind and namespace."""
    groups: dict[tuple[str, str, str | None], list[Card]] = {}
    for card in cards:
        groups.setdefault((card.ref.api_version, card.ref.kind, card.ref.namespace), []).append(card)
    yield from groups.values()
