"""What runs left in the object store, decoded once and kept in memory for a while."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from uuid import UUID
from weakref import WeakValueDictionary

import structlog

from locktender.api.stacks.inventory.told import AnalysisBroken, Told, read
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.stacks.wire import ANALYSIS
from locktender.integrations.machine.threads import in_thread
from locktender.integrations.objects.errors import ObjectMissing, ObjectTooLarge, ObjectUnreadable
from locktender.integrations.objects.places import Family, RunPlace
from locktender.integrations.objects.store import ObjectStore

_log = structlog.stdlib.get_logger(__name__)

CACHE_BYTES = 128 * 1024 * 1024
_AT_ONCE = 2
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class AnalysisPlace:
    """Whose analysis it is."""

    workspace: str
    stack_id: UUID
    run_id: UUID

    @property
    def key(self) -> str:
        """The name of the object."""
        return f"{RunPlace(self.workspace, self.stack_id, self.run_id).folder(Family.RECORD)}/{ANALYSIS}"


class Analyses:
    """Analyses by run. An analysis is written once, so what is kept here never becomes untrue.

    One fetch serves every section of a run, and whoever asks while it is under way. At most two are decoded at once,
    because a large one takes many times its size for a moment.
    """

    def __init__(self, store: ObjectStore, *, most_bytes: int = CACHE_BYTES) -> None:
        self._store = store
        self._kept = _Kept(most_bytes)
        self._fetching: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def of(self, place: AnalysisPlace) -> Told | None:
        """What the run told. None: it is not there any more, or cannot be read, which the log then says.

        Raises:
            Unavailable: the store does not answer, or too many analyses are being read.
        """
        told = self._kept.get(place.run_id)
        if told is not None:
            return told
        mine = self._fetching.setdefault(place.run_id, asyncio.Lock())
        try:
            async with asyncio.timeout(_SECONDS), mine:
                told = self._kept.get(place.run_id)
                if told is not None:
                    return told
                async with self._room:
                    told = await self._read(place)
        except TimeoutError:
            raise Unavailable("the analysis could not be read in time") from None
        if told is not None:
            self._kept.put(place.run_id, told)
        return told

    async def _read(self, place: AnalysisPlace) -> Told | None:
        try:
            return await in_thread(partial(read, await self._store.get(place.key)))
        except (ObjectMissing, ObjectUnreadable, ObjectTooLarge, AnalysisBroken) as error:
            _log.warning("an analysis cannot be shown", run=str(place.run_id), reason=str(error))
            return None


class _Kept:
    """The analyses that were asked for last, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[UUID, Told] = OrderedDict()
        self._bytes = 0

    def get(self, run_id: UUID) -> Told | None:
        told = self._held.get(run_id)
        if told is not None:
            self._held.move_to_end(run_id)
        return told

    def put(self, run_id: UUID, told: Told) -> None:
        if run_id in self._held or told.size > self._most:
            return
        self._held[run_id] = told
        self._bytes += told.size
        while self._bytes > self._most:
            _, gone = self._held.popitem(last=False)
            self._bytes -= gone.size
