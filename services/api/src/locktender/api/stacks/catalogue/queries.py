"""The use cases that only look at stacks."""

from collections.abc import Sequence
from dataclasses import dataclass

from locktender.api.http.paging import Cursors
from locktender.api.stacks.catalogue.views import stack_view
from locktender.contracts.kernel.errors import NotFound
from locktender.contracts.stacks.flow import DeploymentStatus
from locktender.contracts.stacks.views import StackPage, StackView
from locktender.storage.deployments.reads import Position
from locktender.storage.kernel.database import Database, Row
from locktender.storage.stacks.reads import NEVER, Place, StackFilter, StackReads, StackSort


@dataclass(frozen=True, slots=True)
class StackListing:
    """Which stacks to list, and in which order."""

    workspace: str
    statuses: tuple[DeploymentStatus, ...]
    project: str | None
    search: str | None
    sort: StackSort
    limit: int
    cursor: str | None

    def identity(self) -> Sequence[str]:
        """What a cursor is bound to."""
        return (
            "stacks", self.workspace, self.sort, self.project or "", self.search or "", *sorted(self.statuses),
        )  # fmt: skip


class StackQueries:
    """Looks at the stacks of a workspace."""

    def __init__(self, database: Database, cursors: Cursors) -> None:
        self._reads = StackReads(database)
        self._cursors = cursors

    async def one(self, workspace: str, name: str) -> StackView:
        """The stack.

        Raises:
            NotFound: this workspace has no such stack.
        """
        row = await self._reads.stack(workspace, name)
        if row is None:
            raise NotFound("stack", name)
        return stack_view(row)

    async def page(self, listing: StackListing) -> StackPage:
        """Stacks in their order. By name and by age, going on with the cursor neither skips nor repeats one.

        Raises:
            ProblemError: the cursor is not one of this list.
        """
        after = None
        if listing.cursor is not None:
            position = self._cursors.read(listing.cursor, listing.identity())
            after = Place(position.created_at, position.id)
        chosen = StackFilter(listing.statuses, listing.project, listing.search)
        rows = await self._reads.stacks(
            listing.workspace, chosen, listing.sort, limit=listing.limit + 1, after=after
        )  # fmt: skip
        shown, cursor = rows[: listing.limit], None
        if len(rows) > len(shown):
            cursor = self._cursors.make(_position(shown[-1], listing.sort), listing.identity())
        return StackPage(stacks=tuple(stack_view(row) for row in shown), next_cursor=cursor)


def _position(row: Row, sort: StackSort) -> Position:
    at = row["created_at"]
    if sort is StackSort.ACTIVITY:
        at = row["latest_deployment_created_at"] or NEVER
    return Position(at, row["id"])
