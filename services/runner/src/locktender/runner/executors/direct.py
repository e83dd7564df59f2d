"""The direct executor: applies manifests with the caller's own credentials, and waits until all is ready."""

from collections.abc import Sequence
from dataclasses import replace

from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.models import FailureReason, Step, StepStatus
from locktender.contracts.deployments.ordering import apply_order
from locktender.contracts.deployments.patience import Patience
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.faults import FaultPoints
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.informing.hub import InformerHub
from locktender.integrations.kube.planning import Survey, survey
from locktender.integrations.kube.retry import retrying
from locktender.integrations.kube.stamps import Stamp
from locktender.runner.executors.apply import Applying
from locktender.runner.executors.documents import (
    Document,
    SourceUnreadable,
    ValuesMissing,
    apply_options,
    documents,
)
from locktender.runner.executors.forecast import Forecast, in_numbers
from locktender.runner.executors.namespaces import Namespaces
from locktender.runner.executors.run import Credentials, RunHandle, Work
from locktender.runner.executors.terms import ApplyStopped, Bounds, Terms
from locktender.runner.executors.verify import USUAL, Verifying

VALIDATE = Step(id="validate-settings", label="Check the cluster and the documents")
CREATE = Step(id="create-resources", label="Apply the documents and wait until they are ready")


class DirectExecutor:
    """Prepare, plan, apply, verify.

    What the plan says would be refused ends the run before anything is applied. `readiness_seconds` bounds the wait
    from the last document to all required objects ready.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        faults: FaultPoints,
        bounds: Bounds,
        readiness_seconds: float,
        hub: InformerHub | None = None,
        patience: Patience = USUAL,
    ) -> None:
        self._clock = clock
        self._faults = faults
        self._bounds = bounds
        self._readiness_seconds = readiness_seconds
        self._hub = hub
        self._patience = patience

    async def run(self, handle: RunHandle, work: Work) -> None:
        """See `Executor`."""
        if work.credentials is None:
            raise ValueError("the direct executor needs credentials")
        ends_at = self._clock.monotonic() + self._bounds.run
        handle.stage(_now(VALIDATE, StepStatus.RUNNING), _now(CREATE, StepStatus.PENDING))
        try:
            found = documents(work.source, work.credentials.secrets, work.task_id)
            options = apply_options(work.source)
        except ValuesMissing as error:
            await handle.fail(FailureReason.CREDENTIALS_LOST, TaskPhase.PREPARE, str(error), "never started")
            return
        except SourceUnreadable as error:
            await handle.fail(FailureReason.RUNNER_ERROR, TaskPhase.PREPARE, str(error))
            return
        terms = Terms(Stamp(work.task_id, handle.epoch), work.namespace, options, bounds=self._bounds)
        try:
            await self._carry_out(handle, work.credentials, found, terms, ends_at)
        except ApplyStopped as stop:
            stage = TaskPhase.APPLY if _is_applying(handle) else TaskPhase.PREPARE
            await handle.fail(stop.reason, stage, str(stop), stop.hint)

    async def _carry_out(
        self, handle: RunHandle, credentials: Credentials, found: Sequence[Document], terms: Terms, ends_at: float
    ) -> None:
        earlier = {card.index: card for card in handle.timeline.cards}
        handle.stage(*(document.card() for document in found))
        ordered = [found[place] for place in apply_order(found)]
        async with KubeClient(credentials.access) as client:
            await Namespaces(client, handle, terms, clock=self._clock).settled(found)
            seen = await self._planned(client, handle, ordered, terms)
            handle.stage(_now(VALIDATE, StepStatus.COMPLETED), _now(CREATE, StepStatus.RUNNING))
            terms = replace(terms, autoscalers=seen.autoscalers)
            applying = Applying(client, handle, terms, clock=self._clock, ends_at=ends_at, faults=self._faults)
            planned = {document.index: document for document in seen.plan.documents}
            await applying.run(ordered, planned=planned, live=seen.live, earlier=earlier)
            verifying = Verifying(
                client, handle, clock=self._clock, seconds=self._readiness_seconds, hub=self._hub,
                patience=self._patience, stamp=terms.stamp,
            )  # fmt: skip
            if await verifying.run():
                handle.stage(_now(CREATE, StepStatus.COMPLETED))
                await handle.complete(f"all {len(found)} documents are applied, and what they describe is ready")

    async def _planned(
        self, client: KubeClient, handle: RunHandle, ordered: Sequence[Document], terms: Terms
    ) -> Survey:
        """Plan by dry runs, and record it.

        Raises:
            ApplyStopped: a document would be refused. Nothing was applied.
        """
        # A survey gives up soon on a cluster that is away; the run has the patience of one document.
        seen = await retrying(
            lambda: survey(
                client, ordered, namespace=terms.namespace, options=terms.options, stamp=terms.stamp,
                clock=self._clock, seconds=terms.bounds.plan, concurrency=terms.bounds.at_once,
            ),
            clock=self._clock,
            deadline_seconds=terms.bounds.document,
        )  # fmt: skip
        forecast = Forecast(seen.plan, seen.live, terms)
        handle.stage(*forecast.cards({card.index: card for card in handle.timeline.cards}))
        await handle.record_plan(seen.plan)
        await handle.emit(in_numbers(seen.plan.summary))
        forecast.check()
        return seen


def _is_applying(handle: RunHandle) -> bool:
    return any(step.id == CREATE.id and step.status is StepStatus.RUNNING for step in handle.timeline.steps)


def _now(step: Step, status: StepStatus) -> Step:
    return step.model_copy(update={"status": status})
