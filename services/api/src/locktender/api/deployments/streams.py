"""What the streams of deployments say. Each looks at the database; events only tell it when."""

import json
from collections.abc import AsyncGenerator, Callable
from typing import Protocol
from uuid import UUID

import structlog

from locktender.api.deployments.queries import DeploymentQueries
from locktender.api.deployments.views import projection
from locktender.api.events.fanout import Fanout
from locktender.api.events.feeds import EVERYTHING, News
from locktender.api.flights import Flights
from locktender.api.http.sse import HEARTBEAT, RETRY, frame
from locktender.contracts.deployments.events import CONTEXT, TaskEvent
from locktender.contracts.deployments.flow import DEPLOYMENT_TASK
from locktender.contracts.deployments.models import Projection, Snapshot
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.subjects import EVENT_SUBJECT

_log = structlog.stdlib.get_logger(__name__)

_LOOK_SECONDS = 2.0
_PACE_SECONDS = 0.05
"""The least time between two looks of one stream; what comes in meanwhile is one look."""
_FEW = 10

TaskFlights = Flights[tuple[str, UUID], Snapshot | None]


class View(Protocol):
    """What one stream shows."""

    over: bool
    """Whether nothing more will come."""

    async def look(self, news: News, *, fresh: bool) -> list[bytes]:
        """The frames that bring the reader up to date; `fresh`: whatever it was told before does not count."""
        ...


class DeploymentStreams:
    """Streams of snapshots and projections."""

    def __init__(
        self, queries: DeploymentQueries, flights: TaskFlights, fanout: Fanout, clock: Clock, heartbeat: float
    ) -> None:
        self._queries = queries
        self._flights = flights
        self._fanout = fanout
        self._clock = clock
        self._heartbeat = heartbeat

    def timeline(self, workspace: str, task_id: UUID, last: int | None) -> AsyncGenerator[bytes]:
        """`snapshot`, then `update` for every change, and `end` once the task has ended. `last`: the revision known."""
        subject = EVENT_SUBJECT.format(workspace=workspace, context=CONTEXT, aggregate=task_id, kind="*")
        return self._told(
            subject, lambda event: event.id == task_id, _Timeline(self._flights, workspace, task_id, last)
        )

    def project(self, workspace: str, project: str) -> AsyncGenerator[bytes]:
        """`snapshot` of the project's newest tasks, then `upsert` and `remove`."""
        view = _Project(self._queries, self._flights, workspace, project)
        subject = EVENT_SUBJECT.format(workspace=workspace, context=CONTEXT, aggregate="*", kind="*")
        return self._told(subject, lambda event: event.project == project, view)

    async def _told(self, subject: str, wants: Callable[[TaskEvent], bool], view: View) -> AsyncGenerator[bytes]:
        """The stream: subscribed before the first look, so that nothing falls between the two."""
        yield RETRY
        try:
            feed = await self._fanout.open(subject, wants)
        except Unavailable as error:
            yield _error(error)
            return
        try:
            lost, fresh, news = False, True, EVERYTHING
            spoke = self._clock.monotonic()
            while not feed.closed:
                frames: list[bytes] = []
                if self._fanout.connected is lost:
                    lost = not lost
                    # What was said before the events came back may have been overtaken: the reader starts afresh.
                    fresh, news = fresh or not lost, EVERYTHING
                    if lost:
                        frames.append(_DEGRADED)
                if news or lost:
                    try:
                        frames += await view.look(news or EVERYTHING, fresh=fresh)
                        fresh = False
                    except Unavailable as error:
                        frames.append(_error(error))
                        feed.look_at_everything()
                        await self._clock.sleep(1.0)
                now = self._clock.monotonic()
                if not frames and now - spoke >= self._heartbeat:
                    frames.append(HEARTBEAT)
                for each in frames:
                    yield each
                    spoke = now
                if view.over:
                    return
                await self._clock.sleep(_PACE_SECONDS)
                news = await feed.news(min(_LOOK_SECONDS, self._heartbeat))
        finally:
            self._fanout.release(subject, feed)


