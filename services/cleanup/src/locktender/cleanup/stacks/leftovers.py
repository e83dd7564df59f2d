"""Objects that no row stands for: of a crash between object and row, of a late writer, or of no use any more."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, assert_never
from uuid import UUID

import structlog

from locktender.contracts.kernel.faults import FaultPoints
from locktender.integrations.objects.backend import Listed
from locktender.integrations.objects.places import Family, Origin, origin_of
from locktender.integrations.objects.remover import ObjectRemover
from locktender.storage.kernel.database import Database
from locktender.storage.stacks.leftovers import runs_known, sources_needed, stacks_known, states_known

_log = structlog.stdlib.get_logger(__name__)

_YOUNG: Final = timedelta(days=1)
"""Younger objects are not judged: the row may be on its way, and clocks differ."""
_FAMILIES: Final = tuple(Family)


class Leftovers:
    """Removes what is left over, a page of the store's listing a step, family after family.

    An object is removed only if its name says whose it is, that stack is in the record, deleted or not, and the record
    does not need it. All else stays: a store that serves another database, or one that was restored from an older
    backup, loses nothing of the stacks that the record does not know.

    Args:
        now: the database's clock.
        age: seconds for which sources are kept after the end of the last deployment of them.
        limit: objects of one step.
    """

    name = "leftovers"

    def __init__(
        self,
        database: Database,
        remover: ObjectRemover,
        faults: FaultPoints,
        *,
        now: Callable[[], Awaitable[datetime]],
        age: float,
        limit: int,
    ) -> None:
        self.removed = 0
        """Objects that were removed by this process."""
        self._database = database
        self._remover = remover
        self._faults = faults
        self._now = now
        self._age = age
        self._limit = limit
        self._family = 0
        self._after = ""
        self._strange = 0

    async def step(self) -> bool:
        """Deal with the next page. True: it was the last one.

        Raises:
            Unavailable: the record or the store does not answer.
        """
        family = _FAMILIES[self._family]
        page = await self._remover.page(family, after=self._after, limit=self._limit)
        old = await self._now() - _YOUNG
        judged = [(each, origin_of(each.name)) for each in page if each.modified <= old]
        found = [(each, origin) for each, origin in judged if origin is not None]
        unneeded = await self._unneeded(family, [origin for _, origin in found])
        self._strange += len(judged) - len(found)
        for each, origin in found:
            if origin in unneeded:
                await self._faults.reach("cleanup.before-leftover")
                await self._remove(each)
        if len(page) == self._limit:
            self._after = page[-1].name
            return False
        return self._turn_the_page()

    def _turn_the_page(self) -> bool:
        """Go on with the next family. True: all were looked at."""
        self._after, self._family = "", (self._family + 1) % len(_FAMILIES)
        if self._family == 0 and self._strange:
            _log.warning("objects that the record knows nothing of were left alone", objects=self._strange)
            self._strange = 0
        return self._family == 0

    async def _unneeded(self, family: Family, origins: Sequence[Origin]) -> set[Origin]:
        if not origins:
            return set()
        known = await stacks_known(self._database, {each.stack_id for each in origins})
        ours = {each for each in origins if each.stack_id in known}
        self._strange += sum(each.stack_id not in known for each in origins)
        return ours - await self._needed(family, ours)

    async def _needed(self, family: Family, origins: set[Origin]) -> set[Origin]:
        match family:
            case Family.SOURCE:
                asked = {(each.stack_id, each.key) for each in origins}
                needed = await sources_needed(self._database, asked, age=self._age)
                return {each for each in origins if (each.stack_id, each.key) in needed}
            case Family.STATE:
                versions = await states_known(self._database, _ids(origins))
                return {each for each in origins if (each.stack_id, UUID(each.key)) in versions}
            case Family.WORK | Family.LOG | Family.RECORD:
                runs = await runs_known(self._database, _ids(origins))
                return {
                    each
                    for each in origins
                    if (run := runs.get(UUID(each.key))) is not None
                    and run.stack_id == each.stack_id
                    and (run.plan if family is Family.WORK else run.record)
                }
            case _:
                assert_never(family)

    async def _remove(self, each: Listed) -> None:
        await self._remover.delete(each.name)
        self.removed += 1
        _log.info("an object that nothing needs was removed", key=each.name, written_at=each.modified.isoformat())


def _ids(origins: set[Origin]) -> set[UUID]:
    return {UUID(each.key) for each in origins}
