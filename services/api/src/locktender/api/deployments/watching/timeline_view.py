"""What the stream of one task shows."""

import json
import math
from uuid import UUID

from locktender.api.events.feeds import News
from locktender.api.flights import Flights
from locktender.api.http.sse import HEARTBEAT, RESYNC, frame
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK
from locktender.contracts.deployments.models import Snapshot

TaskFlights = Flights[tuple[str, UUID], Snapshot | None]


class TimelineView:
    """A snapshot, and a new one whenever the task has moved on. `last`: the revision that the reader knows."""

    due = math.inf

    def __init__(self, flights: TaskFlights, workspace: str, task_id: UUID, last: int | None) -> None:
        self._flights = flights
        self._key = (workspace, task_id)
        self._told = last
        self._began = False
        self.over = False

    async def look(self, news: News, *, fresh: bool) -> list[bytes]:
        """The frames that bring the reader up to date."""
        del news
        snapshot = await self._flights.read(self._key)
        if snapshot is None:
            self.over = True
            return [frame("removed", json.dumps({"id": str(self._key[1])}))]
        frames = self._told_of(snapshot, fresh=fresh)
        self._began = True
        if snapshot.task.status in DEPLOYMENT_TASK.terminal:
            self.over = True
            frames.append(frame("end", json.dumps({"status": snapshot.task.status})))
        return frames

    def heartbeat(self) -> bytes:
        """A sign of life."""
        return HEARTBEAT

    def agrees(self, mark: int | None) -> bool:
        """Whether this revision was told; None is a task that is gone."""
        return not self._began or (mark is not None and self._told is not None and mark <= self._told)

    def _told_of(self, snapshot: Snapshot, *, fresh: bool) -> list[bytes]:
        revision = snapshot.task.revision
        if fresh:
            # A reader that comes back with the present revision is spared the snapshot.
            if not self._began and self._told == revision:
                return []
            frames = [RESYNC] if self._began else []
            name = "snapshot"
        else:
            if self._told is not None and revision <= self._told:
                return []
            frames, name = [], "update"
        self._told = revision
        return [*frames, frame(name, snapshot.model_dump_json(by_alias=True), revision)]
