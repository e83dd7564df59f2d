"""The template executor: asks for what is missing, renders, and deploys what came of it under a name of its own."""

from collections.abc import Collection

from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.models import FailureReason, Step, StepStatus
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.secrets import split_secrets
from locktender.integrations.kube.stamps import Stamp
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.objects import objects_of
from locktender.integrations.templates.rendering import RenderedPackage, rendered, secret_values
from locktender.runner.executors.asking import Inquiry
from locktender.runner.executors.deploying import CREATE, Deploying, Means, now
from locktender.runner.executors.documents import Document, SourceUnreadable, apply_options, document_of
from locktender.runner.executors.instances import Allocation, InstanceCare, InstanceKey, allocation
from locktender.runner.executors.run import Credentials, RunHandle, Work
from locktender.runner.executors.stored_template import stored_template
from locktender.runner.executors.terms import Terms

PREPARE = Step(id="prepare-template", label="Render the template and check the cluster")


class TemplateExecutor:
    """Prepare, perhaps ask, render, plan, name, apply, verify.

    Guaranteed: a run that asks has named and applied nothing; the instance is recorded before anything is applied under
    its name; a redeploy goes on under the recorded name with the same random values, given the same `key`; values of
    secret inputs are in nothing that is written or logged. Rendering a package in a foreign form may take
    `render_seconds`.
    """

    def __init__(
        self, means: Means, *, key: InstanceKey, limits: ManifestLimits | None = None, render_seconds: float = 30.0
    ) -> None:
        self._means = means
        self._key = key
        self._limits = limits or ManifestLimits()
        self._render_seconds = render_seconds

    async def run(self, handle: RunHandle, work: Work) -> None:
        """See `Executor`."""
        if work.credentials is None:
            raise ValueError("the template executor needs credentials")
        ends_at = self._means.clock.monotonic() + self._means.bounds.run
        handle.stage(now(PREPARE, StepStatus.RUNNING), now(CREATE, StepStatus.PENDING))
        try:
            options = apply_options(work.source)
            prepared = await self._prepared(handle, work, work.credentials)
        except TemplateFault as fault:
            await handle.fail(FailureReason.TEMPLATE_INVALID, TaskPhase.PREPARE, str(fault))
            return
        except SourceUnreadable as error:
            await handle.fail(FailureReason.RUNNER_ERROR, TaskPhase.PREPARE, str(error))
            return
        if prepared is None:
            return
        allocated, documents = prepared
        terms = Terms(Stamp(work.task_id, handle.epoch), work.namespace, options, bounds=self._means.bounds)
        care = InstanceCare(handle, allocated, terms, self._means, ends_at=ends_at)
        deploying = Deploying(self._means, handle, terms, ends_at=ends_at)
        await deploying.carry_out(work.credentials, documents, first=PREPARE, aftercare=care)

    async def _prepared(
        self, handle: RunHandle, work: Work, credentials: Credentials
    ) -> tuple[Allocation, list[Document]] | None:
        """What is to be deployed; None when the run was parked instead.

        Raises:
            TemplateFault: it cannot be rendered.
            Rejected: what was rendered is nothing that a cluster takes.
        """
        stored = stored_template(work.source)
        package = await stored.package()
        inquiry = Inquiry(package, stored, credentials.inputs)
        answers = inquiry.answers()
        handle.withhold(answers.secret)
        asked = inquiry.asked(answered=work.asked is not None)
        if asked is not None:
            handle.stage(now(PREPARE, StepStatus.BLOCKED))
            await handle.request_inputs(asked)
            return None
        allocated = allocation(package, stored.variables, work, self._key)
        instance = allocated.instance
        secret = [*answers.secret, *secret_values(package, instance, answers.values)]
        handle.withhold(secret)
        found = await rendered(
            package, instance, stored.variables, answers.values, namespace=work.namespace,
            clock=self._means.clock, deadline=self._render_seconds,
        )  # fmt: skip
        return allocated, self._documents(handle, found, allocated, secret)

    def _documents(
        self, handle: RunHandle, found: RenderedPackage, allocated: Allocation, secret: Collection[str]
    ) -> list[Document]:
        manifests = objects_of(
            found.documents, found.missing, limits=self._limits, pointer="/source/template", secret=secret
        )
        _, values = split_secrets(manifests)
        handle.withhold(values)
        return [document_of(each.index, each.body, allocated.identity.seed) for each in manifests]
