"""What the stream of one project shows."""

import json
import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from locktender.api.deployments.reading.projections import Board, Shown, listed
from locktender.api.deployments.watching.positions import Position, missed
from locktender.api.events.feeds import Feed, News
from locktender.api.flights import Flights
from locktender.api.http.sse import HEARTBEAT, RESYNC, frame
from locktender.contracts.kernel.clock import Clock
from locktender.storage.deployments.projections import ProjectMark

_FEW = 10
"""Up to so many changed tasks are read one by one; more are read with the whole list."""
_SOONEST = 0.05
"""Seconds until a task whose grace ends is looked at again, at the least."""

BoardFlights = Flights[tuple[str, str], Board]
ShownFlights = Flights[tuple[str, UUID], Shown | None]


class _Told(NamedTuple):
    revision: int
    superseded_by: UUID | None
    visible: bool
    created_at: datetime


class ProjectView:
    """The newest tasks of a project, then each of them whenever it has changed, and what is no longer in the list.

    A task that was removed stays removed, whatever a read says that began before. `last`: the id that the reader
    knows; with it the stream goes on where the reader left, or says `resync` and begins anew.
    """

    def __init__(
        self, boards: BoardFlights, shown: ShownFlights, clock: Clock, feed: Feed, project: tuple[str, str], last: str
    ) -> None:
        self._boards = boards
        self._flights = shown
        self._clock = clock
        self._feed = feed
        self._key = project
        self._last = last
        self._told: dict[UUID, _Told] = {}
        self._ending: dict[UUID, float] = {}
        self._read_at: datetime | None = None
        self._sent: str | None = None
        self._began = False
        self.over = False

    @property
    def due(self) -> float:
        """When the first of the tasks shown leaves the canvas by itself, in seconds of the process's clock.

        The clock only says when to look again. Whether the task has left, the database decides.
        """
        return min(self._ending.values(), default=math.inf)

    async def look(self, news: News, *, fresh: bool) -> list[bytes]:
        """The frames that bring the reader up to date. The last of them bears the id to come back with."""
        wanted = news.changed | self._ended()
        if fresh or news.everything or len(wanted) > _FEW:
            board = await self._boards.read(self._key)
            present = [each for each in board.shown if not self._feed.is_buried(each.projection.id)]
            told = self._begun(board, present) if fresh else self._differences(present)
            # An empty list says nothing of the time; the mark of the next shared look does.
            self._read_at = board.read_at or self._read_at
        else:
            told = [self._remove(row_id) for row_id in news.gone if row_id in self._told]
            told += await self._changes(sorted(wanted))
        return self._numbered(told)

    def heartbeat(self) -> bytes:
        """A sign of life, with the id to come back with when that has moved."""
        number = self._number()
        if number is None or number == self._sent:
            return HEARTBEAT
        self._sent = number
        return f"id: {number}\n".encode() + HEARTBEAT

    def agrees(self, mark: ProjectMark) -> bool:
        """Whether the reader was told the list as the mark sees it."""
        if not self._began:
            return True
        made = [each.created_at for each in self._told.values()]
        same = (
            mark.count == len(made)
            and mark.revisions == sum(each.revision for each in self._told.values())
            and mark.oldest == min(made, default=None)
            and mark.newest == max(made, default=None)
        )
        if same:
            self._read_at = mark.read_at
        return same

    def _begun(self, board: Board, present: list[Shown]) -> list[tuple[str, str]]:
        came_back = bool(self._last) and not self._began
        known = missed(Position.parsed(self._last), board.shown, board.read_at) if came_back else None
        resync = self._began or (came_back and known is None)
        self._began = True
        self._told, self._ending = {}, {}
        for each in present:
            self._note(each)
        if known is not None:
            return [_upsert(each) for each in known]
        text = board.text if len(present) == len(board.shown) else listed(present)
        return [*([_RESYNC] if resync else []), ("snapshot", text)]

    def _differences(self, present: Sequence[Shown]) -> list[tuple[str, str]]:
        # What left the newest tasks is no longer shown, be it removed or only older than the others.
        left = self._told.keys() - {each.projection.id for each in present}
        return [self._remove(row_id) for row_id in left] + [_upsert(each) for each in present if self._is_new(each)]

    async def _changes(self, ids: Iterable[UUID]) -> list[tuple[str, str]]:
        told: list[tuple[str, str]] = []
        pending = list(ids)
        while pending:
            row_id = pending.pop(0)
            found = await self._flights.read((self._key[0], row_id))
            if found is None:
                told += [self._remove(row_id)] if row_id in self._told else []
            elif self._is_new(found):
                told.append(_upsert(found))
                pending += self._overtaken(found)
        return told

    def _overtaken(self, found: Shown) -> list[UUID]:
        """The predecessor, when the reader does not know of this successor: nothing is recorded on its own row."""
        predecessor = found.projection.predecessor_id
        known = None if predecessor is None else self._told.get(predecessor)
        if predecessor is None or known is None or known.superseded_by == found.projection.id:
            return []
        return [predecessor]

    def _is_new(self, found: Shown) -> bool:
        row_id = found.projection.id
        known = self._told.get(row_id)
        if self._feed.is_buried(row_id) or (known is not None and known.revision > found.projection.revision):
            return False
        return self._note(found) != known

    def _note(self, found: Shown) -> _Told:
        shown = found.projection
        told = self._told[shown.id] = _Told(shown.revision, shown.superseded_by, shown.visible, found.created_at)
        left = found.visible_for
        if left is None:
            self._ending.pop(shown.id, None)
        else:
            self._ending[shown.id] = self._clock.monotonic() + max(left.total_seconds(), _SOONEST)
        return told

    def _ended(self) -> frozenset[UUID]:
        now = self._clock.monotonic()
        ended = frozenset(row_id for row_id, due in self._ending.items() if due <= now)
        for row_id in ended:
            del self._ending[row_id]
        return ended

    def _remove(self, row_id: UUID) -> tuple[str, str]:
        self._told.pop(row_id, None)
        self._ending.pop(row_id, None)
        workspace, project = self._key
        return "remove", json.dumps({"workspace": workspace, "project": project, "id": str(row_id)})

    def _numbered(self, told: list[tuple[str, str]]) -> list[bytes]:
        if not told:
            return []
        frames = [RESYNC if each is _RESYNC else frame(*each) for each in told[:-1]]
        self._sent = self._number()
        return [*frames, frame(*told[-1], self._sent)]

    def _number(self) -> str | None:
        return None if self._read_at is None else str(Position.of(self._read_at, self._told))


_RESYNC = ("resync", "{}")


def _upsert(shown: Shown) -> tuple[str, str]:
    return "upsert", f'{{"projection": {shown.text}}}'
