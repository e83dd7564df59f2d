"""The use case of `POST …/deployment-tasks:preview`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from locktender.api.deployments.source import Examined, Examiner
from locktender.api.deployments.withholding import secret_texts
from locktender.api.http.problems import ProblemError
from locktender.api.settings import PreviewLimits
from locktender.contracts.deployments.models import ApplyOptions
from locktender.contracts.deployments.plan import Plan, PlanSummary
from locktender.contracts.deployments.plan_texts import cleaned
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Finding, Pointer, Unavailable
from locktender.contracts.kernel.ids import new_id
from locktender.contracts.kernel.problems import Problem
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeError, KubeUnavailable
from locktender.integrations.kube.explain import explain
from locktender.integrations.kube.planning import survey
from locktender.integrations.kube.stamps import Stamp
from locktender.runtime.scrub import Scrubber

_NOTHING = Plan(documents=(), summary=PlanSummary())


class PreviewDeployment:
    """Asks the cluster what a deployment would do. Nothing is stored, and credentials live as long as the request."""

    def __init__(self, *, examiner: Examiner, limits: PreviewLimits, clock: Clock) -> None:
        self._examiner = examiner
        self._limits = limits
        self._clock = clock
        self._turns = asyncio.Semaphore(limits.at_once)

    async def __call__(self, document: dict[str, object]) -> Plan:
        """The plan for what a create with the same `document` would deploy. No secret value is in it.

        Raises:
            Rejected: a create would not accept it either.
            ProblemError: the cluster is away, or refuses the credentials.
            Unavailable: too many previews are under way.
        """
        examined = await self._examiner.examine(document, new_id())
        if examined.access is None:
            return _NOTHING
        async with self._turn():
            plan = await self._asked(examined, examined.access)
        return cleaned(plan, Scrubber(secret_texts(examined.manifests, examined.access)).text)

    async def _asked(self, examined: Examined, access: ClusterAccess) -> Plan:
        try:
            async with KubeClient(access, read_seconds=self._limits.seconds) as client:
                found = await survey(
                    client,
                    examined.manifests,
                    namespace=examined.namespace,
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
