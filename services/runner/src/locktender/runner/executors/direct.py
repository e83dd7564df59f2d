"""The direct executor: applies manifests with the caller's own credentials, and waits until all is ready."""

from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.inputs import Asked
from locktender.contracts.deployments.models import FailureReason, Step, StepStatus
from locktender.integrations.kube.stamps import Stamp
from locktender.runner.executors.deploying import CREATE, Deploying, Means, now
from locktender.runner.executors.documents import (
    SourceUnreadable,
    ValuesMissing,
    apply_options,
    documents,
)
from locktender.runner.executors.run import RunHandle, Work
from locktender.runner.executors.terms import Terms

VALIDATE = Step(id="validate-settings", label="Check the cluster and the documents")


class DirectExecutor:
    """Prepare, plan, apply, verify.

    What the plan says would be refused ends the run before anything is applied. A source whose secret values were not
    handed over, as that of a redeploy, parks the run until they are entered.
    """

    def __init__(self, means: Means) -> None:
        self._means = means

    async def run(self, handle: RunHandle, work: Work) -> None:
        """See `Executor`."""
        if work.credentials is None:
            raise ValueError("the direct executor needs credentials")
        ends_at = self._means.clock.monotonic() + self._means.bounds.run
        # Whatever is entered here is the value of a Secret.
        handle.withhold(work.credentials.inputs.values())
        handle.stage(now(VALIDATE, StepStatus.RUNNING), now(CREATE, StepStatus.PENDING))
        try:
            found = documents(work.source, work.credentials.secrets, work.task_id, work.credentials.inputs)
            options = apply_options(work.source)
        except ValuesMissing as error:
            if not error.fields:
                await handle.fail(FailureReason.CREDENTIALS_LOST, TaskPhase.PREPARE, str(error), "never started")
                return
            handle.stage(now(VALIDATE, StepStatus.BLOCKED))
            await handle.request_inputs(Asked(inputs=error.fields, message=str(error)))
            return
        except SourceUnreadable as error:
            await handle.fail(FailureReason.RUNNER_ERROR, TaskPhase.PREPARE, str(error))
            return
        terms = Terms(Stamp(work.task_id, handle.epoch), work.namespace, options, bounds=self._means.bounds)
        deploying = Deploying(self._means, handle, terms, ends_at=ends_at)
        await deploying.carry_out(work.credentials, found, first=VALIDATE, aftercare=None)
