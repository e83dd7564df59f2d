"""The instance that a template run deploys: named once, kept, and removed again only by the run that made it."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from locktender.contracts.deployments.models import Identity
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.templates.package import Package
from locktender.integrations.templates.rendering import Instance, allocate, kept_defaults
from locktender.runner.executors.clearing import Clearing
from locktender.runner.executors.deploying import Means
from locktender.runner.executors.documents import Document
from locktender.runner.executors.leftovers import claims_there
from locktender.runner.executors.run import RunHandle, Work
from locktender.runner.executors.terms import Terms

_log = structlog.stdlib.get_logger(__name__)


class InstanceKey:
    """The key by which seeds become random values: those of an instance repeat, and no id gives them away."""

    def __init__(self, key: bytes | None) -> None:
        if key is None:
            _log.warning(
                "there is no instance key, so a redeploy of a template will have other random values than before; "
                "set LOCKTENDER_INSTANCE_KEY"
            )
        self._key = key or secrets.token_bytes(32)

    def seed(self, identity: UUID) -> bytes:
        """What the random letters of an instance are drawn from. Secret."""
        return hmac.digest(self._key, identity.bytes, hashlib.sha256)


@dataclass(frozen=True, slots=True)
class Allocation:
    """An instance, what is recorded of it, and whether this very run has named it."""

    instance: Instance
    identity: Identity
    fresh: bool

    @property
    def message(self) -> str:
        """What people are told of it."""
        name = self.instance.name
        return f"the instance is named {name}" if self.fresh else f"goes on as {name}; the identity is reused"


def allocation(package: Package, variables: Mapping[str, str], work: Work, key: InstanceKey) -> Allocation:
    """The instance of a run: the recorded one, else a fresh one whose seed is the task.

    Raises:
        TemplateFault: its defaults cannot be worked out, or its name cannot be one.
    """
    recorded = None if work.identity is None else _Recorded(work.identity.instance, work.identity.defaults)
    seed = work.task_id if work.identity is None else work.identity.seed
    instance = allocate(package, variables, key.seed(seed), recorded)
    identity = Identity(instance=instance.name, seed=seed, defaults=kept_defaults(package, instance))
    return Allocation(instance, identity, recorded is None)


class InstanceCare:
    """Implements `Aftercare`: records the identity right before anything is applied under it, and cleans up.

    Guaranteed: nothing is removed unless applying itself failed half-way, and this very run has named the instance.
    """

    def __init__(self, handle: RunHandle, allocated: Allocation, terms: Terms, means: Means, *, ends_at: float) -> None:
        self._handle = handle
        self._allocated = allocated
        self._terms = terms
        self._means = means
        self._ends_at = ends_at
        self._claims: frozenset[str] | None = None

    async def before(self, client: KubeClient, documents: Sequence[Document]) -> None:
        """See `Aftercare`."""
        allocated = self._allocated
        if allocated.fresh:
            name = allocated.instance.name
            self._claims = await claims_there(client, documents, name, namespace=self._terms.namespace)
        await self._handle.allocate(allocated.identity, allocated.message)

    async def failed(self, client: KubeClient, documents: Sequence[Document], made: Mapping[int, str]) -> None:
        """See `Aftercare`."""
        if not self._allocated.fresh or not made:
            return
        seconds = min(self._terms.bounds.clean_up, max(self._ends_at - self._means.clock.monotonic(), 0.0))
        clearing = Clearing(
            client, self._handle, self._terms, instance=self._allocated.instance.name, claims_before=self._claims,
            clock=self._means.clock, faults=self._means.faults, seconds=seconds,
        )  # fmt: skip
        await clearing.run(documents, made)


@dataclass(frozen=True, slots=True)
class _Recorded:
    name: str
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
