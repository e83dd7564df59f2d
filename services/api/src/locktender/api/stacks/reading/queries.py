"""The use cases that only look at deployments of stacks."""

from collections.abc import Sequence
from dataclasses import dataclass

from locktender.api.http.paging import Cursors
from locktender.api.stacks.reading import trail, views
from locktender.api.stacks.reading.queue_view import queue_view
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.stacks.flow import DeploymentStatus
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.queue import QueueView
from locktender.contracts.stacks.views import ActivityTrail, DeploymentPage, DeploymentView
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.storage.deployments.reads import Position
from locktender.storage.kernel.database import Database, Row
from locktender.storage.stacks import activity, queue
from locktender.storage.stacks.reads import Place, StackReads


@dataclass(frozen=True, slots=True)
class DeploymentListing:
    """Which deployments of a stack to list. No status, no mode: all of them."""

    workspace: str
    stack: str
    statuses: tuple[DeploymentStatus, ...]
    modes: tuple[DeploymentMode, ...]
    limit: int
    cursor: str | None


class DeploymentReading:
    """Looks at the deployments of the stacks of a workspace, and at what waits in it."""

    def __init__(self, database: Database, cursors: Cursors, deadlines: StackDeadlines) -> None:
        self._database = database
        self._reads = StackReads(database)
        self._cursors = cursors
        self._deadlines = deadlines

    async def one(self, workspace: str, stack: str, number: int) -> DeploymentView:
        """A deployment with its steps and runs, read at one moment.

        Raises:
            NotFound: this workspace has no such stack, or it no such deployment.
        """
        return views.deployment_view(await self._row(workspace, stack, number), self._deadlines)

    async def page(self, listing: DeploymentListing) -> DeploymentPage:
        """Deployments, newest first. Going on with the cursor neither skips nor repeats one.

        Raises:
            NotFound: this workspace has no such stack.
            ProblemError: the cursor is not one of this list.
        """
        stack_id = await self._reads.stack_id(listing.workspace, listing.stack)
        if stack_id is None:
            raise NotFound("stack", listing.stack)
        identity: Sequence[str] = ("deployments", str(stack_id), *sorted(listing.statuses), *sorted(listing.modes))
        after = None
        if listing.cursor is not None:
            position = self._cursors.read(listing.cursor, identity)
            after = Place(position.created_at, position.id)
        rows = await self._reads.deployments(
            stack_id,
            statuses=listing.statuses or tuple(DeploymentStatus),
            modes=listing.modes or tuple(DeploymentMode),
            limit=listing.limit + 1,
            after=after,
        )
        shown, cursor = rows[: listing.limit], None
        if len(rows) > len(shown):
            cursor = self._cursors.make(Position(shown[-1]["created_at"], shown[-1]["id"]), identity)
        return DeploymentPage(deployments=tuple(views.entry(row, self._deadlines) for row in shown), next_cursor=cursor)

    async def activity(self, workspace: str, stack: str, number: int) -> ActivityTrail:
        """Who did what, and how it ended.

        Raises:
            NotFound: this workspace has no such stack, or it no such deployment.
        """
        row = await self._row(workspace, stack, number)
        acts = await activity.trail(self._database, row["id"])
        return ActivityTrail(entries=trail.entries(acts, views.entry(row, self._deadlines)))

    async def queue(self, workspace: str, *, limit: int) -> QueueView:
        """What waits, at most `limit` of it."""
        rows = await queue.waiting(self._database, workspace, limit=limit + 1)
        return queue_view(rows, await queue.load(self._database, workspace), limit)

    async def _row(self, workspace: str, stack: str, number: int) -> Row:
        row = await self._reads.deployment(workspace, stack, number)
        if row is None:
            raise NotFound("deployment", number)
        return row
