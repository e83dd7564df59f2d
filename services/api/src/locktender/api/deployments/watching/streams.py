"""The streams of deployments. Each looks at the database; events only tell it when."""

import json
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from typing import Protocol
from uuid import UUID

import structlog

from locktender.api.deployments.watching.lookout import Lookout
from locktender.api.deployments.watching.project_view import BoardFlights, ProjectView, ShownFlights
from locktender.api.deployments.watching.timeline_view import TaskFlights, TimelineView
from locktender.api.events.fanout import Fanout
from locktender.api.events.feeds import EVERYTHING, Feed, News
from locktender.api.http.sse import RETRY, frame
from locktender.contracts.deployments.events import CONTEXT, TaskEvent
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import Unavailable
from locktender.contracts.kernel.subjects import EVENT_SUBJECT

_log = structlog.stdlib.get_logger(__name__)

_PACE_SECONDS = 0.05
"""The least time between two looks of one stream; what comes in meanwhile is one look."""
_AGAIN_SECONDS = 1.0
"""From a look that failed to the next."""


class View(Protocol):
    """What one stream shows."""

    over: bool
    """Whether nothing more will come."""

    @property
    def due(self) -> float:
        """When to look again without any news, in seconds of the process's clock."""
        ...

    async def look(self, news: News, *, fresh: bool) -> list[bytes]:
        """The frames that bring the reader up to date; `fresh`: whatever it was told before does not count."""
        ...

    def heartbeat(self) -> bytes:
        """A sign of life."""
        ...


class DeploymentStreams:
    """Streams of snapshots and projections.

    A reader is told every change, or `resync` and everything anew. How slow it may be is its own affair: what waits
    for it is a bounded set of names, never their content.
    """

    def __init__(
        self,
        *,
        tasks: TaskFlights,
        boards: BoardFlights,
        shown: ShownFlights,
        fanout: Fanout,
        lookout: Lookout,
        clock: Clock,
        heartbeat: float,
    ) -> None:
        self._tasks = tasks
        self._boards = boards
        self._shown = shown
        self._fanout = fanout
        self._lookout = lookout
        self._clock = clock
        self._heartbeat = heartbeat

    def timeline(self, workspace: str, task_id: UUID, last: int | None) -> AsyncGenerator[bytes]:
        """`snapshot`, then `update` for every change, and `end` once the task has ended. `last`: the revision known."""

        def opened(feed: Feed, stack: ExitStack) -> View:
            view = TimelineView(self._tasks, workspace, task_id, last)
            stack.enter_context(self._lookout.tasks.watching(task_id, feed, view))
            return view

        subject = EVENT_SUBJECT.format(workspace=workspace, context=CONTEXT, aggregate=task_id, kind="*")
        return self._told(subject, lambda event: event.id == task_id, opened)

    def project(self, workspace: str, project: str, last: str) -> AsyncGenerator[bytes]:
        """`snapshot` of the project's newest tasks, then `upsert` and `remove`. `last`: the id known, or nothing."""
        key = (workspace, project)

        def opened(feed: Feed, stack: ExitStack) -> View:
            view = ProjectView(self._boards, self._shown, self._clock, feed, key, last)
            stack.enter_context(self._lookout.projects.watching(key, feed, view))
            return view

        subject = EVENT_SUBJECT.format(workspace=workspace, context=CONTEXT, aggregate="*", kind="*")
        return self._told(subject, lambda event: event.project == project, opened)

    async def _told(
        self, subject: str, wants: Callable[[TaskEvent], bool], opened: Callable[[Feed, ExitStack], View]
    ) -> AsyncGenerator[bytes]:
        """The stream: subscribed before the first look, so that nothing falls between the two."""
        yield RETRY
        try:
            feed = await self._fanout.open(subject, wants)
        except Unavailable as error:
            yield _error(error)
            return
        with ExitStack() as stack:
            stack.callback(self._fanout.release, subject, feed)
            view = opened(feed, stack)
            lost, fresh, news, again = False, True, EVERYTHING, math.inf
            spoke = self._clock.monotonic()
            while not feed.closed:
                if self._fanout.connected is lost:
                    lost, news = not lost, EVERYTHING
                    # What was said while no events came may have been overtaken: the reader starts afresh.
                    fresh = fresh or not lost
                    if lost:
                        yield _DEGRADED
                fresh = fresh or news.overflowed
                if news or min(view.due, again) <= self._clock.monotonic():
                    try:
                        # What the last look was for is lost when it failed.
                        frames = await view.look(EVERYTHING if again < math.inf else news, fresh=fresh)
                        fresh, again = False, math.inf
                    except Unavailable as error:
                        frames, again = [_error(error)], self._clock.monotonic() + _AGAIN_SECONDS
                    for each in frames:
                        yield each
                        spoke = self._clock.monotonic()
                    if view.over:
                        return
                    await self._clock.sleep(_PACE_SECONDS)
                if self._clock.monotonic() - spoke >= self._heartbeat:
                    yield view.heartbeat()
                    spoke = self._clock.monotonic()
                feed.alarm = min(spoke + self._heartbeat, view.due, again)
                news = await feed.news()


def _error(error: Unavailable) -> bytes:
    _log.warning("a stream could not be fed", reason=str(error))
    return frame("error", json.dumps({"message": f"{error}; the stream goes on when it can"}))


_DEGRADED = frame(
    "degraded", json.dumps({"message": "events do not arrive at the moment; what is shown may be seconds old"})
)
