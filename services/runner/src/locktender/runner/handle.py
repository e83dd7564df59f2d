"""The run handle: the only thing an executor sees, and the only writer of its run."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime

from locktender.contracts.deployments.flow import DEPLOYMENT_TASK, TaskPhase, TaskStatus
from locktender.contracts.deployments.inputs import Asked
from locktender.contracts.deployments.models import Card, Failure, FailureReason, Identity, Step, Timeline
from locktender.contracts.deployments.plan import Plan
from locktender.contracts.deployments.plan_texts import cleaned
from locktender.contracts.deployments.policy import settled
from locktender.contracts.kernel.errors import WrongState
from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.contracts.kernel.lease import Epoch
from locktender.runner.executors.run import Superseded
from locktender.runner.fenced import FencedRow, reached, recorded
from locktender.runner.telling import items, line, stopped, told
from locktender.runtime.abort import Abort, AbortReason
from locktender.runtime.logs import withheld
from locktender.runtime.scrub import Scrubber
from locktender.runtime.spellings import spellings
from locktender.storage.deployments.writes import DeploymentWrites, Moved, Told

_TEXT = 1_000
_NOTHING = Scrubber(())

Ending = Callable[[Told, str], Awaitable[Moved]]
"""The write of an outcome, given what it tells and the timeline as JSON."""


class LeasedHandle:
    """A `RunHandle` over one leased row. See there for what its methods guarantee.

    Writes never overlap, except that one whose caller was cancelled may still be under way while the outcome is
    written; the row's lock puts them in order, and the later of them brings the whole timeline.
    """

    def __init__(
        self,
        row: FencedRow,
        writes: DeploymentWrites,
        signal: Abort,
        *,
        timeline: str,
        trace: str = "{}",
        overdue: Callable[[], bool] = lambda: False,
        faults: FaultPoints = NO_FAULTS,
    ) -> None:
        self._row = row
        self._writes = writes
        self._signal = signal
        self._text = timeline
        self._timeline: Timeline | None = None
        self._trace = trace
        self._overdue = overdue
        self._faults = faults
        self._withheld: list[str] = []
        self._spelt: set[str] = set()
        self._logs = ExitStack()
        self._scrubber = _NOTHING
        self._turn = asyncio.Lock()
        self._phase = TaskPhase.PREPARE
        self._applying = False
        self._named = False
        self._outcome: TaskStatus | None = None

    @property
    def epoch(self) -> Epoch:
        """See `RunHandle`."""
        return self._row.lease.epoch

    @property
    def signal(self) -> Abort:
        """See `RunHandle`."""
        return self._signal

    @property
    def outcome(self) -> TaskStatus | None:
        """How the run ended, once that is written."""
        return self._outcome

    @property
    def phase(self) -> TaskPhase:
        """Where the run stands."""
        return self._phase

    @property
    def timeline(self) -> Timeline:
        """See `RunHandle`."""
        # Read when it is first asked for: a run that stages nothing never pays for it.
        if self._timeline is None:
            self._timeline = Timeline.model_validate_json(self._text)
        return self._timeline

    def withhold(self, values: Iterable[str]) -> None:
        """See `RunHandle`. `close` takes them from the log's list again."""
        fresh = [value for value in values if value not in self._withheld]
        self._withheld += fresh
        self._spelt |= {form for value in fresh for form in spellings(value)}
        self._scrubber = Scrubber((), spelt=self._spelt)
        self._logs.enter_context(withheld.values(fresh))

    def close(self) -> None:
        """Forget the values: nothing of this run is logged any more."""
        self._logs.close()

    def checkpoint(self) -> None:
        """See `RunHandle`."""
        self._check_open()
        if self._overdue():
            self._signal.trip(AbortReason.SUPERSEDED)
        self._signal.check()

    def stage(self, *changes: Card | Step) -> None:
        """See `RunHandle`."""
        self._check_open()
        cards = {card.index: self._clean(card) for card in changes if isinstance(card, Card)}
        steps = {step.id: step for step in changes if isinstance(step, Step)}
        before = self.timeline
        kept_cards = {card.index: card for card in before.cards} | cards
        kept_steps = {step.id: step for step in before.steps} | steps
        self._timeline = before.model_copy(
            update={
                "cards": tuple(kept_cards[index] for index in sorted(kept_cards)),
                "steps": tuple(kept_steps.values()),
            }
        )

    def expect_by(self, moment: datetime) -> None:
        """See `RunHandle`."""
        self._check_open()
        self._timeline = self.timeline.model_copy(update={"wait_until": moment})

    async def emit(self, message: str, *, phase: TaskPhase | None = None) -> None:
        """See `RunHandle`."""
        async with self._turn:
            self._check_open()
            self._phase = phase or self._phase
            event, text = self._told(message), self._current()
            await self._row.write(
                lambda: self._writes.record(self._row.lease, event, phase=self._phase, timeline=text),
                recorded(self.timeline.revision),
            )

    async def record_plan(self, plan: Plan) -> None:
        """See `RunHandle`."""
        async with self._turn:
            self._check_open()
            self._timeline = self.timeline.model_copy(update={"plan": plan.summary})
            text = cleaned(plan, self._scrubber.text).model_dump_json(by_alias=True, exclude_defaults=True)
            # Never taken for landed: writing the same plan again is harmless.
            await self._row.write(lambda: self._writes.record_plan(self._row.lease, text), lambda _: False)

    async def request_inputs(self, asked: Asked) -> None:
        """See `RunHandle`."""
        if self._applying or self._named:
            raise RuntimeError("a run that has named or applied something cannot be parked")
        text = asked.model_copy(update={"message": line(self._scrubber.text(asked.message), _TEXT)}).model_dump_json(
            by_alias=True, exclude_none=True
        )
        await self._faults.reach("runner.before-park")
        await self._end_or_yield(
            TaskStatus.BLOCKED,
            lambda event, timeline: self._writes.request_inputs(self._row.lease, event, timeline=timeline, asked=text),
            asked.message,
            {"reason": str(asked.code), "inputKeys": [field.key for field in asked.inputs], "redacted": True}
            | ({} if asked.key is None else {"inputKey": asked.key}),
        )
        await self._faults.reach("runner.after-park")

    async def allocate(self, identity: Identity, message: str) -> None:
        """See `RunHandle`."""
        self._named = True
        kept = identity.model_dump_json(by_alias=True)
        await self._faults.reach("runner.before-allocate")
        await self._noted(
            message,
            {"instance": identity.instance},
            lambda event, text: self._writes.allocate(self._row.lease, event, identity=kept, timeline=text),
        )
        await self._faults.reach("runner.after-allocate")

    async def clean_up(self, message: str) -> None:
        """See `RunHandle`."""
        await self._noted(message, {}, lambda event, text: self._writes.clean_up(self._row.lease, event, timeline=text))

    async def _noted(self, message: str, facts: Mapping[str, object], write: Ending) -> None:
        async with self._turn:
            self._check_open()
            event, text = self._told(message, facts), self._current()
            await self._row.write(lambda: write(event, text), recorded(self.timeline.revision))

    async def begin_applying(self, message: str = "applying begins") -> None:
        """See `RunHandle`."""
        async with self._turn:
            self._check_open()
            event, text = self._told(message), self._text if self._timeline is None else self._current()
            await self._row.write(
                lambda: self._writes.begin_applying(self._row.lease, event, timeline=text),
                reached(TaskStatus.APPLYING),
            )
            self._phase, self._applying = TaskPhase.APPLY, True

    async def complete(self, message: str) -> None:
        """See `RunHandle`."""
        if not self._applying:
            raise RuntimeError("a run completes after it began applying")
        await self._end_or_yield(
            TaskStatus.COMPLETED,
            lambda event, text: self._writes.complete(self._row.lease, event, timeline=text),
            message,
            {},
        )

    async def fail(self, reason: FailureReason, stage: str, message: str, detail: str | None = None) -> None:
        """See `RunHandle`."""
        failure = Failure(
            reason=reason,
            stage=stage,
            message=line(self._scrubber.text(message), _TEXT),
            detail=None if detail is None else line(self._scrubber.text(detail), _TEXT),
        ).model_dump_json(by_alias=True, exclude_none=True)
        await self._end_or_yield(
            TaskStatus.FAILED,
            lambda event, text: self._writes.fail(self._row.lease, event, timeline=text, failure=failure),
            message,
            {"reason": str(reason), "stage": stage} | items(settled(self.timeline, TaskStatus.FAILED)),
        )

    async def acknowledge_cancel(self) -> None:
        """End the run as cancelled, and say what was applied and what was not."""
        final = settled(self.timeline, TaskStatus.CANCELLED)
        await self._end(
            TaskStatus.CANCELLED,
            lambda event, text: self._writes.acknowledge_cancel(self._row.lease, event, timeline=text),
            stopped(final),
            {"reason": str(FailureReason.CANCELLED)} | items(final),
        )

    async def _end_or_yield(self, status: TaskStatus, write: Ending, message: str, facts: Mapping[str, object]) -> None:
        try:
            await self._end(status, write, message, facts)
        except WrongState as miss:
            # The row is still ours and still live: what stands against the outcome is a cancel that came first.
            if miss.actual not in DEPLOYMENT_TASK.leased:
                raise Superseded("the task has already ended") from miss
            await self.acknowledge_cancel()

    async def _end(self, status: TaskStatus, write: Ending, message: str, facts: Mapping[str, object]) -> None:
        async with self._turn:
            self._check_open()
            event, text = self._told(message, facts), self._ended(status)
            await self._faults.reach("runner.before-outcome")
            await self._row.write(lambda: write(event, text), reached(status))
            self._outcome = status
            await self._faults.reach("runner.after-outcome")

    def _ended(self, status: TaskStatus) -> str:
        """The timeline of the finished run. The one in memory stays as it is, in case the outcome is another."""
        if self._timeline is None:
            return self._text
        final = settled(self._timeline, status)
        return final.model_copy(update={"revision": final.revision + 1}).model_dump_json(by_alias=True)

    def _check_open(self) -> None:
        if self._outcome is not None:
            raise Superseded(f"the run has already ended as {self._outcome}")

    def _current(self) -> str:
        """The timeline as JSON, one revision on."""
        self._timeline = self.timeline.model_copy(update={"revision": self.timeline.revision + 1})
        return self._timeline.model_dump_json(by_alias=True)

    def _told(self, message: str, facts: Mapping[str, object] | None = None) -> Told:
        return told(self._scrubber.text(message), self._trace, facts)

    def _clean(self, card: Card) -> Card:
        words = {name: getattr(card, name) for name in ("reason", "message", "hint")}
        cleaned = {name: line(self._scrubber.text(said), _TEXT) for name, said in words.items() if said is not None}
        return card.model_copy(update=cleaned)
