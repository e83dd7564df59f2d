"""Waiting until the cluster serves the kinds that the source defines."""

from collections.abc import Iterable

from locktender.contracts.deployments.models import FailureReason
from locktender.contracts.deployments.ordering import Phase
from locktender.contracts.kernel.clock import Clock
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeDenied, KubeUnavailable, KubeUnknownKind
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text
from locktender.runner.executors.documents import Document
from locktender.runner.executors.terms import ApplyStopped

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0
_LOOKS = 10_000


class Unserved(ApplyStopped):
    """A definition that was applied and does not come to be served."""

    def __init__(self, index: int, message: str) -> None:
        hint = "see its conditions with `kubectl describe crd`, then deploy again"
        super().__init__(FailureReason.RESOURCE_FAILED, message, hint)
        self.index = index


class Definitions:
    """Custom resource definitions that were applied and may not be served yet.

    `seconds` bounds the wait for all of them together.
    """

    def __init__(self, client: KubeClient, *, clock: Clock, seconds: float) -> None:
        self._client = client
        self._clock = clock
        self._seconds = seconds
        self._open: list[Document] = []

    def add(self, documents: Iterable[Document]) -> None:
        """Wait for the definitions among these from now on."""
        self._open += [document for document in documents if document.phase is Phase.DEFINITIONS]

    async def served(self) -> None:
        """Return once all of them are established and their kinds are discovered.

        Raises:
            Unserved: they are not in time. Says what the cluster says about the first.
            KubeError: the cluster refuses to say.
        """
        end, pause = self._clock.monotonic() + self._seconds, _FIRST_PAUSE
        missing = "it is not served"
        for _ in range(_LOOKS):
            while self._open:
                found = await self._missing(self._open[0])
                if found is not None:
                    missing = found
                    break
                self._open.pop(0)
            if not self._open:
                return
            if self._clock.monotonic() + pause > end:
                break
            await self._clock.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        late = self._open[0]
        message = f"{late.ref} was applied and cannot be used after {self._seconds:g} s: {missing}"
        raise Unserved(late.index, message)

    async def _missing(self, document: Document) -> str | None:
        """What one definition still lacks."""
        try:
            found = await self._client.get(document.ref)
        except KubeDenied:
            # The account may not look; that the kinds are served is what matters.
            found = None
        except KubeUnavailable as error:
            return str(error)
        if found is not None and (lacking := _not_established(found)) is not None:
            return lacking
        spec = as_object(document.body.get("spec"))
        kind = as_text(as_object(spec.get("names")).get("kind"))
        for item in as_array(spec.get("versions")):
            version = as_object(item)
            if version.get("served") is not True:
                continue
            try:
                await self._client.resource_for(f"{as_text(spec.get('group'))}/{as_text(version.get('name'))}", kind)
            except (KubeUnknownKind, KubeUnavailable) as error:
                return str(error)
        return None


def _not_established(definition: JsonObject) -> str | None:
    conditions = [as_object(item) for item in as_array(as_object(definition.get("status")).get("conditions"))]
    if any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions):
        return None
    for each in conditions:
        if each.get("status") == "False" and as_text(each.get("message")):
            return f"{as_text(each.get('type'))} is False: {as_text(each.get('message'))[:300]}"
    return "it is not established yet"
