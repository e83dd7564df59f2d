"""The use case of `POST …/deployment-tasks:preview`."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from uuid import UUID

from locktender.api.deployments.deploying.lineage import Lineage
from locktender.api.deployments.examining.examined import Before, Examined, finding
from locktender.api.deployments.examining.examiner import Examiner
from locktender.api.deployments.examining.withholding import secret_texts
from locktender.api.http.body import pointer
from locktender.api.http.problems import ProblemError
from locktender.api.settings import PreviewLimits
from locktender.api.templates.provisional import Provisional, ProvisionalRenderer
from locktender.contracts.deployments.models import ApplyOptions
from locktender.contracts.deployments.plan import Plan, PlanSummary, Preview
from locktender.contracts.deployments.plan_texts import cleaned
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Finding, Pointer, Rejected, Unavailable
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.problems import Problem
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeError, KubeUnavailable
from locktender.integrations.kube.explain import explain
from locktender.integrations.kube.limits import ManifestLimits
from locktender.integrations.kube.manifests import Manifest
from locktender.integrations.kube.planning import survey
from locktender.integrations.kube.secrets import is_withheld
from locktender.integrations.kube.stamps import Stamp
from locktender.integrations.templates.faults import TemplateFault
from locktender.integrations.templates.objects import objects_of
from locktender.runtime.scrub import Scrubber

_NOTHING = Preview(documents=(), summary=PlanSummary())


@dataclass(frozen=True, slots=True)
class _Subject:
    """What the cluster is asked about, and the texts that no answer may repeat."""

    manifests: Sequence[Manifest] = field(repr=False)
    secrets: Sequence[str] = field(repr=False)
    instance: str | None = None


class PreviewDeployment:
    """Asks the cluster what a deployment would do. Nothing is stored, and credentials live as long as the request."""

    def __init__(
        self,
        *,
        examiner: Examiner,
        lineage: Lineage,
        renderer: ProvisionalRenderer,
        manifests: ManifestLimits,
        limits: PreviewLimits,
        clock: Clock,
    ) -> None:
        self._examiner = examiner
        self._lineage = lineage
        self._renderer = renderer
        self._manifests = manifests
        self._limits = limits
        self._clock = clock
        self._turns = asyncio.Semaphore(limits.at_once)

    async def __call__(self, workspace: str, document: dict[str, object]) -> Preview:
        """The plan for what a create with the same `document` would deploy. No secret value is in it.

        Raises:
            Rejected: a create would not accept it either, or its run would ask for values first.
            NotFound: there is no such predecessor.
            ProblemError: the cluster is away, or refuses the credentials; or the predecessor cannot be redeployed.
            Unavailable: too many previews are under way.
        """

        async def predecessor(before: UUID) -> Before:
            return await self._lineage.predecessor(workspace, before)

        examined = await self._examiner.examine(document, new_id(), predecessor)
        if examined.access is None:
            return _NOTHING
        async with self._turn():
            subject = await self._subject(examined, examined.access)
            plan = await self._asked(examined, subject.manifests, examined.access)
        told = cleaned(plan, Scrubber(subject.secrets).text)
        return Preview(documents=told.documents, summary=told.summary, instance=subject.instance)

    async def _subject(self, examined: Examined, access: ClusterAccess) -> _Subject:
        if examined.template is None:
            if any(is_withheld(each.body) for each in examined.manifests):
                words = "the values of its Secrets are not stored, so nothing can be planned; send the source"
                raise Rejected([finding("/source", words, "source-needed")])
            return _Subject(examined.manifests, secret_texts(examined.manifests, access))
        template = examined.template
        if template.missing:
            raise Rejected(
                [finding(f"/inputs{pointer(key)}", f"{key[:60]} is required", "required") for key in template.missing]
            )
        try:
            made = await self._renderer(template.package, template.variables, template.inputs, examined.place.namespace)
        except TemplateFault as fault:
            raise Rejected([fault.finding("/source")]) from None
        manifests = self._parsed(made, template.secrets)
        secrets = [*secret_texts(manifests, access), *made.secrets, *template.secrets]
        return _Subject(manifests, secrets, made.instance)

    def _parsed(self, made: Provisional, secrets: Sequence[str]) -> list[Manifest]:
        try:
            return objects_of(
                made.documents, made.unset, limits=self._manifests, pointer="/source", secret=[*made.secrets, *secrets]
            )
        except TemplateFault as fault:
            raise Rejected([fault.finding("/source")]) from None
        except Rejected as refusal:
            # What is told of an object may repeat a value that became part of its name.
            clean = Scrubber([*made.secrets, *secrets]).text
            findings = [replace(each, message=clean(each.message)) for each in refusal.findings]
        raise Rejected(findings)

    async def _asked(self, examined: Examined, manifests: Sequence[Manifest], access: ClusterAccess) -> Plan:
        try:
            async with KubeClient(access, read_seconds=self._limits.seconds) as client:
                found = await survey(
                    client,
                    manifests,
                    namespace=examined.place.namespace or "default",
                    options=examined.apply or ApplyOptions(),
                    stamp=Stamp(new_id(), 0),
                    clock=self._clock,
                    seconds=self._limits.seconds,
                )
        except KubeError as error:
            raise _problem(error) from None
        return found.plan

    @asynccontextmanager
    async def _turn(self) -> AsyncGenerator[None]:
        try:
            async with asyncio.timeout(self._limits.waiting_seconds):
                await self._turns.acquire()
        except TimeoutError:
            raise Unavailable("too many previews are under way") from None
        try:
            yield
        finally:
            self._turns.release()


def _problem(error: KubeError) -> ProblemError:
    reason, message, *_ = explain(error)
    kind = Problem.CLUSTER_UNAVAILABLE if isinstance(error, KubeUnavailable) else Problem.CLUSTER_REFUSED
    detail = message if error.hint is None or error.hint in message else f"{message}; {error.hint}"
    return ProblemError(kind, detail, [Finding(Pointer("/kubeconfig"), message, str(reason))])
