"""What an executor is, and all that it sees of the run it works for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from locktender.contracts.deployments.flow import TaskPhase
from locktender.contracts.deployments.inputs import Asked
from locktender.contracts.deployments.models import Card, FailureReason, Identity, Step, Timeline
from locktender.contracts.deployments.plan import Plan
from locktender.contracts.kernel.errors import LocktenderError
from locktender.contracts.kernel.lease import Epoch
from locktender.integrations.kube.access import ClusterAccess
from locktender.integrations.kube.json_value import JsonObject
from locktender.runtime.abort import Abort


class Superseded(LocktenderError):
    """The run has its outcome, or belongs to somebody else: it may not write any more."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What custody handed over, in memory alone.

    Attributes:
        access: the cluster and the right to it.
        secrets: the whole `Secret` objects of the source, by the index of their document.
        inputs: submitted values that are not stored, by their key.
    """

    access: ClusterAccess
    secrets: Mapping[int, JsonObject] = field(default_factory=dict[int, JsonObject], repr=False)
    inputs: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done. `source` is the stored source as JSON text, with secret values withheld.

    Attributes:
        identity: what a predecessor has named; this run goes on under the same names, and removes nothing that it
            did not make.
        asked: the form that was answered, when this run goes on with submitted inputs.
    """

    task_id: UUID
    namespace: str | None
    source: str
    credentials: Credentials | None = None
    identity: Identity | None = None
    asked: Asked | None = None


class RunHandle(Protocol):
    """A run's only way to the record. Every call raises `Superseded` after the outcome or once the lease is lost.

    Writes go out one after the other, each under the lease, and are repeated for a while when the database is away;
    then they raise `Unavailable`. Text that goes through here is freed of the run's secret values first.
    """

    @property
    def epoch(self) -> Epoch:
        """The epoch under which this run acts."""
        ...

    @property
    def signal(self) -> Abort:
        """Tells when the run must end early, and why."""
        ...

    @property
    def timeline(self) -> Timeline:
        """The run as people will see it after the next write."""
        ...

    def checkpoint(self) -> None:
        """Nothing, while the run may go on. Raises `Aborted` or `Superseded`."""
        ...

    def stage(self, *changes: Card | Step) -> None:
        """Replace cards (by index) and steps (by id) in memory. The next write takes them along."""
        ...

    def expect_by(self, moment: datetime) -> None:
        """Say until when the run waits for what it waits for. The next write takes it along."""
        ...

    async def emit(self, message: str, *, phase: TaskPhase | None = None) -> None:
        """Write what is staged, with one line for people."""
        ...

    async def record_plan(self, plan: Plan) -> None:
        """Keep what the run is going to do, in place of an earlier plan, and show its numbers in the timeline.

        Written under the lease, before anything is applied. Texts in it are freed of the run's secret values.
        """
        ...

    def withhold(self, values: Iterable[str]) -> None:
        """From now on, keep these values, too, out of everything that is written or logged."""
        ...

    async def request_inputs(self, asked: Asked) -> None:
        """End this run, and wait for a person: the task is blocked until somebody submits what is asked, or cancels.

        Only before `begin_applying` and without an identity of its own making: a parked task has named nothing. If a
        cancel was asked for first, the run ends as cancelled instead.
        """
        ...

    async def allocate(self, identity: Identity, message: str) -> None:
        """Keep what the run has named. Before anything is applied under that name."""
        ...

    async def clean_up(self, message: str) -> None:
        """Say that what this run has made is now removed, because applying failed half-way."""
        ...

    async def begin_applying(self, message: str = "applying begins") -> None:
        """From here on the cluster may change."""
        ...

    async def complete(self, message: str) -> None:
        """All is done and ready. If a cancel was asked for first, the run ends as cancelled instead."""
        ...

    async def fail(self, reason: FailureReason, stage: str, message: str, detail: str | None = None) -> None:
        """It did not work. If a cancel was asked for first, the run ends as cancelled instead."""
        ...


class Executor(Protocol):
    """One way of carrying out a task."""

    async def run(self, handle: RunHandle, work: Work) -> None:
        """Do the work and tell the outcome through `handle`.

        The body is cancelled when `handle.signal` trips; whoever called then tells the outcome. What it raises
        becomes a failure of the task.
        """
        ...
