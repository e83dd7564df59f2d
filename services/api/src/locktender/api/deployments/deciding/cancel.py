"""The use case of `POST …/cancel`."""

import json
from uuid import UUID

import structlog

from locktender.api.deployments.reading.views import snapshot
from locktender.api.http.problems import ProblemError
from locktender.contracts.deployments.evidence import items
from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.deployments.models import FailureReason, Snapshot, Timeline
from locktender.contracts.deployments.policy import Deadlines, settled
from locktender.contracts.kernel import subjects
from locktender.contracts.kernel.errors import NotFound, Unavailable, WrongState
from locktender.contracts.kernel.faults import FaultPoints
from locktender.contracts.kernel.problems import Problem
from locktender.runtime.bus import Bus
from locktender.runtime.custody import Custodian
from locktender.storage.deployments.reads import DeploymentReads, SnapshotRow
from locktender.storage.deployments.writes import DeploymentWrites, Moved, Told
from locktender.storage.kernel.database import OutcomeUnknown

_log = structlog.stdlib.get_logger(__name__)

_TRIES = 4
"""The first look, and three more when the task moved between the look and the write."""


class CancelDeployment:
    """Stops tasks: at once where nobody holds them, by a request on the row where a runner does."""

    def __init__(
        self,
        *,
        writes: DeploymentWrites,
        reads: DeploymentReads,
        custodian: Custodian,
        deadlines: Deadlines,
        bus: Bus,
        faults: FaultPoints,
    ) -> None:
        self._writes = writes
        self._reads = reads
        self._custodian = custodian
        self._deadlines = deadlines
        self._bus = bus
        self._faults = faults

    async def __call__(self, workspace: str, task_id: UUID, by: str, trace: dict[str, str]) -> Snapshot:
        """The task once it is cancelled, or a cancel is on its row. Asking again changes nothing.

        Raises:
            NotFound: this workspace has no such task.
            ProblemError: it has ended in another way; the snapshot comes along.
            Unavailable: it moved under every try, or the database does not answer. Asking again is safe.
        """
        doubtful = False
        for _ in range(_TRIES):
            row = await self._read(workspace, task_id)
            if self._satisfied(row):
                if doubtful:
                    # It was most likely our own write that landed, and only its answer got lost.
                    await self._follow_up(task_id, row.task.status)
                return snapshot(row, self._deadlines)
            try:
                moved = await self._write(row, by, json.dumps(trace))
            except WrongState:
                continue
            except OutcomeUnknown:
                doubtful = True
                continue
            await self._faults.reach("api.after-cancel")
            await self._follow_up(task_id, moved.status)
            return snapshot(await self._read(workspace, task_id), self._deadlines)
        raise Unavailable("the task keeps moving")

    async def _read(self, workspace: str, task_id: UUID) -> SnapshotRow:
        row = await self._reads.snapshot(workspace, task_id)
        if row is None:
            raise NotFound("deployment task", task_id)
        return row

    def _satisfied(self, row: SnapshotRow) -> bool:
        match TaskStatus(row.task.status):
            case TaskStatus.QUEUED | TaskStatus.BLOCKED:
                return False
            case TaskStatus.RUNNING | TaskStatus.APPLYING:
                return row.task.cancel_requested_at is not None
            case TaskStatus.CANCELLED:
                return True
            case TaskStatus.COMPLETED | TaskStatus.FAILED:
                current = snapshot(row, self._deadlines)
                raise ProblemError(
                    Problem.NOT_CANCELLABLE,
                    f"the task is {row.task.status}; what has ended cannot be cancelled",
                    snapshot=current.model_dump_json(by_alias=True).encode(),
                )

    async def _write(self, row: SnapshotRow, by: str, trace: str) -> Moved:
        facts: dict[str, object] = {"by": by}
        if row.task.status in {TaskStatus.QUEUED, TaskStatus.BLOCKED}:
            final = settled(Timeline.model_validate_json(row.timeline), TaskStatus.CANCELLED)
            facts |= {"reason": FailureReason.CANCELLED} | items(final)
            said = f"cancelled by {by} before anything was applied"
            return await self._writes.cancel(row.task.id, by, Told(said, json.dumps(facts), "api", trace))
        told = Told(f"{by} asked to stop", json.dumps(facts), "api", trace)
        return await self._writes.request_cancel(row.task.id, by, told)

    async def _follow_up(self, task_id: UUID, status: str) -> None:
        """Forget what no run will ask for, and save the others their poll.

        The row is what counts, so nothing here may fail the cancel.
        """
        if status == TaskStatus.CANCELLED:
            self._custodian.drop(task_id)
        self._bus.poke("outbox")
        try:
            await self._bus.publish(subjects.cancel(task_id), b"")
        except Unavailable as error:
            _log.warning("a cancel was recorded and could not be told", task=str(task_id), reason=str(error))
