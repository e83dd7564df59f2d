"""One document on its way into the cluster, with everything that can stand in its way."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from locktender.contracts.deployments.models import FailureReason
from locktender.contracts.deployments.plan import FieldConflict
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.client import ABSENT, Absence, Applied, Known, KubeClient, Outcome
from locktender.integrations.kube.desired import desired
from locktender.integrations.kube.errors import (
    ConflictCause,
    KubeConflict,
    KubeDenied,
    KubeImmutable,
    KubeTerminating,
)
from locktender.integrations.kube.json_value import JsonObject, as_object
from locktender.integrations.kube.live import Live, live_of
from locktender.integrations.kube.ownership import handover
from locktender.integrations.kube.retry import retrying
from locktender.integrations.kube.stamps import stamp_of, stamped
from locktender.runner.executors.documents import Document
from locktender.runner.executors.forecast import CONFLICT_HINT, conflict_message
from locktender.runner.executors.overtaking import check_not_overtaken
from locktender.runner.executors.replacing import check_replaceable, remove
from locktender.runner.executors.terms import ApplyStopped, Terms

T = TypeVar("T")
Settling = Callable[[Awaitable[Applied]], Awaitable[Applied]]
"""Waits for the answer to a write, and a moment longer when the run is aborted meanwhile."""

_TURNS = 12
"""Times that a document starts over because its object moved on under it."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of a document, and what people should know about how.

    Attributes:
        outcome: over all that was done for it in this run.
        gone: a job that this task had applied before and that has been cleared away since; it was not sent again.
        notes: fields taken over, ownership that passed to us, an object replaced, fields left alone.
    """

    body: JsonObject
    outcome: Outcome
    gone: bool = False
    notes: tuple[str, ...] = ()


class Delivery:
    """Applies one document once.

    Guaranteed: every write goes out right after a checkpoint of the run; an existing object is written at the very
    version that was looked at, after a look at who applied it last. Where there is no object yet, no precondition
    exists, and the write is bounded by a time that is shorter than what is left of the lease.

    Attributes:
        sent: whether a write has begun. Before that, nothing can have changed.
        made: the uid of the object, once the cluster has said that a write of ours created it where there was none.
    """

    def __init__(
        self,
        client: KubeClient,
        document: Document,
        terms: Terms,
        *,
        clock: Clock,
        seconds: float,
        checkpoint: Callable[[], None],
        settle: Settling,
    ) -> None:
        self._client = client
        self._document = document
        self._terms = terms
        self._clock = clock
        self._end = clock.monotonic() + seconds
        self._checkpoint = checkpoint
        self._settle = settle
        self._known: Known = None
        self._first: Known = None
        self._body = stamped(document.body, terms.stamp)
        self._force = False
        self._notes: list[str] = []
        self.sent = False
        self.made: str | None = None

    async def run(self, known: Known, *, look: bool, ran_before: bool = False) -> Delivered:
        """Bring it into the cluster.

        Args:
            known: the object as the survey saw it.
            look: read it anew before the first write, because more has to be known of it than the survey kept.
            ran_before: it is a job that this task has applied already; when it is gone, it has run.

        Raises:
            ApplyStopped: it cannot be applied, for a reason of ours.
            KubeError: the cluster does not take it, or did not answer in time.
        """
        self._known = self._first = known
        if look or known is None or ran_before:
            await self._within(self._look)
            self._first = self._known
        if ran_before and self._known is ABSENT:
            return Delivered({}, Outcome.UNCHANGED, gone=True)
        for _ in range(_TURNS):
            try:
                applied = await self._within(self._write)
            except KubeConflict as conflict:
                await self._give_way(conflict)
            except KubeImmutable as error:
                await self._replace(error)
            else:
                # The answer itself says so: what was not there a moment ago may be somebody else's by now.
                if applied.outcome is Outcome.CREATED and not isinstance(self._first, Live):
                    self.made = applied.live.uid
                if not _is_going(applied.body):
                    return Delivered(applied.body, self._outcome(applied), notes=tuple(self._notes))
                # What is being deleted takes changes and goes all the same.
                await self._within(self._look)
        raise ApplyStopped(
            FailureReason.APPLY_CONFLICT,
            f"{self._document.ref} changes faster than it can be applied",
            "find out who else keeps changing it, then deploy again",
        )

    async def _within(self, call: Callable[[], Awaitable[T]]) -> T:
        left = max(self._end - self._clock.monotonic(), 0.0)
        return await retrying(call, clock=self._clock, deadline_seconds=left)

    async def _write(self) -> Applied:
        bounds, known = self._terms.bounds, self._known
        # The last look before the effect: a process that was frozen finds out here that its lease is gone.
        self._checkpoint()
        self.sent = True
        return await self._settle(
            self._client.apply(
                self._body,
                force=self._force,
                namespace=self._terms.namespace,
                known=known,
                resource_version=known.resource_version if isinstance(known, Live) else None,
                seconds=bounds.write if isinstance(known, Live) else bounds.fenced_write,
            )
        )

    async def _look(self) -> None:
        """Read the object, and settle what follows from it: may we write, who owns what, what do we send."""
        document, terms = self._document, self._terms
        try:
            live = await self._client.get(document.ref, namespace=terms.namespace)
        except KubeDenied:
            # An account that may write and not read: nothing is known, so nothing can be preconditioned.
            self._known = None
            return
        if live is None:
            self._known, self._body = ABSENT, stamped(document.body, terms.stamp)
            return
        if _is_going(live):
            raise KubeTerminating(f"{document.ref} is being deleted", hint="wait until it is gone, then deploy again")
        check_not_overtaken(document.ref, stamp_of(live), terms.stamp, force=terms.options.force)
        live = await self._taken_over(live)
        wanted = desired(document.body, live=live, autoscalers=terms.autoscalers)
        if wanted.left_alone:
            owner = f" to {wanted.autoscaler}" if wanted.autoscaler else ""
            self._note(f"left {', '.join(wanted.left_alone)} of {document.ref}{owner}")
        self._known, self._body = live_of(live), stamped(wanted.body, terms.stamp)

    async def _taken_over(self, live: JsonObject) -> JsonObject:
        """The object once what client-side apply owned of it is ours."""
        change = handover(live, self._terms.options.migrate_from)
        if change is None:
            return live
        self._checkpoint()
        self.sent = True
        ref = self._document.ref
        after = await self._client.hand_over(
            ref, change, namespace=self._terms.namespace, seconds=self._terms.bounds.write
        )
        self._note(f"fields of {ref} that {', '.join(change.managers)} had set are now managed by locktender")
        return after

    async def _give_way(self, conflict: KubeConflict) -> None:
        """Somebody else owns fields, or the object is no longer as it was read."""
        ref = self._document.ref
        if not conflict.causes:
            await self._within(self._look_again)
            return
        owned = _conflicts(conflict.causes)
        if not self._terms.options.force or self._force:
            raise ApplyStopped(FailureReason.APPLY_CONFLICT, conflict_message(ref, owned), CONFLICT_HINT)
        self._force = True
        self._note(f"took over {', '.join(f'{each.field} from {each.manager}' for each in owned[:5])} of {ref}")

    async def _look_again(self) -> None:
        try:
            await self._look()
        except KubeConflict:
            # It moved on between the look and the handover; the next write finds out and looks once more.
            return

    async def _replace(self, error: KubeImmutable) -> None:
        document, terms = self._document, self._terms
        check_replaceable(document.ref, terms.options, error.causes)
        live = await self._within(lambda: self._client.get(document.ref, namespace=terms.namespace))
        if live is not None:
            check_not_overtaken(document.ref, stamp_of(live), terms.stamp, force=terms.options.force)
            await remove(
                self._client, document.ref, live, namespace=terms.namespace, bounds=terms.bounds, clock=self._clock,
                checkpoint=self._checkpoint,
            )  # fmt: skip
            self._note(f"{document.ref} was deleted and created anew")
        self._end = max(self._end, self._clock.monotonic() + terms.bounds.document)
        await self._within(self._look_again)

    def _outcome(self, applied: Applied) -> Outcome:
        """Against the first look: an answer that was lost must not make a change look like none."""
        match self._first:
            case Live():
                same = self._first.digest == applied.live.digest and self._first.uid == applied.live.uid
                return Outcome.UNCHANGED if same else Outcome.CHANGED
            case Absence.ABSENT:
                return Outcome.CREATED
            case None:
                return applied.outcome

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)


def _is_going(body: JsonObject) -> bool:
    return bool(as_object(body.get("metadata")).get("deletionTimestamp"))


def _conflicts(causes: Sequence[ConflictCause]) -> list[FieldConflict]:
    return [FieldConflict(manager=cause.manager, field=cause.field.removeprefix(".")) for cause in causes]
