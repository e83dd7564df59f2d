"""The stored source as documents to apply."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from locktender.contracts.deployments.models import Card, ObjectRef
from locktender.contracts.deployments.ordering import Phase, phase_of
from locktender.contracts.deployments.readiness import is_required
from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.kernel.lease import Epoch
from locktender.integrations.kube.json_value import Json, JsonObject, as_array, as_object, as_text, copied
from locktender.integrations.kube.secrets import is_withheld

TASK_ANNOTATION = "locktender.dev/task"
EPOCH_ANNOTATION = "locktender.dev/epoch"
STAMPS = (TASK_ANNOTATION, EPOCH_ANNOTATION)
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "locktender"


class ValuesMissing(LocktenderError):
    """A stored `Secret` whose values custody did not bring."""


@dataclass(frozen=True, slots=True)
class Document:
    """One object to apply. `body` may hold secret values."""

    index: int
    ref: ObjectRef
    body: JsonObject

    @property
    def api_version(self) -> str:
        """As written."""
        return self.ref.api_version

    @property
    def kind(self) -> str:
        """As written."""
        return self.ref.kind

    def card(self) -> Card:
        """Its card before anything happened."""
        return Card(index=self.index, ref=self.ref, required=is_required(self.body))


def documents(source: str, secrets: Mapping[int, JsonObject]) -> list[Document]:
    """The documents of a stored `manifests` source (JSON text), with the whole `secrets` in their places.

    Raises:
        ValuesMissing: a Secret's values are neither stored, as it should be, nor among `secrets`.
    """
    stored = [as_object(item) for item in as_array(as_object(json.loads(source)).get("documents"))]
    found = [_document(position, item, secrets) for position, item in enumerate(stored)]
    for document in found:
        if is_withheld(document.body):
            raise ValuesMissing(f"the values of {document.ref} were not handed over; submit the deployment again")
    return found


def _document(position: int, stored: JsonObject, secrets: Mapping[int, JsonObject]) -> Document:
    number = stored.get("index")
    index = number if isinstance(number, int) else position
    body = secrets.get(index) or as_object(stored.get("body"))
    metadata = as_object(body.get("metadata"))
    ref = ObjectRef(
        api_version=as_text(body.get("apiVersion")),
        kind=as_text(body.get("kind")),
        namespace=as_text(metadata.get("namespace")) or None,
        name=as_text(metadata.get("name")),
    )
    return Document(index, ref, body)


def defined_kinds(found: Sequence[Document]) -> frozenset[str]:
    """The kinds of which the source itself brings the definition."""
    return frozenset(
        as_text(as_object(as_object(document.body.get("spec")).get("names")).get("kind"))
        for document in found
        if phase_of(document.api_version, document.kind) is Phase.DEFINITIONS
    )


def stamped(body: JsonObject, task_id: UUID, epoch: Epoch) -> JsonObject:
    """A copy of `body` that says which run applies it.

    Two annotations carry the task and the epoch. The label `app.kubernetes.io/managed-by` is added where the manifest
    does not set it; pod templates are left alone, so that no stamp restarts a pod.
    """
    marked = as_object(copied(body))
    metadata = _within(marked, "metadata")
    _within(metadata, "annotations").update({TASK_ANNOTATION: str(task_id), EPOCH_ANNOTATION: str(epoch)})
    _within(metadata, "labels").setdefault(MANAGED_BY, MANAGER)
    return marked


def _within(holder: JsonObject, name: str) -> JsonObject:
    inner: Json = holder.get(name)
    if not isinstance(inner, dict):
        inner = holder[name] = {}
    return inner
