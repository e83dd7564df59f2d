"""A task in the list of its project: what a canvas and a dock show of it. JSON is camelCase."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from locktender.contracts.deployments.canvas import Canvas
from locktender.contracts.deployments.cards import CardStatus
from locktender.contracts.deployments.flow import TaskPhase, TaskStatus
from locktender.contracts.deployments.presentation import Action, DisplayState
from locktender.contracts.deployments.wire import ObjectRef, Wire


class Display(Wire):
    """A task in a few words. Each summary has at most 48 characters."""

    source_kind: Literal["manifests", "template", "noop"]
    source_summary: str
    result_summary: str | None = Field(description="What came of it. Null until there is something.")


class ResultResource(Wire):
    """An object that the run has applied, and how it is."""

    ref: ObjectRef
    status: CardStatus


class Projection(Wire):
    """A task in the list of its project, which is also what a canvas and a dock show of it."""

    id: UUID
    workspace: str
    project: str
    display_name: str
    display: Display
    status: TaskStatus
    phase: TaskPhase
    presentation: DisplayState = Field(description="The row of the presentation table that this task is shown by.")
    actions: tuple[Action, ...] = Field(description="What can be done to it as it stands.")
    revision: int
    predecessor_id: UUID | None
    superseded_by: UUID | None = Field(description="The newest task that was deployed in place of this one.")
    cancel_requested_at: datetime | None
    ready: int
    total: int
    resources: tuple[ResultResource, ...] = Field(description="What was applied so far: at most 100 objects.")
    canvas: Canvas | None = Field(description="Where the canvas shows it. Null: nobody has placed it.")
    visible: bool = Field(
        description="Whether a canvas shows it by itself: while it is active, and for a while after it completed with "
        "something to show. Docks list every task."
    )
    visible_until: datetime | None = Field(description="When a completed task leaves the canvas.")
    completed_at: datetime | None
    created_at: datetime
    updated_at: datetime


class ProjectionList(Wire):
    """The newest tasks of a project, newest first, at most 100."""

    projections: tuple[Projection, ...]
