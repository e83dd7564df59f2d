"""The tasks before and after a task: may it be redeployed, and who was quicker."""

import json
from uuid import UUID

from locktender.api.deployments.examining.examined import Before
from locktender.api.deployments.reading.views import snapshot
from locktender.api.http.problems import ProblemError
from locktender.contracts.deployments.flow import REDEPLOYABLE, TaskStatus
from locktender.contracts.deployments.models import Snapshot
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.problems import Problem
from locktender.integrations.kube.json_value import as_object
from locktender.storage.deployments.reads import DeploymentReads


class Lineage:
    """Looks at predecessors and successors, inside of one workspace at a time."""

    def __init__(self, reads: DeploymentReads, deadlines: Deadlines) -> None:
        self._reads = reads
        self._deadlines = deadlines

    async def predecessor(self, workspace: str, task_id: UUID) -> Before:
        """A task that has failed or was cancelled.

        Raises:
            NotFound: this workspace has no such task, or not any more.
            ProblemError: it is under way, or has succeeded; its snapshot comes along.
        """
        row = await self._reads.source(workspace, task_id)
        if row is None:
            raise NotFound("deployment task", task_id)
        if row.status not in REDEPLOYABLE:
            current = await self._snapshot(workspace, task_id)
            # What has just ended can be redeployed; the source never changes.
            if current.task.status not in REDEPLOYABLE:
                raise _conflict(Problem.NOT_REDEPLOYABLE, why_not(current.task.status), current)
        return Before(row, as_object(json.loads(row.source)))

    async def refuse_second(self, workspace: str, predecessor: UUID) -> None:
        """Nothing, if nobody redeploys the task at this moment.

        Raises:
            ProblemError: somebody does; the snapshot is that of their task.
        """
        winner = await self._reads.active_successor(workspace, predecessor)
        row = None if winner is None else await self._reads.snapshot(workspace, winner)
        if row is not None:
            detail = "this task is being redeployed by another one, whose snapshot is here"
            raise _conflict(Problem.ALREADY_REDEPLOYED, detail, snapshot(row, self._deadlines))

    async def _snapshot(self, workspace: str, task_id: UUID) -> Snapshot:
        row = await self._reads.snapshot(workspace, task_id)
        if row is None:
            raise NotFound("deployment task", task_id)
        return snapshot(row, self._deadlines)


def why_not(status: str) -> str:
    """Why a task in this status cannot be redeployed."""
    if status == TaskStatus.COMPLETED:
        return "the task is completed; only one that has failed or was cancelled can be redeployed"
    return f"the task is {status}; it can be redeployed once it has failed or was cancelled"


def _conflict(problem: Problem, detail: str, current: Snapshot) -> ProblemError:
    return ProblemError(problem, detail, snapshot=current.model_dump_json(by_alias=True).encode())
