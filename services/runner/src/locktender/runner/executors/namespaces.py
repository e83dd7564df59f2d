"""Waiting for namespaces that are being deleted, before anything is planned in them."""

from collections.abc import Sequence
from functools import partial

from locktender.contracts.deployments.models import FailureReason
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeDenied, KubeUnknownKind
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text
from locktender.integrations.kube.retry import retrying
from locktender.runner.executors.documents import Document
from locktender.runner.executors.run import RunHandle
from locktender.runner.executors.terms import ApplyStopped, Terms

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 2.0
_LOOKS = 10_000
_HOLDING = ("NamespaceContentRemaining", "NamespaceFinalizersRemaining", "NamespaceDeletionContentFailure")


class Namespaces:
    """The namespaces of a source."""

    def __init__(self, client: KubeClient, handle: RunHandle, terms: Terms, *, clock: Clock) -> None:
        self._client = client
        self._handle = handle
        self._terms = terms
        self._clock = clock

    async def settled(self, documents: Sequence[Document]) -> None:
        """Return once none of the namespaces that documents go to, or that they describe, is being deleted.

        Whether a namespace exists is not judged here. What the account may not look at counts as settled.

        Raises:
            ApplyStopped: one is still there after the time for it. Says what holds it.
            KubeError: the cluster did not answer.
        """
        end = self._clock.monotonic() + self._terms.bounds.namespace
        for name in await self._used(documents):
            await self._gone(name, end)

    async def _used(self, documents: Sequence[Document]) -> list[str]:
        used: dict[str, None] = {}
        for document in documents:
            if (document.api_version, document.kind) == ("v1", "Namespace"):
                used[document.ref.name] = None
                continue
            try:
                resource = await retrying(
                    partial(self._client.resource_for, document.api_version, document.kind),
                    clock=self._clock,
                    deadline_seconds=self._terms.bounds.document,
                )
            except KubeUnknownKind:
                # One that the source defines, or that the plan refuses.
                continue
            place = self._client.namespace_of(resource, document.ref.namespace or self._terms.namespace)
            if place is not None:
                used[place] = None
        return list(used)

    async def _gone(self, name: str, end: float) -> None:
        ref, pause, told = ObjectRef(api_version="v1", kind="Namespace", name=name), _FIRST_PAUSE, False
        for _ in range(_LOOKS):
            found = await self._read(ref)
            if found is None or not as_object(found.get("metadata")).get("deletionTimestamp"):
                return
            if self._clock.monotonic() + pause > end:
                raise ApplyStopped(
                    FailureReason.NAMESPACE_TERMINATING,
                    f"the namespace {name} is still being deleted after {self._terms.bounds.namespace:g} s"
                    f"{_held_by(found)}",
                    "wait until it is gone, or remove what holds it; then deploy again",
                )
            if not told:
                await self._handle.emit(
                    f"the namespace {name} is being deleted; waits at most {self._terms.bounds.namespace:g} s for it"
                )
                told = True
            await self._clock.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    async def _read(self, ref: ObjectRef) -> JsonObject | None:
        try:
            return await retrying(
                lambda: self._client.get(ref), clock=self._clock, deadline_seconds=self._terms.bounds.document
            )
        except KubeDenied:
            return None


def _held_by(namespace: JsonObject) -> str:
    """What keeps a namespace from going, in the cluster's own words."""
    conditions = [as_object(item) for item in as_array(as_object(namespace.get("status")).get("conditions"))]
    said = [
        as_text(each.get("message"))[:200]
        for each in conditions
        if each.get("type") in _HOLDING and each.get("status") == "True" and as_text(each.get("message"))
    ]
    names = [
        as_text(name)
        for holder in ("metadata", "spec")
        for name in as_array(as_object(namespace.get(holder)).get("finalizers"))
    ]
    if names:
        said.append(f"finalizers {', '.join(names[:5])}")
    return f": {'; '.join(said[:3])}" if said else ""
