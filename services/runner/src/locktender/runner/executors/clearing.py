"""Removing what a run has made, after applying failed half-way. The only place that deletes without being asked to."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from locktender.contracts.deployments.models import ApplyState
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.faults import FaultPoints
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeConflict, KubeError, KubeUnavailable
from locktender.integrations.kube.json_value import JsonObject, as_object, as_text
from locktender.integrations.kube.stamps import stamp_of
from locktender.integrations.templates.labels import INSTANCE
from locktender.runner.executors.apply import ANSWER_PATIENCE, card_of
from locktender.runner.executors.documents import Document
from locktender.runner.executors.leftovers import CLAIM, Place, claims_of, is_kept, places
from locktender.runner.executors.removals import Removals
from locktender.runner.executors.run import RunHandle
from locktender.runner.executors.settle import Answer, settling
from locktender.runner.executors.terms import Terms
from locktender.runtime.abort import AbortReason

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0
_ROUNDS = 1_000


class Clearing:
    """Removes the objects of a fresh instance.

    Guaranteed: an object is deleted only if it bears the label of the instance and the stamp of this run, and the
    cluster said that this run created it; or if it is a volume claim of a StatefulSet of which all that is true, and
    was not there before. Exactly the version that was looked at is deleted, right after a checkpoint of the run.
    Namespaces, definitions and volumes are never deleted. What the record says of an object at any moment is true of it
    then: removed, still there, or not known.

    `claims_before` are uids of the claims that were there before; None: not known, so that none is removed. It takes
    `seconds` at most.
    """

    def __init__(
        self,
        client: KubeClient,
        handle: RunHandle,
        terms: Terms,
        *,
        instance: str,
        claims_before: frozenset[str] | None,
        clock: Clock,
        faults: FaultPoints,
        seconds: float,
    ) -> None:
        self._client = client
        self._handle = handle
        self._terms = terms
        self._instance = instance
        self._claims_before = claims_before
        self._clock = clock
        self._faults = faults
        self._seconds = seconds
        self._claims: frozenset[str] = frozenset()
        self._removals = Removals({}, ())

    async def run(self, documents: Sequence[Document], made: Mapping[int, str]) -> None:
        """Remove what was made of `documents`, and tell what was and what was not. `made`: see `Aftercare`.

        Raises:
            Aborted, Superseded: the run may not go on; nothing further is deleted.
        """
        of = {document.index: document for document in documents}
        cards = {uid: card_of(self._handle, index) for index, uid in made.items() if not is_kept(of[index])}
        kept = [str(card_of(self._handle, index).ref) for index in made if is_kept(of[index])]
        # Whether this run created what was never answered cannot be told, so it is not deleted.
        unknown = {
            card.index: str(card.ref) for card in self._handle.timeline.cards if card.apply is ApplyState.APPLYING
        }
        kept += [ref for index, ref in unknown.items() if index not in made]
        claims = [name for card in cards.values() for name in claims_of(of[card.index], card.ref.namespace)]
        if claims and self._claims_before is None:
            kept += [f"PersistentVolumeClaim {name}-*" for name in claims]
            claims = []
        self._claims, self._removals = frozenset(claims), Removals(cards, kept)
        self._handle.stage(*self._removals.beginning())
        try:
            await self._handle.clean_up(f"applying failed; what this run has made of {self._instance} is removed again")
            self._handle.checkpoint()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await self._until_gone(list(places((card.ref for card in cards.values()), claims)))
        finally:
            self._handle.stage(*self._removals.ending())
        await self._handle.emit(self._removals.told())

    async def _until_gone(self, where: list[Place]) -> None:
        pause = _FIRST_PAUSE
        for _ in range(_ROUNDS):
            unfinished = {place for place in where if await self._round(place)}
            if not unfinished:
                return
            # Claims may still come for as long as what asks for them is there.
            where = [place for place in where if place in unfinished or place.is_of(*CLAIM)]
            await self._clock.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    async def _round(self, place: Place) -> bool:
        """One look at the objects of one kind, and the deletions that are due. Whether another look is needed."""
        removals = self._removals
        expected = [uid for uid, ref in [*removals.made(), *removals.claims()] if place.has(ref)]
        try:
            there = await place.listed(self._client, f"{INSTANCE}={self._instance}")
        except KubeUnavailable:
            return True
        except KubeError as error:
            for uid in expected:
                removals.give_up(uid, str(error))
            return False
        for uid in expected:
            if uid not in there and (card := removals.absent(uid)) is not None:
                self._handle.stage(card)
        ours = [uid for uid, item in there.items() if self._is_ours(uid, item, place)]
        for uid in ours:
            await self._delete(uid, there[uid], place)
        return any(removals.is_due(uid) for uid in ours)

    def _is_ours(self, uid: str, item: JsonObject, place: Place) -> bool:
        if uid in self._removals:
            return stamp_of(item) == self._terms.stamp
        if not place.is_of(*CLAIM) or self._claims_before is None or uid in self._claims_before:
            return False
        name = as_text(as_object(item.get("metadata")).get("name"))
        stem, _, number = name.rpartition("-")
        if not number.isdigit() or f"{place.namespace}/{stem}" not in self._claims:
            return False
        self._removals.claim(uid, place.ref(name))
        return True

    async def _delete(self, uid: str, item: JsonObject, place: Place) -> None:
        metadata, removals = as_object(item.get("metadata")), self._removals
        if metadata.get("deletionTimestamp") or not removals.is_due(uid):
            return
        await self._faults.reach("runner.during-cleanup")
        self._handle.checkpoint()
        removals.ask(uid)
        request = self._client.delete(
            place.ref(as_text(metadata.get("name"))),
            uid=uid,
            resource_version=as_text(metadata.get("resourceVersion")),
            propagation="Background",
            seconds=self._terms.bounds.fenced_write,
        )
        try:
            await settling(request, patience=self._patience, late=partial(self._late, uid))
            removals.accept(uid)
        except KubeConflict:
            # It has moved on, so nothing happened; the next look decides.
            removals.refuse(uid)
        except KubeUnavailable:
            # Perhaps it happened; the next look tells.
            return
        except KubeError as error:
            removals.give_up(uid, str(error))

    def _late(self, uid: str, answer: Answer[bool]) -> None:
        with suppress(KubeError):
            answer.get()
            self._removals.accept(uid)

    def _patience(self) -> float:
        return 0.0 if self._handle.signal.reason is AbortReason.SUPERSEDED else ANSWER_PATIENCE
