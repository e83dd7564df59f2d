"""The use cases that skip many deployments at once."""

from collections.abc import Sequence
from uuid import UUID

from pydantic import Field

from locktender.api.stacks.deciding.admission import Admitted
from locktender.api.stacks.deciding.audit import audit_bulk
from locktender.api.stacks.deciding.decisions import TellEnded
from locktender.contracts.stacks.models import StackWire
from locktender.runtime.bus import Bus
from locktender.storage.kernel.database import Database, Transaction
from locktender.storage.stacks.clear import cancel_pending
from locktender.storage.stacks.logs import ended_runs
from locktender.storage.stacks.skip import Skipped, skip_all


class BulkSkipped(StackWire):
    """What one press has skipped."""

    skipped: tuple[UUID, ...] = Field(description="The ids of the deployments.")
    more: bool = Field(description="Whether there was more than one press skips; ask again.")


class BulkSkips:
    """Skips what waits, of a stack or of a workspace. Asking again skips what waits by then."""

    def __init__(self, *, database: Database, bus: Bus, tell_ended: TellEnded) -> None:
        self._database = database
        self._bus = bus
        self._tell_ended = tell_ended

    async def of_stack(self, admitted: Admitted, trace: dict[str, str]) -> BulkSkipped:
        """All of a stack that can be skipped. Those that only look are left alone.

        Raises:
            NotFound: there is no such stack any more.
            Unavailable: the outcome is not known; asking again is safe.
        """

        async def work(tx: Transaction) -> Skipped:
            return await skip_all(tx, admitted.stack_id, admitted.by.name, trace)

        ended = await self._database.transact(work)
        return await self._told(ended, "skipped_all", admitted.by.name, admitted.workspace, admitted.stack)

    async def of_queue(self, workspace: str, patterns: Sequence[str], by: str, trace: dict[str, str]) -> BulkSkipped:
        """All of the projects that `patterns` name which waits for a runner at this moment.

        Each stack is a transaction of its own: what was skipped before a failure stays skipped.

        Raises:
            Unavailable: it stopped halfway; asking again is safe.
        """
        ended = await cancel_pending(self._database, workspace, patterns, by, trace)
        return await self._told(ended, "queue_cleared", by, workspace, None)

    async def _told(self, ended: Skipped, kind: str, by: str, workspace: str, stack: str | None) -> BulkSkipped:
        if ended.deployments:
            self._bus.poke("outbox")
            audit_bulk(kind, actor=by, workspace=workspace, stack=stack, deployments=ended.deployments)
            for run_id in await ended_runs(self._database, ended.deployments):
                await self._tell_ended(run_id)
        return BulkSkipped(skipped=ended.deployments, more=ended.more)
