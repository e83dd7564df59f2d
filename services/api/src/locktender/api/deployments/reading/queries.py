"""The use cases that only look."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from locktender.api.deployments.reading import views
from locktender.api.deployments.reading.projections import Board, Shown
from locktender.api.http.paging import Cursors
from locktender.api.http.problems import ProblemError
from locktender.contracts.deployments.flow import TaskStatus
from locktender.contracts.deployments.models import EventView, Snapshot, TaskPage
from locktender.contracts.deployments.plan import Plan
from locktender.contracts.deployments.policy import Deadlines
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.kernel.problems import Problem
from locktender.storage.deployments.projections import ProjectionReads
from locktender.storage.deployments.reads import DeploymentReads, Position


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


class ProjectionQueries:
    """Looks at the tasks of a project as its canvas and its dock show them.

    `grace_seconds`: how long a canvas goes on to show a completed task.
    """

    def __init__(self, reads: ProjectionReads, grace_seconds: float) -> None:
        self._reads = reads
        self._grace = timedelta(seconds=grace_seconds)

    async def board(self, project: tuple[str, str]) -> Board:
        """The newest tasks of a project, given as workspace and name; at most 100."""
        return Board(await self._reads.newest(*project), self._grace)

    async def shown(self, task: tuple[str, UUID]) -> Shown | None:
        """One task, given as workspace and id; None when the workspace has no such task."""
        row = await self._reads.one(*task)
        return None if row is None else Shown(row, self._grace)
