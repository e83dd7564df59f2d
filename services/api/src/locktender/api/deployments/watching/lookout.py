"""One shared look for all streams of the process, by which a change whose event was lost is noticed all the same."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Generic, Protocol, TypeVar
from uuid import UUID

import structlog

from locktender.api.events.fanout import Fanout
from locktender.api.events.feeds import Feed
from locktender.contracts.kernel.clock import Clock
from locktender.storage.deployments.projections import ProjectionReads, ProjectMark

_log = structlog.stdlib.get_logger(__name__)

CALM_SECONDS = 4.0
"""From one look to the next while events arrive; then a look finds something only where one was lost."""
LOST_SECONDS = 2.0
"""The same while no events arrive, and the looks are all there is."""
_AT_ONCE = 500

K = TypeVar("K")
M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)


class Watcher(Protocol[M_contra]):
    """What a stream has told, as far as a mark can say."""

    def agrees(self, mark: M_contra) -> bool:
        """Whether the reader was told what the mark says. False brings a look at everything. Must not block."""
        ...


class _Register(Generic[K, M]):
    def __init__(self) -> None:
        self._watchers: dict[K, dict[Feed, Watcher[M]]] = {}

    @contextmanager
    def watching(self, key: K, feed: Feed, watcher: Watcher[M]) -> Generator[None]:
        self._watchers.setdefault(key, {})[feed] = watcher
        try:
            yield
        finally:
            watchers = self._watchers[key]
            del watchers[feed]
            if not watchers:
                del self._watchers[key]

    def keys(self) -> list[K]:
        return list(self._watchers)

    def compare(self, key: K, mark: M) -> None:
        for feed, watcher in self._watchers.get(key, {}).items():
            if not watcher.agrees(mark):
                feed.look_at_everything()

    def feeds(self) -> Iterator[Feed]:
        return chain.from_iterable(self._watchers.values())


class Lookout:
    """Compares what streams have told with the record, every few seconds, for all of them at once.

    A process without streams asks nothing. Several hundred streams cost one or two statements a look.
    """

    def __init__(self, reads: ProjectionReads, fanout: Fanout, clock: Clock) -> None:
        self._reads = reads
        self._fanout = fanout
        self._clock = clock
        self.tasks: _Register[UUID, int | None] = _Register()
        """Streams of single tasks; the mark is the task's revision, None once the task is gone."""
        self.projects: _Register[tuple[str, str], ProjectMark] = _Register()
        """Streams of projects, by workspace and name."""

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self._clock.sleep(CALM_SECONDS if self._fanout.connected else LOST_SECONDS)
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - the streams say it, and the next look may succeed
                _log.warning("the record could not be looked at for the streams", reason=str(error))
                # Each stream now finds out by itself, and tells its reader.
                for feed in chain(self.tasks.feeds(), self.projects.feeds()):
                    feed.look_at_everything()

    async def _look(self) -> None:
        for ids in _divided(self.tasks.keys()):
            revisions = await self._reads.revisions(ids)
            for task_id in ids:
                self.tasks.compare(task_id, revisions.get(task_id))
        for projects in _divided(self.projects.keys()):
            for project, mark in (await self._reads.marks(projects)).items():
                self.projects.compare(project, mark)


def _divided(keys: list[K]) -> Iterable[list[K]]:
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))
