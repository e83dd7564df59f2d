"""The use cases that only look."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from locktender.api.deployments import views
from locktender.api.http.paging import Cursors
from locktender.api.http.problems import ProblemError
from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.deployments.models import EventView, Projection, Snapshot, TaskPage, Timeline
from locktender.contracts.deployments.plan import Plan
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.problems import Problem
from locktender.storage.deployments.reads import DeploymentReads, Position

PROJECTIONS = 100


@dataclass(frozen=True, slots=True)
class Listing:
    """Which tasks to list."""

    workspace: str
    statuses: tuple[TaskStatus, ...]
    project: str | None
    limit: int
    cursor: str | None

    def identity(self) -> Sequence[str]:
        """What a cursor is bound to."""
        return (self.workspace, self.project or "", *sorted(self.statuses))


class DeploymentQueries:
    """Looks at the tasks of a workspace."""

    def __init__(self, reads: DeploymentReads, cursors: Cursors, deadlines: Deadlines) -> None:
        self._reads = reads
        self._cursors = cursors
        self._deadlines = deadlines

    async def find(self, workspace: str, task_id: UUID) -> Snapshot | None:
        """The task; None when this workspace has no such task."""
        row = await self._reads.snapshot(workspace, task_id)
        return None if row is None else views.snapshot(row, self._deadlines)

    async def snapshot(self, workspace: str, task_id: UUID) -> Snapshot:
        """The task.

        Raises:
            NotFound: this workspace has no such task.
        """
        found = await self.find(workspace, task_id)
        if found is None:
            raise NotFound("deployment task", task_id)
        return found

    async def plan(self, workspace: str, task_id: UUID) -> Plan:
        """What the task's latest run was going to do.

        Raises:
            NotFound: this workspace has no such task.
            ProblemError: the task has no plan.
        """
        text = await self._reads.plan(workspace, task_id)
        if text is None:
            await self.snapshot(workspace, task_id)
            detail = "this task has no plan; one is recorded when a run has asked the cluster"
            raise ProblemError(Problem.NOT_FOUND, detail)
        return Plan.model_validate_json(text)

    async def page(self, listing: Listing) -> TaskPage:
        """Tasks, newest first. Going on with the cursor neither skips nor repeats a task, whatever is added.

        Raises:
            ProblemError: the cursor is not one of this list.
        """
        after = None if listing.cursor is None else self._cursors.read(listing.cursor, listing.identity())
        rows = await self._reads.page(
            listing.workspace,
            statuses=listing.statuses or tuple(TaskStatus),
            limit=listing.limit + 1,
            project=listing.project,
            after=after,
        )
        shown = rows[: listing.limit]
        cursor = None
        if len(rows) > len(shown):
            cursor = self._cursors.make(Position(shown[-1].created_at, shown[-1].id), listing.identity())
        return TaskPage(tasks=tuple(views.task_view(row, self._deadlines) for row in shown), next_cursor=cursor)

    async def events(self, workspace: str, task_id: UUID, *, after: int, limit: int) -> tuple[EventView, ...]:
        """Events above a revision, oldest first.

        Raises:
            NotFound: this workspace has no such task.
        """
        rows = await self._reads.events(workspace, task_id, after=after, limit=limit)
        if not rows:
            await self.snapshot(workspace, task_id)
        return views.events(rows)

    async def projections(self, workspace: str, project: str) -> list[Projection]:
        """The newest tasks of a project, at most 100."""
        rows = await self._reads.projections(workspace, project, PROJECTIONS)
        return [views.projection(row.task, Timeline.model_validate_json(row.timeline)) for row in rows]
