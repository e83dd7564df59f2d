"""The direct executor: applies manifests with the caller's own credentials, and waits until all is ready."""

from collections.abc import Sequence

from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.models import FailureReason, Step, StepStatus
from locktender.contracts.deployments.ordering import apply_order
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.faults import FaultPoints
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.retry import retrying
from locktender.runner.executors.apply import Applying
from locktender.runner.executors.documents import Document, ValuesMissing, defined_kinds, documents
from locktender.runner.executors.run import RunHandle, Work
from locktender.runner.executors.verify import Verifying

VALIDATE = Step(id="validate-settings", label="Check the cluster and the documents")
CREATE = Step(id="create-resources", label="Apply the documents and wait until they are ready")


class DirectExecutor:
    """Prepare, apply, verify.

    `apply_seconds` bounds the tries of one document against a cluster that is busy or away, `readiness_seconds` the
    wait from the last document to all required objects ready.
    """

    def __init__(self, *, clock: Clock, faults: FaultPoints, apply_seconds: float, readiness_seconds: float) -> None:
        self._clock = clock
        self._faults = faults
        self._apply_seconds = apply_seconds
        self._readiness_seconds = readiness_seconds

    async def run(self, handle: RunHandle, work: Work) -> None:
        """See `Executor`."""
        if work.credentials is None:
            raise ValueError("the direct executor needs credentials")
        handle.stage(_now(VALIDATE, StepStatus.RUNNING), _now(CREATE, StepStatus.PENDING))
        try:
            found = documents(work.source, work.credentials.secrets)
        except ValuesMissing as error:
            await handle.fail(FailureReason.CREDENTIALS_LOST, TaskPhase.PREPARE, str(error), "never started")
            return
        handle.stage(*(document.card() for document in found))
        async with KubeClient(work.credentials.access) as client:
            await self._check_kinds(client, found)
            handle.stage(_now(VALIDATE, StepStatus.COMPLETED), _now(CREATE, StepStatus.RUNNING))
            applying = Applying(
                client, handle, work, clock=self._clock, seconds=self._apply_seconds, faults=self._faults
            )
            await applying.run([found[place] for place in apply_order(found)])
            verifying = Verifying(client, handle, clock=self._clock, seconds=self._readiness_seconds)
            if await verifying.run():
                handle.stage(_now(CREATE, StepStatus.COMPLETED))
                await handle.complete(f"all {len(found)} documents are applied, and what they describe is ready")

    async def _check_kinds(self, client: KubeClient, found: Sequence[Document]) -> None:
        """Learn the kinds before anything is applied, so that an unknown one or a bad token changes nothing.

        Kinds of which the source itself brings the definition are left for later.
        """
        defined = defined_kinds(found)
        kinds = dict.fromkeys((document.api_version, document.kind) for document in found)
        for api_version, kind in kinds:
            if kind not in defined:
                await retrying(
                    lambda version=api_version, kind=kind: client.resource_for(version, kind),
                    clock=self._clock,
                    deadline_seconds=self._apply_seconds,
                )


def _now(step: Step, status: StepStatus) -> Step:
    return step.model_copy(update={"status": status})
