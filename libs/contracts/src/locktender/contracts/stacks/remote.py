"""What remote runners say to the API before they hold a run. Afterwards they speak the protocol in `wire`."""

from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from locktender.contracts.stacks.models import Labels, Name
from locktender.contracts.stacks.wire import RunWire

RunnerName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class _Asked(RunWire):
    model_config = ConfigDict(
        defer_build=True, alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )


class PollRuns(_Asked):
    """A runner asks whether its group has a run for it."""

    name: RunnerName = Field(description="The runner, for people.")
    group: Name | None = Field(default=None, description="The group that it means; the token of another is refused.")
    labels: Labels = Field(default=(), description="What it can do besides what its group can.")


class AcceptRun(_Asked):
    """A runner takes over the run that was promised to it."""

    runner_id: UUID


class DispatchFailed(_Asked):
    """Whatever starts the runners of a group could not start one."""

    runner_id: UUID
    reason: str = Field(min_length=1, max_length=1500, description="For the person who reads the deployment.")
