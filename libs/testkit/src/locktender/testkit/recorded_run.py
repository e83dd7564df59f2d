"""A run whose record is kept in memory: executors against a cluster, without a database and a bus.

run = RecordedRun()
await run.carry_out(direct_executor(), work_for(manifests, cluster.kubeconfig))
assert run.status == "completed"
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.models import ApplyOptions, Card, FailureReason, Step, Timeline
from locktender.contracts.deployments.plan import Plan
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Epoch
from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.explain import explain
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.kube.secrets import is_secret, split_secrets
from locktender.runner.executors.direct import DirectExecutor
from locktender.runner.executors.run import Credentials, Executor, Work
from locktender.runner.executors.terms import Bounds
from locktender.runtime.abort import Abort, Aborted
from locktender.runtime.clock import SystemClock


@dataclass(frozen=True, slots=True)
class Recorded:
    """One write of a run: what it said, and the timeline as it stood."""

    message: str
    timeline: Timeline


class RecordedRun:
    """Implements `RunHandle`. Every write is kept, in order.

    Attributes:
        status: how it ended, once it did: completed, failed, or aborted.
        failure: reason, stage, message and detail of a run that failed.
        on_write: called with every write, right before it counts.
    """

    def __init__(self, *, epoch: int = 1, timeline: Timeline | None = None) -> None:
        self._epoch = Epoch(epoch)
        self._signal = Abort()
        self._timeline = timeline or Timeline()
        self.writes: list[Recorded] = []
        self.plan: Plan | None = None
        self.status: str | None = None
        self.failure: tuple[FailureReason, str, str, str | None] | None = None
        self.applying = False
        self.on_write: Callable[[str], None] = lambda _: None

    async def carry_out(self, executor: Executor, work: Work) -> None:
        """Run an executor as the runner does, and note what comes of it."""
        try:
            async with self._signal.scope():
                await executor.run(self, work)
        except Aborted:
            self.status = "aborted"
        except KubeError as error:
            reason, message, *_ = explain(error)
            await self.fail(reason, "apply" if self.applying else "prepare", message, error.hint)

    @property
    def epoch(self) -> Epoch:
        return self._epoch

    @property
    def signal(self) -> Abort:
        return self._signal

    @property
    def timeline(self) -> Timeline:
        return self._timeline

    @property
    def messages(self) -> list[str]:
        """What was said, in order."""
        return [write.message for write in self.writes]

    def card(self, name: str) -> Card:
        """The card of the object of that name."""
        return next(card for card in self._timeline.cards if card.ref.name == name)

    def checkpoint(self) -> None:
        self._signal.check()

    def stage(self, *changes: Card | Step) -> None:
        cards = {card.index: card for card in self._timeline.cards}
        steps = {step.id: step for step in self._timeline.steps}
        cards |= {change.index: change for change in changes if isinstance(change, Card)}
        steps |= {change.id: change for change in changes if isinstance(change, Step)}
        changed = {"cards": tuple(cards[index] for index in sorted(cards)), "steps": tuple(steps.values())}
        self._timeline = self._timeline.model_copy(update=changed)

    def expect_by(self, moment: datetime) -> None:
        self._timeline = self._timeline.model_copy(update={"wait_until": moment})

    async def emit(self, message: str, *, phase: TaskPhase | None = None) -> None:  # noqa: ARG002 - not looked at
        self._write(message)

    async def record_plan(self, plan: Plan) -> None:
        self.plan = plan

    async def begin_applying(self, message: str = "applying begins") -> None:
        self.applying = True
        self._write(message)

    async def complete(self, message: str) -> None:
        self.status = "completed"
        self._write(message)

    async def fail(self, reason: FailureReason, stage: str, message: str, detail: str | None = None) -> None:
        self.status, self.failure = "failed", (reason, stage, message, detail)
        self._write(message)

    def _write(self, message: str) -> None:
        self._timeline = self._timeline.model_copy(update={"revision": self._timeline.revision + 1})
        self.on_write(message)
        self.writes.append(Recorded(message, self._timeline))


def work_for(
    manifests: str,
    kubeconfig: str,
    *,
    task_id: UUID | None = None,
    namespace: str | None = "default",
    options: ApplyOptions | None = None,
) -> Work:
    """What a claimed task of the direct runner has to do."""
    source, secrets = stored_source(manifests, options)
    credentials = Credentials(read_kubeconfig(kubeconfig), secrets)
    return Work(task_id or new_id(), namespace, source, credentials)


def stored_source(manifests: str, options: ApplyOptions | None = None) -> tuple[str, dict[int, dict[str, Any]]]:
    """A source as the API stores it, and the secrets that it leaves to custody, by the index of their document."""
    parsed = parse_manifests(manifests)
    bodies, _ = split_secrets(parsed)
    stored: dict[str, Any] = {
        "kind": "manifests",
        "documents": [
            {"index": manifest.index, "line": manifest.line, "body": json.loads(body)}
            for manifest, body in zip(parsed, bodies, strict=True)
        ],
    }
    if options is not None:
        stored["apply"] = options.model_dump(mode="json", by_alias=True)
    return json.dumps(stored), {each.index: each.body for each in parsed if is_secret(each.body)}


def direct_executor(
    *, clock: Clock | None = None, faults: FaultPoints = NO_FAULTS, readiness_seconds: float = 20.0, **bounds: Any
) -> DirectExecutor:
    """The direct executor with short waits; `bounds` as in `Bounds`."""
    plausible: dict[str, Any] = {"document": 5.0, "namespace": 5.0, "definition": 5.0, "replacement": 5.0}
    return DirectExecutor(
        clock=clock or SystemClock(),
        faults=faults,
        bounds=Bounds(**(plausible | bounds)),
        readiness_seconds=readiness_seconds,
    )
