"""Where the objects of a half-applied instance are looked for, and which kinds are left alone in any case."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from locktender.contracts.deployments.ordering import Phase, phase_of
from locktender.contracts.deployments.wire import ObjectRef
from locktender.integrations.kube.client import KubeClient
from locktender.integrations.kube.errors import KubeError
from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object, as_text
from locktender.integrations.templates.labels import INSTANCE
from locktender.runner.executors.documents import Document
from locktender.runner.executors.replacing import NEVER

CLAIM = ("v1", "PersistentVolumeClaim")
_STATEFUL = ("apps/v1", "StatefulSet")


@dataclass(frozen=True, slots=True)
class Place:
    """All objects of one kind in one namespace; None for kinds without."""

    api_version: str
    kind: str
    namespace: str | None

    def is_of(self, api_version: str, kind: str) -> bool:
        """Whether it is of this kind."""
        return (self.api_version, self.kind) == (api_version, kind)

    def has(self, ref: ObjectRef) -> bool:
        """Whether an object, as the cluster has it, is of this place."""
        return self.is_of(ref.api_version, ref.kind) and ref.namespace == self.namespace

    def ref(self, name: str) -> ObjectRef:
        """An object of this place."""
        return ObjectRef(api_version=self.api_version, kind=self.kind, namespace=self.namespace, name=name)

    async def listed(self, client: KubeClient, selector: str) -> dict[str, JsonObject]:
        """The metadata of the objects that bear a label, by uid.

        Raises:
            KubeError: the cluster does not say.
        """
        resource = await client.resource_for(self.api_version, self.kind)
        listing = await client.list(resource, self.namespace, label_selector=selector, pick=_metadata)
        return {as_text(as_object(item.get("metadata")).get("uid")): item for item in listing.items}


def is_kept(document: Document) -> bool:
    """Whether objects of the kind are never removed. A claim that a run has just made is empty, and may go."""
    kind = (document.api_version, document.kind)
    return kind != CLAIM and kind in NEVER


def places(refs: Iterable[ObjectRef], claims: Iterable[str]) -> Iterator[Place]:
    """Where to look: what was applied last comes first, and storage comes after all that uses it.

    `claims` as `claims_of` names them.
    """
    found = [Place(ref.api_version, ref.kind, ref.namespace) for ref in refs]
    found += [Place(*CLAIM, claim.partition("/")[0]) for claim in claims]
    phases = {place: phase_of(place.api_version, place.kind) for place in found}
    yield from sorted(phases, key=lambda place: (phases[place] is Phase.STORAGE, -phases[place]))


def claims_of(document: Document, namespace: str | None) -> list[str]:
    """The volume claims that a StatefulSet asks for, as `<namespace>/<claim>-<set>`: without the number of a pod."""
    if (document.api_version, document.kind) != _STATEFUL:
        return []
    templates = as_array(as_object(document.body.get("spec")).get("volumeClaimTemplates"))
    return [f"{namespace or ''}/{_name(claim)}-{document.ref.name}" for claim in templates]


async def claims_there(
    client: KubeClient, documents: Sequence[Document], instance: str, *, namespace: str | None
) -> frozenset[str] | None:
    """The uids of the volume claims that bear the name of an instance already, where its StatefulSets are to be.

    None: the cluster did not say.
    """
    sets = [document for document in documents if claims_of(document, None)]
    try:
        resource = await client.resource_for(*CLAIM)
        where = {client.namespace_of(resource, document.ref.namespace or namespace) for document in sets}
        found = [await Place(*CLAIM, each).listed(client, f"{INSTANCE}={instance}") for each in where]
    except KubeError:
        return None
    return frozenset(uid for listed in found for uid in listed)


def _name(claim: Json) -> str:
    return as_text(as_object(as_object(claim).get("metadata")).get("name"))


def _metadata(item: JsonObject) -> JsonObject:
    """What is needed to delete an object. The rest may be secret."""
    return {"metadata": item.get("metadata")}
