"""The stored source as documents to apply."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from pydantic import ValidationError

from locktender.contracts.deployments.models import ApplyOptions, Card
from locktender.contracts.deployments.ordering import Phase, phase_of
from locktender.contracts.deployments.readiness import is_required
from locktender.contracts.deployments.wire import ObjectRef
from locktender.contracts.kernel.errors import LocktenderError
from locktender.integrations.kube.json_value import JsonObject, as_array, as_object
from locktender.integrations.kube.naming import named
from locktender.integrations.kube.withheld import asked_for, filled, is_incomplete, ref_of


class ValuesMissing(LocktenderError):
    """Stored objects whose withheld values custody did not bring.

    `fields` asks for them. It is empty when something was withheld that nobody can be asked for piece by piece.
    """

    def __init__(self, bodies: Sequence[JsonObject]) -> None:
        self.fields = asked_for(bodies)
        what = f"the values of {ref_of(bodies[0])}" + (f" and {len(bodies) - 1} more" if len(bodies) > 1 else "")
        super().__init__(
            f"{what} are never stored; enter them again"
            if self.fields
            else f"{what} were not handed over, and nothing was applied; deploy again with the whole source"
        )


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


def documents(
    source: str, secrets: Mapping[int, JsonObject], seed: UUID, inputs: Mapping[str, str] = MappingProxyType({})
) -> list[Document]:
    """The documents of a stored `manifests` source (JSON text), with the whole `secrets` in their places.

    Secrets that did not come whole are filled from `inputs`, see `withheld.input_key`. Objects that leave their name to
    the cluster get one from `seed` and their place, so that every run of one task means the same object.

    Raises:
        ValuesMissing: something is still withheld: never stored, as it should be, and neither among `secrets` nor among
            `inputs`.
    """
    found: list[tuple[int, JsonObject]] = []
    missing: list[JsonObject] = []
    for position, item in enumerate(as_array(as_object(json.loads(source)).get("documents"))):
        stored = as_object(item)
        number = stored.get("index")
        index = number if isinstance(number, int) else position
        body = secrets.get(index) or filled(as_object(stored.get("body")), inputs)
        if index not in secrets and is_incomplete(body):
            missing.append(body)
        found.append((index, body))
    if missing:
        raise ValuesMissing(missing)
    return [document_of(index, body, seed) for index, body in found]


def document_of(index: int, body: JsonObject, seed: UUID) -> Document:
    """One object as a document. See `documents` for `seed`."""
    whole = named(body, seed, index)
    return Document(index, ref_of(whole), whole)


def apply_options(source: str) -> ApplyOptions:
    """How the request wants its documents applied; the defaults where it did not say.

    Raises:
        SourceUnreadable: they are written in a way that is not known. Guessing would be worse.
    """
    try:
        return ApplyOptions.model_validate(as_object(json.loads(source)).get("apply") or {})
    except ValidationError:
        raise SourceUnreadable("the stored apply options cannot be read by this runner; deploy again") from None
