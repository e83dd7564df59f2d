"""A run whose record is kept in memory: executors against a cluster, without a database and a bus.

run = RecordedRun()
await run.carry_out(direct_executor(), work_for(manifests, cluster.kubeconfig))
assert run.status == "completed"
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.inputs import Asked
from locktender.contracts.deployments.models import ApplyOptions, Card, FailureReason, Identity, Step, Timeline
from locktender.contracts.deployments.plan import Plan
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Rejected
from locktender.contracts.kernel.faults import NO_FAULTS, FaultPoints
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.lease import Epoch
from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.explain import explain, hint_of
from locktender.integrations.kube.kubeconfig import read_kubeconfig
from locktender.integrations.kube.manifests import parse_manifests
from locktender.integrations.kube.secrets import is_secret, split_secrets
from locktender.integrations.templates.package import read_package
from locktender.runner.executors.deploying import Means
from locktender.runner.executors.direct import DirectExecutor
from locktender.runner.executors.instances import InstanceKey
from locktender.runner.executors.run import Credentials, Executor, Work
from locktender.runner.executors.template import TemplateExecutor
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
        status: how it ended, once it did: completed, failed, blocked, or aborted.
        asked: what a run that was parked asks for.
        identity: what it has named.
        cleaned: it has begun to remove what it had made.
        withheld: the values that it keeps out of everything written.
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
        self.asked: Asked | None = None
        self.identity: Identity | None = None
        self.cleaned = False
        self.withheld: list[str] = []
        self.applying = False
        self.on_write: Callable[[str], None] = lambda _: None

    async def carry_out(self, executor: Executor, work: Work) -> None:
        """Run an executor as the runner does, and note what comes of it."""
        try:
            async with self._signal.scope():
                await executor.run(self, work)
        except Aborted:
            self.status = "aborted"
        except (KubeError, Rejected) as error:
            reason, message, *_ = explain(error)
            await self.fail(reason, "apply" if self.applying else "prepare", message, hint_of(error))

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

    def withhold(self, values: Iterable[str]) -> None:
        self.withheld += values

    async def request_inputs(self, asked: Asked) -> None:
        assert self.identity is None
        assert not self.applying
        self.status, self.asked = "blocked", asked
        self._write(asked.message)

    async def allocate(self, identity: Identity, message: str) -> None:
        assert not self.applying
        self.identity = identity
        self._write(message)

    async def clean_up(self, message: str) -> None:
        assert self.applying
        self.cleaned = True
        self._write(message)

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


def template_work(
    template: str | Mapping[str, str],
    kubeconfig: str,
    *,
    task_id: UUID | None = None,
    namespace: str | None = "default",
    given: Mapping[str, str] | None = None,
    identity: Identity | None = None,
    asked: Asked | None = None,
    **stored: Any,
) -> Work:
    """What a claimed task of the template runner has to do. `given` is what only memory holds; `stored` as below."""
    credentials = Credentials(read_kubeconfig(kubeconfig), {}, dict(given or {}))
    source = stored_template(template, **stored)
    return Work(task_id or new_id(), namespace, source, credentials, identity, asked)


def stored_template(
    template: str | Mapping[str, str],
    *,
    name: str | None = None,
    inputs: Mapping[str, str] | None = None,
    sensitive: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> str:
    """The source of a template task as the API stores it: `template` is its text, or its files by path."""
    files = {"index.yaml": template} if isinstance(template, str) else dict(template)
    package = read_package(files, name=name)
    stored = {
        "kind": "template", "template": name, "form": package.form, "files": files, "digest": package.digest,
        "revision": None, "inputs": dict(inputs or {}), "sensitiveKeys": list(sensitive),
        "variables": dict(variables or {}), "apply": {},
    }  # fmt: skip
    return json.dumps(stored)


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


def means(
    *, clock: Clock | None = None, faults: FaultPoints = NO_FAULTS, readiness_seconds: float = 20.0, **bounds: Any
) -> Means:
    """What a process lends to its executors, with short waits; `bounds` as in `Bounds`."""
    plausible: dict[str, Any] = {"document": 5.0, "namespace": 5.0, "definition": 5.0, "replacement": 5.0}
    return Means(
        clock=clock or SystemClock(),
        faults=faults,
        bounds=Bounds(**(plausible | bounds)),
        readiness_seconds=readiness_seconds,
    )


def direct_executor(**stated: Any) -> DirectExecutor:
    """The direct executor; `stated` as for `means`."""
    return DirectExecutor(means(**stated))


def template_executor(*, key: bytes = b"the key of the instances", **stated: Any) -> TemplateExecutor:
    """The template executor; `stated` as for `means`."""
    return TemplateExecutor(means(**stated), key=InstanceKey(key))
