"""What is shown of the pools of remote runners."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from locktender.contracts.stacks.models import StackWire
from locktender.contracts.stacks.wire import RunFailure


class RunnerView(StackWire):
    """A remote runner."""

    id: UUID
    name: str
    status: str = Field(description="`not-ready`: a run was promised to it, which it has not taken over. `ready`.")
    run_id: UUID | None
    last_seen_at: datetime
    created_at: datetime


class RunnerGroupView(StackWire):
    """A pool of remote runners."""

    id: UUID
    name: str
    labels: tuple[str, ...]
    capacity: int
    runners: tuple[RunnerView, ...]
    last_dispatch_error: RunFailure | None
    old_token_until: datetime | None = Field(
        description="Until when the token before the present one is valid too; null: it is not."
    )
    created_by: str
    created_at: datetime
    updated_at: datetime


class RunnerGroupList(StackWire):
    """All of a workspace, by name."""

    groups: tuple[RunnerGroupView, ...]


class RunnerGroupMade(StackWire):
    """A pool and its token, which is told this once."""

    group: RunnerGroupView
    token: str
