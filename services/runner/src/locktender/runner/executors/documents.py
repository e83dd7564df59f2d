"""The stored source as documents to apply."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from pydantic import ValidationError

from locktender.contracts.deployments.models import ApplyOptions, Card
from locktender.contracts.deployments.ordering import Phase, phase_of
from locktender.contracts.deployments.readiness import is_required
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.errors import LocktenderError
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object, as_text
from locktender.integrations.kube.naming import named
from locktender.integrations.kube.secrets import is_withheld


class ValuesMissing(LocktenderError):
    """A stored `Secret` whose values custody did not bring."""


class SourceUnreadable(LocktenderError):
    """The stored source says something that this version does not know."""


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

    @property
    def phase(self) -> Phase:
        """When it is applied."""
        return phase_of(self.ref.api_version, self.ref.kind)

    def card(self) -> Card:
        """Its card before anything happened."""
        return Card(index=self.index, ref=self.ref, required=is_required(self.body))


def documents(source: str, secrets: Mapping[int, JsonObject], seed: UUID) -> list[Document]:
    """The documents of a stored `manifests` source (JSON text), with the whole `secrets` in their places.

    Objects that leave their name to the cluster get one from `seed` and their place, so that every run of one task
    means the same object.

    Raises:
        ValuesMissing: a Secret's values are neither stored, as it should be, nor among `secrets`.
    """
    stored = [as_object(item) for item in as_array(as_object(json.loads(source)).get("documents"))]
    found = [_document(position, item, secrets, seed) for position, item in enumerate(stored)]
    for document in found:
        if is_withheld(document.body):
            raise ValuesMissing(f"the values of {document.ref} were not handed over; submit the deployment again")
    return found


def apply_options(source: str) -> ApplyOptions:
    """How the request wants its documents applied; the defaults where it did not say.

    Raises:
        SourceUnreadable: they are written in a way that is not known. Guessing would be worse.
    """
    try:
        return ApplyOptions.model_validate(as_object(json.loads(source)).get("apply") or {})
    except ValidationError:
        raise SourceUnreadable("the stored apply options cannot be read by this runner; deploy again") from None


def _document(position: int, stored: JsonObject, secrets: Mapping[int, JsonObject], seed: UUID) -> Document:
    number = stored.get("index")
    index = number if isinstance(number, int) else position
    body = named(secrets.get(index) or as_object(stored.get("body")), seed, index)
    metadata = as_object(body.get("metadata"))
    ref = ObjectRef(
        api_version=as_text(body.get("apiVersion")),
        kind=as_text(body.get("kind")),
        namespace=as_text(metadata.get("namespace")) or None,
        name=as_text(metadata.get("name")),
    )
    return Document(index, ref, body)
