"""The stream of a deployment: the record at once, then at every change, until it has ended."""

import json
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from uuid import UUID

import structlog

from locktender.api.flights import Flights
from locktender.api.http.sse import HEARTBEAT, RETRY, frame
from locktender.api.stacks.watching.bells import Bell, Bells
from locktender.api.stacks.watching.lookout import Lookout
from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import NotFound, Unavailable
from locktender.contracts.stacks.flow import STACK_DEPLOYMENT
from locktender.contracts.stacks.views import DeploymentView

_log = structlog.stdlib.get_logger(__name__)

_PACE_SECONDS = 0.05
"""The least time between two looks of one stream; what comes in meanwhile is one look."""
_AGAIN_SECONDS = 1.0
"""From a look that failed to the next."""
_SURE_SECONDS = 30.0
"""From one look to the next without any news: what no event tells, such as the labels of a runner group."""
_NO_NEWS = {"stages": {"__all__": {"run": {"log_bytes"}}}}
"""What changes all the time and is followed elsewhere. It is told along with everything else."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The deployment that is followed. Names may be used again; the ids say which one was meant."""

    workspace: str
    stack: str
    number: int
    stack_id: UUID
    id: UUID

    @classmethod
    def of(cls, view: DeploymentView) -> "Watched":
        """The deployment of this view."""
        return cls(view.workspace, view.stack, view.number, view.stack_id, view.id)


DeploymentFlights = Flights[Watched, DeploymentView]


class DeploymentWatch:
    """Streams of deployments. Events only tell when to look; what is told is what the record says then."""

    def __init__(
        self, *, flights: DeploymentFlights, bells: Bells, lookout: Lookout, clock: Clock, heartbeat: float
    ) -> None:
        self._flights = flights
        self._bells = bells
        self._lookout = lookout
        self._clock = clock
        self._heartbeat = heartbeat

    async def follow(self, watched: Watched) -> AsyncGenerator[bytes]:
        """`snapshot`, then `update` for every change, and `end` once it has ended; `removed` when it is gone.

        Whoever comes back is told a snapshot at once, so that nothing depends on what they knew. While no events
        arrive (`degraded`) the record is looked at every second; a snapshot follows when they arrive again.
        """
        yield RETRY
        try:
            bell = await self._bells.hang(watched.stack_id)
        except Unavailable as error:
            yield _error(error)
            return
        try:
            with self._lookout.watching(watched.id, bell):
                async with aclosing(self._told(watched, bell)) as told:
                    async for each in told:
                        yield each
        finally:
            self._bells.take_down(watched.stack_id, bell)

    async def _told(self, watched: Watched, bell: Bell) -> AsyncGenerator[bytes]:
        telling, lost = _Telling(), False
        spoke, due = self._clock.monotonic(), math.inf
        while not bell.closed:
            frames: list[bytes] = []
            if self._bells.connected is lost:
                lost = not lost
                bell.missed()
                if lost:
                    frames.append(_DEGRADED)
                else:
                    telling.anew()
            if bell.rang() or due <= self._clock.monotonic():
                looked, wait = await self._look(watched, telling)
                frames += looked
                due = self._clock.monotonic() + wait
            elif self._clock.monotonic() - spoke >= self._heartbeat:
                frames.append(HEARTBEAT)
            for each in frames:
                yield each
                spoke = self._clock.monotonic()
            if telling.over:
                return
            await self._clock.sleep(_PACE_SECONDS)
            bell.alarm = min(spoke + self._heartbeat, due)
            await bell.woken()

    async def _look(self, watched: Watched, telling: "_Telling") -> tuple[list[bytes], float]:
        """The frames that bring the reader up to date, and how long until the next look is due."""
        try:
            view = await self._flights.read(watched)
        except NotFound:
            return telling.removed(watched.id), _SURE_SECONDS
        except Unavailable as error:
            return [_error(error)], _AGAIN_SECONDS
        return telling.removed(watched.id) if view.id != watched.id else telling.of(view), _SURE_SECONDS


class _Telling:
    """What one reader was told. `over`: nothing more will come."""

    def __init__(self) -> None:
        self.over = False
        self._told: str | None = None

    def anew(self) -> None:
        """Tell everything again, as a snapshot."""
        self._told = None

    def of(self, view: DeploymentView) -> list[bytes]:
        """The frames for what the record says now. None where the reader knows it."""
        seen = view.model_dump_json(exclude=_NO_NEWS)
        if seen == self._told:
            return []
        name = "snapshot" if self._told is None else "update"
        self._told = seen
        frames = [frame(name, view.model_dump_json(by_alias=True), view.revision)]
        if view.status in STACK_DEPLOYMENT.terminal:
            self.over = True
            frames.append(frame("end", json.dumps({"status": view.status}), view.revision))
        return frames

    def removed(self, deployment_id: UUID) -> list[bytes]:
        """The last frame of a deployment that is gone."""
        self.over = True
        return [frame("removed", json.dumps({"id": str(deployment_id)}))]


def _error(error: Unavailable) -> bytes:
    _log.warning("a stream of a deployment could not be fed", reason=str(error))
    return frame("error", json.dumps({"message": f"{error}; the stream goes on when it can"}))


_DEGRADED = frame(
    "degraded", json.dumps({"message": "events do not arrive at the moment; what is shown may be seconds old"})
)