class _Timeline:
    def __init__(self, flights: TaskFlights, workspace: str, task_id: UUID, last: int | None) -> None:
        self._flights = flights
        self._key = (workspace, task_id)
        self._told = last
        self._known = last is not None
        self.over = False

    async def look(self, news: News, *, fresh: bool) -> list[bytes]:
        del news
        snapshot = await self._flights.read(self._key)
        if snapshot is None:
            self.over = True
            return [frame("removed", json.dumps({"id": str(self._key[1])}))]
        frames: list[bytes] = []
        revision = snapshot.task.revision
        if self._is_new(revision, fresh=fresh):
            name = "snapshot" if fresh else "update"
            frames.append(frame(name, snapshot.model_dump_json(by_alias=True), revision))
            self._told = revision
        self._known = False
        if snapshot.task.status in DEPLOYMENT_TASK.terminal:
            self.over = True
            frames.append(frame("end", json.dumps({"status": snapshot.task.status})))
        return frames

    def _is_new(self, revision: int, *, fresh: bool) -> bool:
        """A reader that comes back with the present revision is spared the snapshot; a newer one always goes out."""
        if fresh:
            return not (self._known and self._told == revision)
        return self._told is None or revision > self._told


class _Project:
    def __init__(self, queries: DeploymentQueries, flights: TaskFlights, workspace: str, project: str) -> None:
        self._queries = queries
        self._flights = flights
        self._workspace = workspace
        self._project = project
        self._told: dict[UUID, int] = {}
        self.over = False

    async def look(self, news: News, *, fresh: bool) -> list[bytes]:
        if fresh:
            return [self._snapshot(await self._queries.projections(self._workspace, self._project))]
        if news.everything or len(news.changed) > _FEW:
            return self._differences(await self._queries.projections(self._workspace, self._project), news.gone)
        frames = [self._remove(row_id) for row_id in news.gone if row_id in self._told]
        for row_id in sorted(news.changed):
            snapshot = await self._flights.read((self._workspace, row_id))
            if snapshot is not None:
                frames += self._upsert(projection_of(snapshot))
            elif row_id in self._told:
                frames.append(self._remove(row_id))
        return frames

    def _snapshot(self, projections: list[Projection]) -> bytes:
        self._told = {each.id: each.revision for each in projections}
        documents = ", ".join(each.model_dump_json(by_alias=True) for each in projections)
        return frame("snapshot", f'{{"projections": [{documents}]}}')

    def _differences(self, projections: list[Projection], gone: frozenset[UUID]) -> list[bytes]:
        present = {each.id for each in projections}
        # What left the newest tasks is no longer shown, be it removed or only older than the others.
        frames = [self._remove(row_id) for row_id in [*self._told] if row_id in gone or row_id not in present]
        return frames + [each for found in projections for each in self._upsert(found)]

    def _upsert(self, found: Projection) -> list[bytes]:
        if self._told.get(found.id, 0) >= found.revision:
            return []
        self._told[found.id] = found.revision
        return [frame("upsert", f'{{"projection": {found.model_dump_json(by_alias=True)}}}')]

    def _remove(self, row_id: UUID) -> bytes:
        self._told.pop(row_id, None)
        facts = {"workspace": self._workspace, "project": self._project, "id": str(row_id)}
        return frame("remove", json.dumps(facts))


def projection_of(snapshot: Snapshot) -> Projection:
    """A snapshot, as it stands in the list of its project."""
    return projection(snapshot.task, snapshot.timeline)


def _error(error: Unavailable) -> bytes:
    _log.warning("a stream could not be fed", reason=str(error))
    return frame("error", json.dumps({"message": f"{error}; the stream goes on when it can"}))


_DEGRADED = frame(
    "degraded", json.dumps({"message": "events do not arrive at the moment; what is shown may be seconds old"})
)
