"""One analysis, decoded once into the pieces that are asked for. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.stacks.analysis import PlanChanges, ResourceGraph, StateOutput, StateResource

_outputs: TypeAdapter[tuple[StateOutput, ...]] = TypeAdapter(tuple[StateOutput, ...])
_members: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_elements: TypeAdapter[list[Any]] = TypeAdapter(list[Any])


class AnalysisBroken(LocktenderError):
    """What a run left cannot be read as an analysis."""


class Section(StrEnum):
    """A part of an analysis, as its address ends."""

    PLAN_CHANGES = "plan-changes"
    STATE_RESOURCES = "state-resources"
    RESOURCE_GRAPH = "resource-graph"


@dataclass(frozen=True, slots=True)
class Piece:
    """JSON, and a tag that is the same for the same text."""

    body: bytes
    tag: str

    @classmethod
    def of(cls, body: bytes) -> "Piece":
        """The piece with this text."""
        return cls(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


@dataclass(frozen=True, slots=True)
class Inventory:
    """A state in pieces of JSON.

    Attributes:
        listed: an array of all resources, without their values.
        whole: each resource with its values, by address; deposed objects share the address of their successor.
        outputs: an array.
    """

    listed: bytes
    whole: Mapping[str, list[bytes]]
    outputs: bytes


@dataclass(frozen=True, slots=True)
class Told:
    """All that one run told. A section that is not in here is unknown; one that is may well be empty.

    Attributes:
        size: bytes of memory, about.
    """

    sections: Mapping[Section, Piece]
    inventory: Inventory | None
    size: int


def read(data: bytes) -> Told:
    """The analysis in `data`, checked and spelled anew by our own models.

    The text is parsed in one go; all that follows goes resource by resource, so that other threads get their turns.

    Raises:
        AnalysisBroken: it is none. The message repeats nothing of it.
    """
    try:
        return _read(_members.validate_python(from_json(data, allow_inf_nan=False)))
    except (ValidationError, ValueError, RecursionError) as error:
        raise AnalysisBroken(f"the analysis cannot be read: {type(error).__name__}") from None


def array(parts: list[bytes]) -> bytes:
    """JSON values as a JSON array."""
    return b"[" + b",".join(parts) + b"]"


def _read(found: dict[str, Any]) -> Told:
    sections: dict[Section, Piece] = {}
    if (changes := found.get("planChanges")) is not None:
        text = PlanChanges.model_validate(changes).model_dump_json(by_alias=True)
        sections[Section.PLAN_CHANGES] = Piece.of(text.encode())
    if (graph := found.get("resourceGraph")) is not None:
        text = ResourceGraph.model_validate(graph).model_dump_json(by_alias=True)
        sections[Section.RESOURCE_GRAPH] = Piece.of(text.encode())
    inventory = None
    if (state := found.get("stateResources")) is not None:
        inventory, body = _inventory(_members.validate_python(state))
        sections[Section.STATE_RESOURCES] = Piece.of(body)
    return Told(sections, inventory, _size(sections, inventory))


def _inventory(state: dict[str, Any]) -> tuple[Inventory, bytes]:
    listed: list[bytes] = []
    every: list[bytes] = []
    whole: dict[str, list[bytes]] = {}
    for each in _elements.validate_python(state.get("resources", [])):
        resource = StateResource.model_validate(each)
        text = resource.model_dump_json(by_alias=True).encode()
        every.append(text)
        whole.setdefault(resource.address, []).append(text)
        listed.append(resource.model_dump_json(by_alias=True, exclude={"attributes", "sensitive"}).encode())
    outputs = _outputs.dump_json(_outputs.validate_python(state.get("outputs", [])), by_alias=True)
    section = b'{"resources":' + array(every) + b',"outputs":' + outputs + b"}"
    return Inventory(array(listed), whole, outputs), section


def _size(sections: Mapping[Section, Piece], inventory: Inventory | None) -> int:
    total = sum(len(piece.body) for piece in sections.values())
    if inventory is not None:
        total += len(inventory.listed) + len(inventory.outputs)
        total += sum(len(address) + len(text) for address, texts in inventory.whole.items() for text in texts)
    return total
