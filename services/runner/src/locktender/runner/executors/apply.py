"""Applying documents one by one, each recorded before it is sent and after it was answered."""

import asyncio
from collections.abc import Callable, Sequence

from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.models import ApplyState, Card
from locktender.contracts.deployments.readiness import assess
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.faults import FaultPoints
from locktender.integrations.kube.client import Applied, KubeClient, Outcome
from locktender.integrations.kube.errors import KubeError, KubeUnavailable, KubeUnknownKind
from locktender.integrations.kube.explain import explain
from locktender.integrations.kube.json_value import as_object, as_text
from locktender.integrations.kube.retry import retrying
from locktender.runner.executors.documents import STAMPS, Document, defined_kinds, stamped
from locktender.runner.executors.run import RunHandle, Work
from locktender.runner.executors.settle import Answer, settling
from locktender.runtime.abort import Aborted, AbortReason

ANSWER_PATIENCE = 3.0
"""Seconds for which an aborted run still waits for the answer to what it has sent."""

_DEFINITION_SECONDS, _DEFINITION_PAUSE = 20.0, 0.5


class Applying:
    """The apply phase of one run.

    Guaranteed: a document is sent only under a lease that the database confirmed right before, by the write that
    announces it; after an abort no further document is sent; nothing is ever deleted.
    """

    def __init__(
        self, client: KubeClient, handle: RunHandle, work: Work, *, clock: Clock, seconds: float, faults: FaultPoints
    ) -> None:
        self._client = client
        self._handle = handle
        self._work = work
        self._clock = clock
        self._seconds = seconds
        self._faults = faults
        self._defined: frozenset[str] = frozenset()

    async def run(self, ordered: Sequence[Document]) -> None:
        """Apply all of them, in this order. The first write takes the task from running to applying.

        Raises:
            KubeError: the cluster refused a document, whose card says so; the ones after it were not sent.
        """
        self._defined = defined_kinds(ordered)
        told = ""
        for position, document in enumerate(ordered):
            applying = f"applying {document.ref} ({position + 1} of {len(ordered)})"
            await self._announce(document, f"{told}{applying}", first=position == 0)
            await self._faults.reach("runner.before-apply")
            try:
                await self._until_served(document)
                applied = await self._applied(document)
            except KubeError as error:
                self._note(document, Answer(None, error))
                raise
            await self._faults.reach("runner.after-effect")
            self._note(document, Answer(applied, None))
            told = f"applied {document.ref}; "

    async def _announce(self, document: Document, message: str, *, first: bool) -> None:
        self._handle.checkpoint()
        before = card_of(self._handle, document.index)
        self._handle.stage(before.model_copy(update={"apply": ApplyState.APPLYING, "status": CardStatus.CREATING}))
        try:
            if first:
                await self._handle.begin_applying(message)
            else:
                await self._handle.emit(message)
            self._handle.checkpoint()
        except (asyncio.CancelledError, Aborted):
            # It was never sent, and the outcome of the run says so.
            self._handle.stage(before)
            raise

    async def _applied(self, document: Document) -> Applied:
        body = stamped(document.body, self._work.task_id, self._handle.epoch)

        async def attempt() -> Applied:
            # The last look before the effect: a process that was frozen finds out here that its lease is gone.
            self._handle.checkpoint()
            request = self._client.apply(body, namespace=self._work.namespace, bookkeeping=STAMPS)
            return await settling(request, patience=self._patience, late=self._noting(document))

        return await retrying(attempt, clock=self._clock, deadline_seconds=self._seconds)

    async def _until_served(self, document: Document) -> None:
        """Wait until the cluster serves the kind: after a definition was applied, that takes it a moment."""
        end = self._clock.monotonic() + (_DEFINITION_SECONDS if document.kind in self._defined else 0.0)
        while True:
            try:
                await self._client.resource_for(document.api_version, document.kind)
            except KubeUnknownKind:
                if self._clock.monotonic() >= end:
                    raise
            except KubeUnavailable:
                # Left to the apply itself, which tries for a while.
                return
            else:
                return
            await self._clock.sleep(_DEFINITION_PAUSE)

    def _patience(self) -> float:
        # A superseded run may not touch anything, so it lets go at once.
        return 0.0 if self._handle.signal.reason is AbortReason.SUPERSEDED else ANSWER_PATIENCE

    def _noting(self, document: Document) -> Callable[[Answer[Applied]], None]:
        return lambda answer: self._note(document, answer)

    def _note(self, document: Document, answer: Answer[Applied]) -> None:
        card = card_of(self._handle, document.index)
        try:
            self._handle.stage(_after(card, answer.get()))
        except KubeUnavailable as error:
            # Whether it took effect is not known, so the document stays `applying`.
            self._handle.stage(_worded(card, error, status=CardStatus.UNKNOWN))
        except KubeError as error:
            self._handle.stage(_worded(card, error, apply=ApplyState.REFUSED, status=CardStatus.FAILED))


def card_of(handle: RunHandle, index: int) -> Card:
    """The card of a document as it stands."""
    return next(card for card in handle.timeline.cards if card.index == index)


def _after(card: Card, applied: Applied) -> Card:
    verdict = assess(applied.body)
    namespace = as_text(as_object(applied.body.get("metadata")).get("namespace")) or None
    return card.model_copy(
        update={
            "ref": card.ref.model_copy(update={"namespace": namespace}),
            "apply": ApplyState.UNCHANGED if applied.outcome is Outcome.UNCHANGED else ApplyState.APPLIED,
            "status": CardStatus.RUNNING if verdict.status is CardStatus.RUNNING else CardStatus.CREATING,
            "reason": verdict.reason,
            "message": verdict.message,
            "hint": verdict.hint,
        }
    )


def _worded(card: Card, error: KubeError, **changes: object) -> Card:
    reason, message = explain(error)
    return card.model_copy(update={"reason": str(reason), "message": message, "hint": None, **changes})
