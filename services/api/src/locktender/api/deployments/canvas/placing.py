"""The use case of `PATCH …/canvas-projection`."""

import json
from uuid import UUID

from locktender.api.deployments.reading.queries import DeploymentQueries, ProjectionQueries
from locktender.api.http.body import pointer
from locktender.api.http.faults import validated
from locktender.api.http.problems import ProblemError
from locktender.contracts.deployments.canvas import Canvas, PlaceCanvas, canvas_faults
from locktender.contracts.deployments.flow import PLACE
from locktender.contracts.deployments.projection import Projection
from locktender.contracts.kernel.errors import Finding, NotFound, Rejected, Unavailable, WrongState
from locktender.contracts.kernel.problems import Problem
from locktender.runtime.bus import Bus
from locktender.storage.deployments.writes import DeploymentWrites, Told
from locktender.storage.kernel.database import OutcomeUnknown

_TRIES = 4
_FINDINGS = 50


class PlaceOnCanvas:
    """Keeps where a canvas shows a task, for as long as the task is active.

    A canvas is taken whole. Of two that arrive at once, one comes first and the other replaces it; with `set-if-empty`
    the first one stays.
    """

    def __init__(
        self, *, writes: DeploymentWrites, queries: DeploymentQueries, projections: ProjectionQueries, bus: Bus
    ) -> None:
        self._writes = writes
        self._queries = queries
        self._projections = projections
        self._bus = bus

    async def __call__(
        self, workspace: str, task_id: UUID, document: dict[str, object], by: str, trace: dict[str, str]
    ) -> Projection:
        """The task with the canvas that it has now. Asking again for what is there changes nothing.

        Raises:
            Rejected: with the faults of the request.
            NotFound: this workspace has no such task.
            ProblemError: it has ended; the snapshot comes along.
            Unavailable: it moved under every try, or the database does not answer. Asking again is safe.
        """
        request = _read(document)
        for _ in range(_TRIES):
            current = await self._read(workspace, task_id)
            if current.status not in PLACE.sources:
                await self._refuse(workspace, task_id)
            if _satisfied(current.canvas, request):
                return current
            told = _told(request.canvas, by, trace)
            try:
                await self._write(task_id, told, request)
            except (WrongState, OutcomeUnknown):
                continue
            self._bus.poke("outbox")
            return await self._read(workspace, task_id)
        raise Unavailable("the task keeps moving")

    async def _read(self, workspace: str, task_id: UUID) -> Projection:
        found = await self._projections.shown((workspace, task_id))
        if found is None:
            raise NotFound("deployment task", task_id)
        return found.projection

    async def _refuse(self, workspace: str, task_id: UUID) -> None:
        snapshot = await self._queries.snapshot(workspace, task_id)
        raise ProblemError(
            Problem.NOT_PLACEABLE,
            f"the task is {snapshot.task.status}; what has ended is not placed on a canvas any more",
            snapshot=snapshot.model_dump_json(by_alias=True).encode(),
        )

    async def _write(self, task_id: UUID, told: Told, request: PlaceCanvas) -> None:
        # An empty canvas is stored as none, so that both are empty to `set-if-empty`.
        text = None if request.canvas.empty else request.canvas.model_dump_json(by_alias=True, exclude_none=True)
        await self._writes.place(task_id, told, canvas=text, only_if_empty=request.mode == "set-if-empty")


def _satisfied(there: Canvas | None, request: PlaceCanvas) -> bool:
    if request.mode == "set-if-empty" and there is not None:
        return True
    return (there or Canvas()) == request.canvas


def _read(document: dict[str, object]) -> PlaceCanvas:
    request, findings = validated(PlaceCanvas, document, tagged=())
    if request is not None and not findings:
        findings = [
            Finding(pointer("canvas", *each.path), each.message, each.code) for each in canvas_faults(request.canvas)
        ]
    if request is None or findings:
        raise Rejected(findings[:_FINDINGS])
    return request


def _told(canvas: Canvas, by: str, trace: dict[str, str]) -> Told:
    facts = {"by": by, "slots": len(canvas.slots), "results": len(canvas.result_mappings)}
    verb = "took the task off the canvas" if canvas.empty else "placed the task on the canvas"
    return Told(f"{by} {verb}", json.dumps(facts), actor="api", trace=json.dumps(trace))
