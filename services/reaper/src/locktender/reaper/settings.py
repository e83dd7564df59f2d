"""What the reaper is told from outside."""

from pydantic import Field

from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.runtime.settings import ProcessSettings


class ReaperSettings(ProcessSettings):
    """The settings of the reaper.

    Attributes:
        deadlines: how long each wait may take; the same values as in the other services.
        stacks: the same for the work of stacks.
        reaper_sweep_seconds: pause between two passes. A verdict comes at most this long after its deadline, and a
            lost hint at most this long after `deadlines.hint`.
        reaper_batch: most rows that one statement moves.
        reaper_forget_seconds: how long a finished cleanup job is remembered.
        reaper_reconcile_seconds: pause between two comparisons of what is derived of stacks with what it is derived
            from.
    """

    deadlines: Deadlines = Deadlines()
    stacks: StackDeadlines = StackDeadlines()
    reaper_sweep_seconds: float = Field(default=4.0, gt=0)
    reaper_batch: int = Field(default=200, ge=1, le=10_000)
    reaper_forget_seconds: float = Field(default=7 * 86_400.0, gt=0)
    reaper_reconcile_seconds: float = Field(default=60.0, gt=0)
