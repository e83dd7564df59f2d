"""Applying documents group by group, each group recorded before any of it is sent."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import ApplyState, Card
from locktender.contracts.deployments.ordering import Phase
from locktender.contracts.deployments.plan import PlannedAction, PlannedDocument, WarningCode
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.kernel.faults import FaultPoints
from locktender.integrations.kube.client import ABSENT, Applied, Known, KubeClient
from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.live import Live
from locktender.runner.executors.definitions import Definitions, Unserved
from locktender.runner.executors.delivery import Delivered, Delivery
from locktender.runner.executors.documents import Document
from locktender.runner.executors.grouping import groups
from locktender.runner.executors.outcomes import delivered_card, failed_card
from locktender.runner.executors.run import RunHandle
from locktender.runner.executors.settle import Answer, settling
from locktender.runner.executors.terms import ApplyStopped, Terms
from locktender.runtime.abort import Aborted, AbortReason

ANSWER_PATIENCE = 3.0
"""Seconds for which an aborted run still waits for the answer to what it has sent."""

_LOOK_FIRST = {WarningCode.AUTOSCALED_REPLICAS, WarningCode.MIGRATED_OWNERSHIP}
_DONE = {ApplyState.APPLIED, ApplyState.UNCHANGED}
_NOTES = 5


class Applying:
    """The apply phase of one run.

    Guaranteed: a document is sent only under a lease that the database confirmed right before, by the write that
    announces its group; after an abort, and after the first document that does not get there, no further one is sent,
    and the ones of the group that were not sent are told as such; nothing is deleted but what the request says may be
    replaced.

    Attributes:
        made: uids of the objects that the cluster said were created by this run where there was none, by the index
            of their document. An object whose answer got lost is not among them.
        all_sent: whether the cluster has taken every document.
    """

    def __init__(
        self,
        client: KubeClient,
        handle: RunHandle,
        terms: Terms,
        *,
        clock: Clock,
        ends_at: float,
        faults: FaultPoints,
    ) -> None:
        self._client = client
        self._handle = handle
        self._terms = terms
        self._clock = clock
        self._ends_at = ends_at
        self._faults = faults
        self._earlier: Mapping[int, Card] = {}
        self._planned: Mapping[int, PlannedDocument] = {}
        self._live: Mapping[int, Live] = {}
        self._notes: list[str] = []
        self.made: dict[int, str] = {}
        self.all_sent = False

    async def run(
        self,
        ordered: Sequence[Document],
        *,
        planned: Mapping[int, PlannedDocument],
        live: Mapping[int, Live],
        earlier: Mapping[int, Card],
    ) -> None:
        """Apply all of them, in this order. The first write takes the task from running to applying.

        Args:
            ordered: what to apply.
            planned: what the survey said of each.
            live: what the survey saw of the objects that were there.
            earlier: the cards as an earlier run of this task left them.

        Raises:
            KubeError: the cluster refused a document, whose card says so; the ones after it were not sent.
            ApplyStopped: the same, for a reason of ours.
        """
        self._planned, self._live, self._earlier = planned, live, earlier
        definitions = Definitions(self._client, clock=self._clock, seconds=self._terms.bounds.definition)
        done = 0
        try:
            for group in groups(ordered):
                if group[0].phase > Phase.DEFINITIONS:
                    await definitions.served()
                before = await self._announce(group, done, len(ordered))
                await self._send(group, before)
                done += len(group)
                definitions.add(group)
            self.all_sent = True
            await definitions.served()
        except Unserved as stop:
            words = {"reason": str(stop.reason), "message": str(stop), "hint": stop.hint}
            card = card_of(self._handle, stop.index)
            self._handle.stage(card.model_copy(update={"status": CardStatus.FAILED, **words}))
            raise
        finally:
            if self._notes and not self._handle.signal.tripped:
                await self._handle.emit(self._taken_notes())

    async def _announce(self, group: Sequence[Document], done: int, total: int) -> dict[int, Card]:
        """Record that the group is about to be sent. Returns its cards as they were."""
        self._handle.checkpoint()
        cards = {card.index: card for card in self._handle.timeline.cards}
        before = {document.index: cards[document.index] for document in group}
        sending = {"apply": ApplyState.APPLYING, "status": CardStatus.CREATING}
        self._handle.stage(*(card.model_copy(update=sending) for card in before.values()))
        notes = self._taken_notes()
        message = f"{notes}; {_line(group, done, total)}" if notes else _line(group, done, total)
        try:
            if done == 0:
                await self._handle.begin_applying(message)
            else:
                await self._handle.emit(message)
            self._handle.checkpoint()
        except (asyncio.CancelledError, Aborted):
            # None of it was sent, and the outcome of the run says so.
            self._handle.stage(*before.values())
            raise
        return before

    async def _send(self, group: Sequence[Document], before: Mapping[int, Card]) -> None:
        """Send a group, several at a time. Once one fails, those under way are awaited and no other begins."""
        waiting = iter(group)
        begun: set[int] = set()
        failures: dict[int, LocktenderError] = {}

        async def work() -> None:
            for document in _while(waiting, lambda: not failures):
                begun.add(document.index)
                try:
                    await self._deliver(document, before[document.index])
                except LocktenderError as error:
                    failures[document.index] = error

        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(self._terms.bounds.at_once, len(group))):
                    workers.create_task(work())
        finally:
            left = [before[document.index] for document in group if document.index not in begun]
            if left:
                self._handle.stage(*left)
        for document in group:
            if document.index in failures:
                raise failures[document.index]

    async def _deliver(self, document: Document, before: Card) -> None:
        seconds = min(self._terms.bounds.document, max(self._ends_at - self._clock.monotonic(), 0.0))
        delivery = Delivery(
            self._client, document, self._terms, clock=self._clock, seconds=seconds,
            checkpoint=self._handle.checkpoint, settle=lambda request: self._settled(document, request),
        )  # fmt: skip
        earlier = self._earlier.get(document.index)
        try:
            await self._faults.reach("runner.before-apply")
            delivered = await delivery.run(
                self._known(document),
                look=self._needs_look(document),
                ran_before=document.kind == "Job" and earlier is not None and earlier.apply in _DONE,
            )
        except (KubeError, ApplyStopped) as error:
            self._stage_failure(document, before, error, sent=delivery.sent)
            raise
        except (asyncio.CancelledError, Aborted):
            if not delivery.sent:
                self._handle.stage(before)
            raise
        finally:
            if delivery.made is not None:
                self.made[document.index] = delivery.made
        self._stage_delivered(document, delivered)
        self._notes += delivered.notes
        await self._faults.reach("runner.after-effect")

    def _known(self, document: Document) -> Known:
        planned = self._planned.get(document.index)
        if planned is not None and planned.action is PlannedAction.CREATE:
            return ABSENT
        return self._live.get(document.index)

    def _needs_look(self, document: Document) -> bool:
        """Whether what the survey kept of the object is too little to write it well."""
        planned, live = self._planned.get(document.index), self._live.get(document.index)
        warned = planned is not None and any(warning.code in _LOOK_FIRST for warning in planned.warnings)
        return warned or (live is not None and live.stamp is None)

    async def _settled(self, document: Document, request: Awaitable[Applied]) -> Applied:
        def late(answer: Answer[Applied]) -> None:
            try:
                applied = answer.get()
            except KubeError as error:
                self._stage_failure(document, card_of(self._handle, document.index), error, sent=True)
            else:
                self._stage_delivered(document, Delivered(applied.body, applied.outcome))

        return await settling(request, patience=self._patience, late=late)

    def _patience(self) -> float:
        # A superseded run may not touch anything, so it lets go at once.
        return 0.0 if self._handle.signal.reason is AbortReason.SUPERSEDED else ANSWER_PATIENCE

    def _stage_delivered(self, document: Document, delivered: Delivered) -> None:
        card = card_of(self._handle, document.index)
        if delivered.gone:
            card = card.model_copy(update={"reason": self._earlier[document.index].reason})
        self._handle.stage(delivered_card(card, delivered))

    def _stage_failure(self, document: Document, before: Card, error: KubeError | ApplyStopped, *, sent: bool) -> None:
        self._handle.stage(failed_card(before, card_of(self._handle, document.index), error, sent=sent))

    def _taken_notes(self) -> str:
        notes, self._notes = self._notes, []
        more = f"; and {len(notes) - _NOTES} more of the kind" if len(notes) > _NOTES else ""
        return "; ".join(notes[:_NOTES]) + more


def card_of(handle: RunHandle, index: int) -> Card:
    """The card of a document as it stands."""
    return next(card for card in handle.timeline.cards if card.index == index)


def _while(documents: Iterator[Document], goes_on: Callable[[], bool]) -> Iterator[Document]:
    """The documents that are left, shared by whoever iterates, until it no longer goes on."""
    while goes_on():
        document = next(documents, None)
        if document is None:
            return
        yield document


def _line(group: Sequence[Document], done: int, total: int) -> str:
    first = group[0].ref
    if len(group) == 1:
        return f"applying {first} ({done + 1} of {total})"
    return f"applying {first} and {len(group) - 1} more ({done + 1} to {done + len(group)} of {total})"
