"""Documents on their way into a cluster: planned, applied, and watched until what they describe is ready."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.models import Step, StepStatus
from locktender.contracts.deployments.ordering import apply_order
from locktender.contracts.deployments.patience import Patience
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.faults import FaultPoints
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.informing.hub import InformerHub
from locktender.integrations.kube.planning import Survey, survey
from locktender.integrations.kube.retry import retrying
from locktender.runner.executors.apply import Applying
from locktender.runner.executors.documents import Document
from locktender.runner.executors.forecast import Forecast, in_numbers
from locktender.runner.executors.namespaces import Namespaces
from locktender.runner.executors.run import Credentials, RunHandle
from locktender.runner.executors.terms import ApplyStopped, Bounds, Terms
from locktender.runner.executors.verify import USUAL, Verifying

CREATE = Step(id="create-resources", label="Apply the documents and wait until they are ready")


@dataclass(frozen=True, slots=True)
class Means:
    """What the process lends to every deployment.

    Attributes:
        readiness_seconds: from the last document to all required objects ready.
        hub: watches clusters for all runs; without one, each run watches for itself.
    """

    clock: Clock
    faults: FaultPoints
    bounds: Bounds
    readiness_seconds: float
    hub: InformerHub | None = None
    patience: Patience = USUAL


class Aftercare(Protocol):
    """What a deployment under a name of its own has to do around applying."""

    async def before(self, client: KubeClient, documents: Sequence[Document]) -> None:
        """The plan is good, and nothing was applied yet."""
        ...

    async def failed(self, client: KubeClient, documents: Sequence[Document], made: Mapping[int, str]) -> None:
        """Applying failed after some documents and before all of them.

        `made` has the uid of every object that this very run created, by the index of its document.
        """
        ...


class Deploying:
    """Plan, apply, verify. What the plan says would be refused ends the run before anything is applied."""

    def __init__(self, means: Means, handle: RunHandle, terms: Terms, *, ends_at: float) -> None:
        self._means = means
        self._handle = handle
        self._terms = terms
        self._ends_at = ends_at

    async def carry_out(
        self, credentials: Credentials, documents: Sequence[Document], *, first: Step, aftercare: Aftercare | None
    ) -> None:
        """Bring all documents into the cluster, and tell the outcome.

        `first` is the step that runs until the plan is made.

        Raises:
            KubeError: the cluster refused, or did not answer.
        """
        try:
            async with KubeClient(credentials.access) as client:
                await self._through(client, documents, first, aftercare)
        except ApplyStopped as stop:
            stage = TaskPhase.APPLY if _is_applying(self._handle) else TaskPhase.PREPARE
            await self._handle.fail(stop.reason, stage, str(stop), stop.hint)

    async def _through(
        self, client: KubeClient, documents: Sequence[Document], first: Step, aftercare: Aftercare | None
    ) -> None:
        handle, means = self._handle, self._means
        earlier = {card.index: card for card in handle.timeline.cards}
        handle.stage(*(document.card() for document in documents))
        ordered = [documents[place] for place in apply_order(documents)]
        await Namespaces(client, handle, self._terms, clock=means.clock).settled(documents)
        seen = await self._planned(client, ordered)
        if aftercare is not None:
            await aftercare.before(client, ordered)
        handle.stage(now(first, StepStatus.COMPLETED), now(CREATE, StepStatus.RUNNING))
        terms = replace(self._terms, autoscalers=seen.autoscalers)
        applying = Applying(client, handle, terms, clock=means.clock, ends_at=self._ends_at, faults=means.faults)
        planned = {document.index: document for document in seen.plan.documents}
        try:
            await applying.run(ordered, planned=planned, live=seen.live, earlier=earlier)
        except (ApplyStopped, KubeError):
            if aftercare is not None and not applying.all_sent:
                await aftercare.failed(client, ordered, applying.made)
            raise
        verifying = Verifying(
            client, handle, clock=means.clock, seconds=means.readiness_seconds, hub=means.hub,
            patience=means.patience, stamp=terms.stamp,
        )  # fmt: skip
        if await verifying.run():
            handle.stage(now(CREATE, StepStatus.COMPLETED))
            await handle.complete(f"all {len(documents)} documents are applied, and what they describe is ready")

    async def _planned(self, client: KubeClient, ordered: Sequence[Document]) -> Survey:
        """Plan by dry runs, and record it.

        Raises:
            ApplyStopped: a document would be refused. Nothing was applied.
        """
        handle, terms, clock = self._handle, self._terms, self._means.clock
        # A survey gives up soon on a cluster that is away; the run has the patience of one document.
        seen = await retrying(
            lambda: survey(
                client, ordered, namespace=terms.namespace, options=terms.options, stamp=terms.stamp,
                clock=clock, seconds=terms.bounds.plan, concurrency=terms.bounds.at_once,
            ),
            clock=clock,
            deadline_seconds=terms.bounds.document,
        )  # fmt: skip
        forecast = Forecast(seen.plan, seen.live, terms)
        handle.stage(*forecast.cards({card.index: card for card in handle.timeline.cards}))
        await handle.record_plan(seen.plan)
        await handle.emit(in_numbers(seen.plan.summary))
        forecast.check()
        return seen


def now(step: Step, status: StepStatus) -> Step:
    """A step as it stands now."""
    return step.model_copy(update={"status": status})


def _is_applying(handle: RunHandle) -> bool:
    return any(step.id == CREATE.id and step.status is StepStatus.RUNNING for step in handle.timeline.steps)
