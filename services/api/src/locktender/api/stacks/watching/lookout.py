"""One shared look for all streams of the process, by which a change whose event was lost is noticed all the same."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from uuid import UUID

import structlog

from locktender.api.stacks.watching.bells import Bell, Bells
from locktender.contracts.kernel.clock import Clock
from locktender.storage.stacks.revisions import Mark

_log = structlog.stdlib.get_logger(__name__)

CALM_SECONDS = 4.0
"""From one look to the next while events arrive; then a look finds something only where one was lost."""
LOST_SECONDS = 1.0
"""The same while no events arrive, and the looks are all there is."""
_AT_ONCE = 500

Marks = Callable[[Sequence[UUID]], Awaitable[dict[UUID, Mark]]]


class Lookout:
    """Rings where the record has moved on since the look before. A process without streams asks nothing."""

    def __init__(self, marks: Marks, bells: Bells, clock: Clock, *, calm: float = CALM_SECONDS) -> None:
        self._marks = marks
        self._bells = bells
        self._clock = clock
        self._calm = calm
        self._watching: dict[UUID, set[Bell]] = {}
        self._seen: dict[UUID, Mark | None] = {}

    @contextmanager
    def watching(self, deployment_id: UUID, bell: Bell) -> Generator[None]:
        """Look at a deployment for as long as the block lasts."""
        self._watching.setdefault(deployment_id, set()).add(bell)
        try:
            yield
        finally:
            bells = self._watching[deployment_id]
            bells.discard(bell)
            if not bells:
                del self._watching[deployment_id]
                self._seen.pop(deployment_id, None)

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self._clock.sleep(self._calm if self._bells.connected else LOST_SECONDS)
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - the streams say it, and the next look may succeed
                _log.warning("the record could not be looked at for the streams of stacks", reason=str(error))
                # Each stream now finds out by itself, and tells its reader.
                self._bells.hung.all_missed()

    async def _look(self) -> None:
        ids = list(self._watching)
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            marks = await self._marks(part)
            for deployment_id in part:
                self._compare(deployment_id, marks.get(deployment_id))

    def _compare(self, deployment_id: UUID, mark: Mark | None) -> None:
        bells = self._watching.get(deployment_id)
        if bells is None or (deployment_id in self._seen and self._seen[deployment_id] == mark):
            return
        self._seen[deployment_id] = mark
        for bell in bells:
            bell.missed()
