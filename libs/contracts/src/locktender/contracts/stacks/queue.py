"""What is shown of everything that waits in a workspace."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from locktender.contracts.stacks.flow import DeploymentStatus
from locktender.contracts.stacks.models import StackWire
from locktender.contracts.stacks.views import StackBlocker
from locktender.contracts.stacks.vocabulary import DeploymentMode


class QueueLayer(StrEnum):
    """Which line something stands in."""

    LANE = "lane"
    RUNNER = "runner"


class QueueEntry(StackWire):
    """A deployment that waits."""

    stack: str
    stack_id: UUID
    deployment_id: UUID
    number: int
    mode: DeploymentMode
    status: DeploymentStatus
    layer: QueueLayer
    position: int | None = Field(
        description="In its own line: of its stack, or of its runner group. Null: it is promised to a runner, or "
        "farther away than places are counted."
    )
    reason: str = Field(description="Why it waits, in a sentence.")
    blocked_by: StackBlocker
    runner_group: str
    labels: tuple[str, ...]
    created_by: str | None
    prioritized_at: datetime | None
    prioritized_by: str | None
    created_at: datetime


class GroupLoad(StackWire):
    """How busy a runner group is with the work of this workspace."""

    name: str
    labels: tuple[str, ...]
    capacity: int | None = Field(description="Runs at once, at most. Null for the group that Locktender itself runs.")
    running: int


class QueueView(StackWire):
    """What waits in a workspace, in the order in which it is served."""

    entries: tuple[QueueEntry, ...]
    truncated: bool = Field(description="Whether more is waiting than is shown.")
    groups: tuple[GroupLoad, ...]
