"""What runs leave: plan files, logs, analyses. Objects first, and then the note that they are gone."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import structlog

from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.faults import FaultPoints
from locktender.integrations.objects.places import Family, RunPlace
from locktender.integrations.objects.remover import ObjectRemover
from locktender.storage.stacks.retention import FIRST_RUN, DueRun, Leaving, RunCursor, StackRetention

_log = structlog.stdlib.get_logger(__name__)

_FAMILIES: Final = {Leaving.PLAN: (Family.WORK,), Leaving.RECORD: (Family.LOG, Family.RECORD)}
_MOST_FAILURES = 3
"""Runs in a row whose files cannot be removed, after which it is the store that is in trouble."""


class RunFiles:
    """Removes one kind of what runs leave, a page of runs a step.

    The note on the row is made after the store has listed nothing any more. A crash before leaves rows without it,
    whose files are then removed once more, which does no harm.

    Args:
        age: seconds since the end of the deployment.
        limit: runs of one step.
    """

    def __init__(
        self,
        what: Leaving,
        retention: StackRetention,
        remover: ObjectRemover,
        faults: FaultPoints,
        *,
        age: float,
        limit: int,
    ) -> None:
        self.name = what.name.lower()
        self.removed = 0
        """Objects that were removed by this process."""
        self._what = what
        self._retention = retention
        self._remover = remover
        self._faults = faults
        self._age = age
        self._limit = limit
        self._after: RunCursor = FIRST_RUN

    async def step(self) -> bool:
        """Deal with the next page. True: it was the last one.

        Raises:
            Unavailable: the record or the store does not answer. What was removed until then is noted.
        """
        page = await self._retention.runs(self._what, age=self._age, after=self._after, limit=self._limit)
        gone, trouble = await self._remove_all(page.due)
        await self._faults.reach("cleanup.after-objects")
        if gone:
            await self._retention.mark(self._what, gone)
            await self._faults.reach("cleanup.after-mark")
        if trouble is not None:
            raise trouble
        self._after = page.after or FIRST_RUN
        return page.after is None

    async def _remove_all(self, runs: Sequence[DueRun]) -> tuple[list[UUID], Unavailable | None]:
        """The runs whose files are gone, and why it ended early, if it did."""
        gone: list[UUID] = []
        failures = 0
        for run in runs:
            await self._faults.reach("cleanup.before-objects")
            try:
                await self._remove(run)
            except Unavailable as error:
                failures += 1
                _log.warning("files of a run could not be removed", run=str(run.id), reason=str(error))
                if failures >= _MOST_FAILURES:
                    return gone, error
            else:
                failures = 0
                gone.append(run.id)
        return gone, None

    async def _remove(self, run: DueRun) -> None:
        place, removed = RunPlace(run.workspace, run.stack_id, run.id), 0
        for family in _FAMILIES[self._what]:
            removed += await self._remover.delete_folder(place.folder(family))
        self.removed += removed
        if removed:
            _log.info(
                "files of a run were removed", what=self.name, run=str(run.id), stack=str(run.stack_id), objects=removed
            )
