"""What the runner is told from outside."""

from pydantic import Field

from locktender.contracts.deployments.policy import Deadlines
from locktender.runtime.settings import ProcessSettings


class RunnerSettings(ProcessSettings):
    """Settings of the runner service.

    Attributes:
        deadlines: how long each wait may take; the blocks `run` and `readiness` are the runner's.
        slots: deployments carried out at once.
        noop_runner: also take tasks that do nothing. For benchmarks.
        noop_slots: of those at once.
        custody_seconds: how long a claimed run asks for its credentials.
        apply_seconds: how long one document is tried against a cluster that is busy or away.
        database_connections: besides the one that renews leases.
    """

    deadlines: Deadlines = Deadlines()
    slots: int = Field(default=64, ge=1)
    noop_runner: bool = False
    noop_slots: int = Field(default=1024, ge=1)
    custody_seconds: float = Field(default=15.0, gt=0)
    apply_seconds: float = Field(default=60.0, gt=0)
    database_connections: int = Field(default=4, ge=1)
