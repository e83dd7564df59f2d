"""How long each wait of a stack's work may take. The settings block `stacks` of the API, the reaper and the runner."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class StackDeadlines(BaseModel):
    """Seconds, where nothing else is said. The same values belong in every service.

    A waiting confirmation and a place in the queue have no deadline here: those are the stack's own policy.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    assignment: float = Field(default=300.0, gt=0, description="from the promise of a run to a runner to its accept")
    max_assignment_attempts: int = Field(default=5, ge=1, description="promises that may lapse before a run is ended")
    startup: float = Field(default=48 * 3600.0, gt=0, description="from the first wait for a runner to an accept")
    execution: float = Field(default=3600.0, gt=0, description="silence of a remote runner; its lease lives this long")
    hint: float = Field(default=10.0, gt=0, description="from one command for a waiting run to the next")
    run_ttl: float = Field(default=3600.0, gt=0, description="from the accept until the tool is killed")
    run_grace: float = Field(default=600.0, gt=0, description="of that, from being asked to stop until the kill")

    @model_validator(mode="after")
    def _grace_leaves_time_to_work(self) -> Self:
        if self.run_grace > self.run_ttl / 2:
            raise ValueError("run_grace must be at most half of run_ttl")
        return self

    @property
    def run_deadline(self) -> float:
        """From the accept until the tool is asked to stop."""
        return self.run_ttl - self.run_grace
