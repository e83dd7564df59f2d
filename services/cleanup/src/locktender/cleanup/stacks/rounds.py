"""When what is removed, and by which replica."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from locktender.contracts.kernel.clock import Clock
from locktender.contracts.kernel.errors import LocktenderError, Unavailable
from locktender.runtime.stop import Stop
from locktender.storage.kernel.turn import Turn

_log = structlog.stdlib.get_logger(__name__)

_STEPS = 20
"""Pages of one walk in one round, at most; the others come first, and then the next ones at once."""
_TROUBLE_SECONDS = 60.0


class Walk(Protocol):
    """Something that goes over everything of its kind, page after page, again and again."""

    @property
    def name(self) -> str:
        """What it removes."""
        ...

    @property
    def removed(self) -> int:
        """How many objects it has removed."""
        ...

    async def step(self) -> bool:
        """One page. True: it was the last one, and the next one is the first again."""
        ...


@dataclass
class Paced:
    """A walk that rests for `seconds` after its last page."""

    walk: Walk
    seconds: float
    due: float = field(default=float("-inf"), init=False)


class RetentionRounds:
    """Takes the turn, and then one bounded part of each walk after the other. The error of one never stops the others.

    A page may be dealt with by two replicas, where the turn has passed meanwhile; that does no harm.
    """

    def __init__(self, walks: Sequence[Paced], turn: Turn, clock: Clock, stop: Stop) -> None:
        self._walks = walks
        self._turn = turn
        self._clock = clock
        self._stop = stop

    @property
    def removed(self) -> Mapping[str, int]:
        """Objects by kind that were removed by this process."""
        return {each.walk.name: each.walk.removed for each in self._walks}

    async def round(self) -> bool:
        """One round of the loop. True: there is more to do at once.

        Raises:
            Unavailable: the database does not answer.
        """
        more = False
        for paced in self._walks:
            if self._clock.monotonic() >= paced.due:
                # Asked again for each, as one may take long.
                if not await self._turn.take():
                    return False
                more = await self._advance(paced) or more
        return more

    async def close(self) -> None:
        """Let another replica go on at once."""
        with suppress(Unavailable):
            await self._turn.give()

    async def _advance(self, paced: Paced) -> bool:
        try:
            for _ in range(_STEPS):
                if self._stop.requested:
                    return False
                if await paced.walk.step():
                    paced.due = self._clock.monotonic() + paced.seconds
                    return False
        except LocktenderError as error:
            _log.warning("nothing can be removed now", what=paced.walk.name, reason=str(error))
        except Exception:  # noqa: BLE001 - one walk must not stop the others
            _log.exception("a removal failed unexpectedly", what=paced.walk.name)
        else:
            return True
        paced.due = self._clock.monotonic() + min(paced.seconds, _TROUBLE_SECONDS)
        return False
