"""Where a project's canvas shows a task: places for what it will make, and what was made in the end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from locktender.contracts.deployments.wire import Wire

SLOTS, EDGES, MAPPINGS = 200, 400, 400


class CanvasRef(Wire):
    """A Kubernetes object, or what will become one."""

    api_version: str | None = Field(default=None, min_length=1, max_length=317)
    kind: str = Field(min_length=1, max_length=63)
    namespace: str | None = Field(default=None, min_length=1, max_length=63)
    name: str = Field(min_length=1, max_length=253)


class Slot(Wire):
    """A place on the canvas."""

    id: str = Field(min_length=1, max_length=100, description="Unique in the canvas.")
    anchor: str | None = Field(default=None, max_length=200, description="What the place is tied to; the client's own.")
    expected_ref: CanvasRef | None = Field(default=None, description="What is expected to appear here.")


class Edge(Wire):
    """A line from one place to another."""

    source_slot_id: str = Field(min_length=1, max_length=100)
    target_slot_id: str = Field(min_length=1, max_length=100)
    evidence: str | None = Field(default=None, max_length=500, description="Why they belong together.")


class ResultMapping(Wire):
    """What appeared at a place."""

    slot_id: str = Field(min_length=1, max_length=100)
    actual_ref: CanvasRef


class Canvas(Wire):
    """Places, lines and results. Every line and every result names a place of the same canvas."""

    slots: tuple[Slot, ...] = Field(default=(), max_length=SLOTS)
    edges: tuple[Edge, ...] = Field(default=(), max_length=EDGES)
    result_mappings: tuple[ResultMapping, ...] = Field(default=(), max_length=MAPPINGS)

    @property
    def empty(self) -> bool:
        """Whether it shows nothing."""
        return not (self.slots or self.edges or self.result_mappings)


class PlaceCanvas(Wire):
    """A request to show a task on the canvas. The canvas is taken whole; two are never merged."""

    mode: Literal["replace", "set-if-empty"] = Field(
        description="`replace`: whatever was there. `set-if-empty`: only where nothing is; otherwise nothing changes."
    )
    canvas: Canvas


@dataclass(frozen=True, slots=True)
class CanvasFault:
    """Why a canvas cannot be taken. `path` leads to the member, from the canvas on."""

    path: tuple[str | int, ...]
    message: str
    code: Literal["duplicate-slot", "unknown-slot"]


def canvas_faults(canvas: Canvas) -> Iterator[CanvasFault]:
    """Slots whose id was used before, and lines and results that name no slot. Nothing for a sound canvas."""
    known: set[str] = set()
    for place, slot in enumerate(canvas.slots):
        if slot.id in known:
            yield CanvasFault(("slots", place, "id"), "this id is taken by an earlier slot", "duplicate-slot")
        known.add(slot.id)
    for place, edge in enumerate(canvas.edges):
        for member, named in (("sourceSlotId", edge.source_slot_id), ("targetSlotId", edge.target_slot_id)):
            if named not in known:
                yield _unknown("edges", place, member)
    for place, mapping in enumerate(canvas.result_mappings):
        if mapping.slot_id not in known:
            yield _unknown("resultMappings", place, "slotId")


def _unknown(*path: str | int) -> CanvasFault:
    return CanvasFault(path, "there is no slot with this id in the canvas", "unknown-slot")
